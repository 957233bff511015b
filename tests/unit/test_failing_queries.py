"""A query that makes a batch fail is stopped, with its name and its error; the others have all that they would have had without it."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.status import read_status
from thalweg.cli.main import app
from thalweg.connectors import parquet
from thalweg.engine import blame
from thalweg.engine.blame import Blamed
from thalweg.engine.culprits import culprits
from thalweg.engine.faults import POINTS, Aborted
from thalweg.engine.kernel import connection, finish, ingest, joins, windows
from thalweg.errors import EnvironmentProblem, InternalError, UsageError
from thalweg.model.recorded import Failure
from thalweg.state import local
from thalweg.state.local import disk_problem
from thalweg.testing.comparison import compare
from thalweg.testing.lifetimes import reference_of
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
STREAM = "".join(
    f"CREATE STREAM {n} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{{0}}', time = 'at');"
    for n in "sr"
)
SUMS = "SELECT k, window_end, SUM(v) AS x FROM s GROUP BY k, TUMBLE '1 second'"
PAIRS = (
    "SELECT a.v, b.v AS w FROM s AS a [RANGE 2 SECONDS], r AS b [RANGE 1 SECOND] WHERE a.k = b.k AND a.v > {}"
)
GROUPS = """SELECT a.k, COUNT(*) AS n FROM s AS a [RANGE 2 SECONDS], r AS b [RANGE 2 SECONDS]
  WHERE a.k = b.k AND b.v > {} GROUP BY a.k EVERY 1 SECOND"""
WINDOWS = "SELECT k, window_end, COUNT(*) AS n FROM s WHERE v > {} AND k < 1000 GROUP BY k, TUMBLE '1 second'"
BAD = 123_454_321


class Fed:
    """A directory whose session is fed two seconds a batch; what was stopped and told is kept."""

    def __init__(self, root: Path) -> None:
        self.root, self.rows, self.told = root, list[dict[str, pa.Table]](), list[Failure]()
        (root / "in").mkdir(exist_ok=True)
        self.session = self.opened(STREAM.format(root / "in"))

    def opened(self, sql: str = "") -> LocalSession:
        """The session, from its directory."""
        self.session = LocalSession(self.root / "run")
        self.session.listeners.append(lambda done: self.told.extend(done.failed))
        self.session.sql(sql)
        return self.session

    def fed(self) -> list[tuple[str, str]]:
        """One more file, of both streams; the same once more where no batch has taken it."""
        number = self.session.latest_manifest().batch + 1
        times = pa.array([(number * 2 * SECOND) + i * SECOND // 5 for i in range(10)], pa.timestamp("us"))
        rows = pa.table({"k": [i % 3 for i in range(10)], "v": list(range(number, number + 10)), "at": times})
        self.rows[number:] = [{"s": rows, "r": rows}]
        path = self.root / "in" / f"{number}.parquet"
        pq.write_table(rows, path)
        return [("s", str(path)), ("r", str(path))]

    def batch(self, count: int = 1) -> None:
        """Feed and run batches."""
        for _ in range(count):
            self.session.batch(self.fed())
        self.session.runner.audience.told(5)

    def check(self, *names: str) -> None:
        """The queries of these names have what the definition gives for their lives, each row once."""
        for name in names:
            handle = self.session.handle(name)
            assert handle.results().num_rows > 0
            compare(handle.results(), reference_of(handle, self.session.catalog.streams, self.rows))


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def broken(path: Path) -> None:
    """A directory of results becomes a file; what it had is put aside."""
    shutil.move(path, path.with_name("aside"))
    path.write_text("no directory")


def mended(path: Path) -> None:
    path.unlink()
    shutil.move(path.with_name("aside"), path)


def test_its_place_is_gone(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}")
    fed.batch(2)
    broken(fed.root / "out")
    fed.batch(2)
    bad = fed.session.handle("bad")
    assert fed.session.handle("good").status == "stopped" and (bad.status, bad.epoch, bad.ended) == (
        "failed",
        0,
        2,
    )
    assert isinstance(bad.error, EnvironmentProblem) and re.match(r"query bad: .*/out", bad.error.message)
    assert [(f.query.name, f.batch, f.rows) for f in fed.told] == [("bad", 2, bad_rows(fed.root / "aside"))]
    kept = {f.path for f in fed.session.latest_manifest().files}
    assert {p.name for p in (fed.root / "run" / "state").rglob("*.arrow")} == {Path(p).name for p in kept}, (
        "nothing of the first attempt"
    )
    assert not list((fed.root / "run" / "results").rglob(f"{parquet.STAGING}/*"))
    listed = fed.session.sql("SHOW QUERIES")[0].data
    assert listed["header"][-1] == "status" and [row[-1].partition(":")[0] for row in listed["rows"]] == [
        "stopped",
        "failed",
    ]
    mended(fed.root / "out")
    fed.check("good", "bad")


def bad_rows(directory: Path) -> int:
    return sum(pq.read_metadata(f).num_rows for f in directory.glob("*.parquet"))


def test_a_removed_directory_is_made_again(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY q INTO '{fed.root}/out' AS {SUMS}")
    fed.batch(2)
    shutil.rmtree(fed.root / "out")
    fed.batch()
    assert fed.session.handle("q").status == "stopped" and bad_rows(fed.root / "out") > 0


def test_a_restart_does_not_fail_again(fed: Fed) -> None:
    script = f"{STREAM.format(fed.root / 'in')} CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}"
    fed.session.sql(f"CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}")
    fed.batch()
    broken(fed.root / "out")
    fed.batch()
    for again in ("", script, script):
        fed.session.stop()
        session = fed.opened(again)
        assert {n: h.status for n, h in session.queries.items()} == {"good": "stopped", "bad": "failed"}
        assert session.handle("bad").ended == 1 and session.handle("bad").error is not None
        fed.batch()
    assert len(fed.told) == 1
    with pytest.raises(UsageError, match="query bad exists already, and has failed") as refused:
        session.query(SUMS, name="bad")
    assert "CREATE OR REPLACE QUERY bad" in (refused.value.hint or "")
    mended(fed.root / "out")
    again_bad = session.handle("bad").restart()
    fed.batch(2)
    assert (again_bad.status, again_bad.epoch, again_bad.directory) == ("stopped", 5, f"{fed.root}/out-v2")
    fed.check("good", "bad")
    with pytest.raises(UsageError, match="is stopped, not failed"):
        again_bad.restart()


def test_what_can_be_done_with_a_failed_query(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}")
    fed.batch()
    broken(fed.root / "out")
    fed.batch()
    other = SUMS.replace("SUM", "MAX")
    fed.session.sql(f"CREATE OR REPLACE QUERY bad AS {other}")
    fed.batch(2)
    assert fed.session.handle("bad").epoch == 2 and not fed.session.catalog.failed
    fed.check("good", "bad")
    fed.session.sql(f"CREATE QUERY more INTO '{fed.root}/out/in_a_file' AS {SUMS}")
    fed.batch(2)
    assert fed.session.handle("more").status == "failed"
    fed.session.sql("DROP QUERY more")
    assert fed.session.handle("more").status == "dropped"
    with pytest.raises(UsageError, match="no query named more"):
        fed.session.drop("more")
    assert list(LocalSession(fed.root / "run").queries) == ["good", "bad"]


@pytest.mark.parametrize("point", [p for p in POINTS if p.startswith("driver:")])
def test_crashes_while_a_query_fails(point: str, fed: Fed) -> None:
    """Whatever was done by then: the query ends once, and the other goes on without a row lost or doubled."""
    fed.session.sql(f"CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}")
    fed.batch(2)
    broken(fed.root / "out")
    chunks, runner = fed.fed(), fed.session.runner
    runner.fault = point
    try:
        fed.session.batch(chunks)
    except Aborted:
        fed.session.directory.unlock()
        fed.opened()
        if fed.session.latest_manifest().batch < 2:
            fed.session.batch(chunks)
    else:
        runner.fault = None
    fed.batch()
    assert fed.session.handle("bad").status == "failed" and fed.session.handle("bad").ended == 2
    mended(fed.root / "out")
    fed.check("good", "bad")


def test_what_was_staged_can_not_be_shown(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    fed.session.sql(f"CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}")
    fed.batch()
    real = parquet.Sink.commit

    def refuses(self: parquet.Sink, staged: Any) -> None:
        if self.address == f"{fed.root}/out":
            raise disk_problem(Path(self.address), OSError(errno.EACCES, "permission denied"))
        real(self, staged)

    with monkeypatch.context() as patched:
        patched.setattr(parquet.Sink, "commit", refuses)
        fed.batch(2)
        assert fed.session.handle("bad").status == "failed" and fed.session.handle("bad").ended == 2
        assert [f.batch for f in fed.told] == [2]
        fed.session.stop()
        fed.opened()
        fed.batch()
    fed.check("good")


@pytest.mark.parametrize("which", ["bad", "gone", "state"])
def test_a_folder_that_can_not_be_flushed(which: str, fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a live query stops it, that of one that was dropped stops nothing, and that of the session ends the run."""
    names = ("good", "bad", "gone")
    fed.session.sql(";".join(f"CREATE QUERY {name} INTO '{fed.root}/{name}' AS {SUMS}" for name in names))
    fed.batch(2)
    fed.session.drop("gone")
    real, refused = local._flush, fed.root / ("run/state" if which == "state" else which)

    def refuses(path: Path) -> None:
        if path == refused:
            raise disk_problem(path, OSError(errno.EACCES, "permission denied"))
        real(path)

    monkeypatch.setattr(local, "_flush", refuses)
    if which == "state":
        with pytest.raises(EnvironmentProblem, match="state: permission denied"):
            fed.batch()
        return
    fed.batch(2)
    assert {n for n, h in fed.session.queries.items() if h.status == "failed"} == (
        {"bad"} if which == "bad" else set()
    )
    fed.check(*names)


@pytest.mark.parametrize("same_disk", [True, False])
def test_a_full_disk(same_disk: bool, fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the session itself is the environment's, and ends the run; another one is the query's."""
    fed.session.sql(f"CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}")
    fed.batch()
    real = local.write_file

    def full(path: Path, data: Any, flush: bool, shown: Path | None = None) -> None:
        if path.is_relative_to(fed.root / "out"):
            error = OSError(errno.ENOSPC, "No space left on device")
            raise disk_problem(path.parent, error) from error
        real(path, data, flush, shown)

    monkeypatch.setattr(parquet, "write_file", full)
    if same_disk:
        with pytest.raises(EnvironmentProblem, match="no space left"):
            fed.batch()
        return
    monkeypatch.setattr(blame, "_disk", lambda path: 1 if path == f"{fed.root}/out" else 0)
    fed.batch(2)
    assert fed.session.handle("bad").status == "failed"
    fed.check("good")


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that can't compute with one number."""

    def refuse(real: Any) -> Any:
        def query(sql: str, *args: Any) -> Any:
            if str(BAD) in sql:
                raise duckdb.OutOfRangeException("Out of Range Error: a number that can't be computed with")
            return real(sql, *args)

        return query

    for module in (ingest, joins, windows, finish):
        monkeypatch.setattr(module, "query", refuse(connection.query))
    monkeypatch.setattr(ingest, "run", refuse(connection.run))


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize("select", [WINDOWS, PAIRS, GROUPS])
@pytest.mark.parametrize("sharing", ["off", "best", "all"])
@pytest.mark.parametrize("in_mid_run", [False, True])
def test_a_value_that_one_of_many_can_not_compute(
    fed: Fed, select: str, sharing: str, in_mid_run: bool
) -> None:
    """Alone or in a pool, the one is found; those that ask the same go with it."""
    fed.session.sql(f"SET plan.sharing = '{sharing}'")
    good = {f"q{i}": select.format(i % 5 - 1) for i in range(11)}
    bad = {"bad": select.format(BAD), "as_bad": select.format(BAD)}
    first, then = (good, bad) if in_mid_run else ({**good, **bad}, {})
    fed.session.sql(";".join(f"CREATE QUERY {n} AS {s}" for n, s in first.items()))
    fed.batch()
    if then:
        fed.session.sql(";".join(f"CREATE QUERY {n} AS {s}" for n, s in then.items()))
    fed.batch(3)
    assert {n for n, h in fed.session.queries.items() if h.status == "failed"} == {"bad", "as_bad"}
    error = fed.session.handle("bad").error
    assert isinstance(error, InternalError) and "can't be computed with" in error.message
    assert fed.session.handle("bad").epoch is None and fed.session.handle("bad").results().num_rows == 0
    assert {f.batch for f in fed.told} == {1 if in_mid_run else 0}
    fed.check(*good)


def test_all_are_stopped_where_none_fails_alone() -> None:
    """Found by halves; what fails only together is stopped together; what else fails goes first."""

    def run(bad: set[str], together: set[str], other: set[str] = frozenset()) -> Any:  # type: ignore[assignment]
        def fails(kept: Any, suspects: Any) -> Blamed | None:
            if other:
                return Blamed(ValueError("other"), other)
            found = [n for n in kept if n in bad]
            return Blamed(ValueError("bad"), list(kept)) if found or together <= set(kept) else None

        return fails

    names = [f"q{i}" for i in range(64)]
    assert set(culprits(Blamed(ValueError("x"), names), run({"q7", "q50"}, {"none"}))) == {"q7", "q50"}
    assert set(culprits(Blamed(ValueError("x"), names), run(set(), {"q7", "q50"}))) == set(names)
    assert set(culprits(Blamed(ValueError("x"), names), run(set(), set(names), {"z"}))) == {"z"}


def test_a_replaced_query_whose_old_place_is_gone(fed: Fed) -> None:
    """What it had still to give out is no more; the new one, and the others, go on."""
    fed.session.sql(
        f"CREATE QUERY good AS {SUMS}; CREATE QUERY q INTO '{fed.root}/out' AS {SUMS.replace('1 second', '8 seconds')}"
    )
    fed.batch()
    fed.session.sql(f"CREATE OR REPLACE QUERY q INTO '{fed.root}/new' AS {SUMS}")
    fed.batch()
    (fed.root / "out").mkdir(exist_ok=True)
    broken(fed.root / "out")
    fed.batch(6)
    assert [q.name for q in fed.session.runner.plan.queries] == ["good", "q"]
    assert not fed.session.catalog.failed
    fed.check("good", "q")


def test_status_says_it(fed: Fed) -> None:
    from typer.testing import CliRunner

    fed.session.sql(f"CREATE QUERY good AS {SUMS}; CREATE QUERY bad INTO '{fed.root}/out' AS {SUMS}")
    fed.batch()
    broken(fed.root / "out")
    fed.batch()
    fed.session.stop()
    found = {q.name: q for q in read_status(fed.root / "run").queries}
    assert (
        found["bad"].failed == 1
        and found["bad"].error
        and found["bad"].rows > 0
        and found["good"].error is None
    )
    said = CliRunner().invoke(app, ["status", str(fed.root / "run")]).stdout
    assert (
        re.search(r"query bad was stopped before batch 1: .*out", said.replace("\n", " "))
        and "CREATE OR REPLACE QUERY bad" in said
    )
