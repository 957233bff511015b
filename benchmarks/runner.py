"""Runs one engine in a process of its own, with a fresh JVM; the first `warmup` batches count for nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks.data import ROOT, Feed, place
from benchmarks.spec import Outcome, Run, dumps, outcome_of, run_of

REPOSITORY = ROOT.parent


class RunFailed(Exception):
    """An engine that did not come to its end; the message is what it said last."""


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A directory for the runs of a benchmark, gone afterwards."""
    path = ROOT / "runs" / f"{name}-{os.getpid()}"
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def run_apart(run: Run, feed: Feed, timeout: float = 1800) -> Outcome:
    """Run an engine in a process of its own. Its result rows stay under the run's directory."""
    folder = prepared(run, feed)
    (folder / "run.json").write_text(dumps(run))
    started = time.perf_counter()
    try:
        process("benchmarks.runner", folder, timeout)
    except RunFailed as e:
        raise RunFailed(f"{run.engine}: {e}") from None
    return replace(outcome_of((folder / "outcome.json").read_text()), seconds=time.perf_counter() - started)


def process(module: str, folder: Path, timeout: float) -> None:
    """Run a module on `run.json` of a folder in a process of its own, which leaves `outcome.json` there; its words are in `log`."""
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", module, str(folder / "run.json")]
        started = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = started.wait(timeout)
        except BaseException as e:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            if isinstance(e, subprocess.TimeoutExpired):
                raise RunFailed(f"not ended in {timeout:.0f} s") from None
            raise
    if code != 0:
        raise RunFailed(_last_lines(folder / "log"))


def prepared(run: Run, feed: Feed) -> Path:
    """The directory of a run with its input files."""
    if run.file_events != feed.file_events:
        raise ValueError(f"the run has files of {run.file_events} events, the feed of {feed.file_events}")
    folder = Path(run.directory)
    folder.mkdir(parents=True)
    place(feed, run.files, folder / "in")
    return folder


def forget(run: Run, results: bool = True) -> None:
    """Remove what a run left: state and input, and the result rows unless they are still to be compared."""
    for path in Path(run.directory).iterdir():
        if results or path.name != "out":
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def remove(run: Run) -> None:
    """Remove the directory of a run."""
    shutil.rmtree(run.directory)


def main(path: str) -> None:
    """The other process: run what the file describes and write the outcome beside it."""
    run = run_of(Path(path).read_text())
    batches = import_module(f"benchmarks.engines.{run.engine}").execute(run)
    if len(batches) != run.warmup + run.measured:
        raise RuntimeError(f"{run.engine} ran {len(batches)} batches, not {run.warmup + run.measured}")
    Path(path).with_name("outcome.json").write_text(dumps(Outcome(run, batches)))


def _last_lines(log: Path, count: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").strip().splitlines()[-count:]) or "ended without a word"


if __name__ == "__main__":
    main(sys.argv[1])
