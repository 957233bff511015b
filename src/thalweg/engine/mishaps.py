"""Whose fault a failure is that came from below: a killed process, a full disk, a damaged checkpoint, or Thalweg itself."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path

from thalweg.errors import EnvironmentProblem, InternalError, StateError, ThalwegError
from thalweg.state.local import disk_problem

RUN_AGAIN = "run it again: it goes on after the last committed batch"
RESTORE = "restore it from a copy, or start anew in another directory"
_FULL = re.compile(r"no space left on device|disk quota exceeded|not enough space|disk full", re.IGNORECASE)
_MEMORY = re.compile(r"OutOfMemoryError|Java heap space|Cannot allocate memory|GC overhead", re.IGNORECASE)
_LOG_FILE = re.compile(r"Failed to read log file (?:file:)?(\S+?)\.? ")
_DAMAGED = re.compile(
    r"JsonParseException|MismatchedInputException|JsonMappingException|Unexpected end-of-input|MALFORMED_LOG_FILE|Incomplete log file"
    r"|batch \d+ doesn't exist|MappingException|terminated with exception: assertion failed"
)
_PATH = re.compile(r"(?<![\w:/])(/[^\s'\":]+)")
_WORKER = re.compile(
    r"Python worker exited|PythonWorkerFactory|org\.apache\.spark\.api\.python\.\w*Runner|java.io.EOFException",
    re.IGNORECASE,
)
_EXECUTOR = re.compile(
    r"ExecutorLostFailure|Lost executor|Master removed our application|All masters are unresponsive",
    re.IGNORECASE,
)
_TRACE = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
_OURS = "org.apache.spark.api.python.PythonException"
_SILENT = re.compile(r"^Py4JError: An error occurred while calling \S+$", re.MULTILINE)
"""What the bridge says where no answer came: errors of a process that lives have more words."""
_AWAY = (ConnectionRefusedError, ConnectionResetError, BrokenPipeError, EOFError)


def mishap(error: BaseException, checkpoint: Path | None = None, log: Path | None = None) -> ThalwegError:
    """The error that says what happened and what to do. `log` is where Spark's own words are."""
    if isinstance(error, ThalwegError):
        return error
    if isinstance(error, OSError) and not isinstance(error, _AWAY):
        return disk_problem(Path(error.filename), error) if error.filename else _disk(str(error), error)
    text = _text(error)
    words = "" if log is None else f"; Spark's own words are in {log}"
    if _FULL.search(text):
        return _disk(text)
    found = _of_checkpoint(text, checkpoint) or _of_processes(error, text, words)
    return found or InternalError(_first(text), words.removeprefix("; ") or None)


def is_from_spark(error: BaseException) -> bool:
    """Whether an error comes from Spark or from the bridge to its process."""
    return isinstance(error, _AWAY) or type(error).__module__.partition(".")[0] in ("py4j", "pyspark")


def _disk(text: str, error: OSError | None = None) -> ThalwegError:
    found = _PATH.search(text)
    if error is None:
        error = OSError(errno.ENOSPC, "no space left on device")
    if found is None:
        return EnvironmentProblem(
            f"a disk refuses: {(error.strerror or text).lower()}", "free some space, then " + RUN_AGAIN
        )
    return disk_problem(Path(found[1].rstrip(".,;)")), error)


def _of_processes(error: BaseException, text: str, words: str) -> ThalwegError | None:
    if _OURS in text:
        return None
    if _MEMORY.search(text):
        return EnvironmentProblem(
            "Spark ran out of memory",
            f"give it more (spark.driver.memory), or take fewer files a batch, then {RUN_AGAIN}{words}",
        )
    if _EXECUTOR.search(text):
        return EnvironmentProblem("Spark lost an executor", f"see to the cluster, then {RUN_AGAIN}{words}")
    if _WORKER.search(text):
        return EnvironmentProblem(
            "a Python process of Spark was ended from outside",
            f"is memory short, or does a Python function end its process? else {RUN_AGAIN}{words}",
        )
    if (
        isinstance(error, _AWAY)
        or type(error).__name__ == "Py4JNetworkError"
        or "Answer from Java side is empty" in text
        or _SILENT.search(text)
    ):
        return EnvironmentProblem(
            "Spark's own process has ended", f"is memory short, or was it killed? {RUN_AGAIN}{words}"
        )
    return None


def _of_checkpoint(text: str, checkpoint: Path | None) -> ThalwegError | None:
    found = _LOG_FILE.search(text)
    if found:
        return StateError(f"{found[1]}: damaged file of Spark's checkpoint", RESTORE)
    if _DAMAGED.search(text):
        return StateError(
            f"{checkpoint or 'the checkpoint'}: Spark's checkpoint is damaged ({_first(text)})", RESTORE
        )
    return None


def _text(error: BaseException) -> str:
    """All that an error and its causes say; the bridge to a dead process can't always say it."""
    return "\n".join(_said(e) for e in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as silent:  # the words of an error in the JVM are asked of the JVM
        return f"{type(error).__name__}: {type(silent).__name__}"


def _first(text: str) -> str:
    """The line that says most: what a task of ours met, the last cause that Java names, or the first line."""
    met = _TRACE.findall(text)
    if met:
        return str(met[-1]).strip()
    causes = [
        line.removeprefix("Caused by: ") for line in text.splitlines() if line.startswith("Caused by: ")
    ]
    line = (causes or text.strip().splitlines() or [""])[-1 if causes else 0]
    return re.sub(r"^.*terminated with exception: | SQLSTATE: \w+", "", line).strip()
