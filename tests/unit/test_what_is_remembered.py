"""What a session was told while it ran holds after a restart and after kill -9; what a script says is the script's."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.changes import Changes
from thalweg.api.session import Session
from thalweg.errors import EnvironmentProblem, UsageError
from thalweg.testing.comparison import compare
from thalweg.testing.lifetimes import reference_of
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
)
SUMS = "SELECT k, window_end, SUM(v) AS x FROM s GROUP BY k, TUMBLE '1 second'"
MAXIMA = SUMS.replace("SUM", "MAX")
PAIRS = "SELECT a.v, b.v AS w FROM s AS a [RANGE 2 SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k"


class Fed:
    """A directory whose session is fed two seconds a batch."""

    def __init__(self, root: Path) -> None:
        self.root, self.rows = root, list[dict[str, pa.Table]]()
        for name in ("in", "more"):
            (root / name).mkdir(exist_ok=True)
        self.session = LocalSession(root / "run")

    def opened(self, *statements: str) -> LocalSession:
        """The directory opened again, with a script."""
        self.session.stop()
        self.session = LocalSession(self.root / "run")
        self.session.sql(";".join(statements))
        return self.session

    def batch(self) -> None:
        """Feed and run one more batch."""
        number = len(self.rows)
        times = pa.array([(number * 2 * SECOND) + i * SECOND // 5 for i in range(10)], pa.timestamp("us"))
        self.rows.append(
            {
                "s": pa.table(
                    {"k": [i % 3 for i in range(10)], "v": list(range(number, number + 10)), "at": times}
                )
            }
        )
        path = self.root / "in" / f"{number}.parquet"
        pq.write_table(self.rows[-1]["s"], path)
        self.session.batch([("s", str(path))])

    def check(self, *names: str) -> None:
        """The queries of these names have what the definition gives for their lives."""
        for name in names:
            handle = self.session.handle(name)
            assert handle.results().num_rows > 0
            compare(handle.results(), reference_of(handle, self.session.catalog.streams, self.rows))

    @property
    def script(self) -> str:
        return STREAM.format(self.root / "in")


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    found = Fed(tmp_path)
    found.session.sql(found.script)
    return found


def test_a_directory_knows_what_it_runs(fed: Fed) -> None:
    fed.session.sql(f"SET plan.windows = 'naive'; CREATE QUERY a AS {SUMS}")
    fed.batch()
    fed.session.sql(f"CREATE QUERY b AS {PAIRS}; SET plan.join = 'hash'; CREATE QUERY c AS {MAXIMA}")
    fed.batch()
    fed.session.drop("c")
    session = fed.opened()
    assert list(session.queries) == ["a", "b"] and list(session.catalog.streams) == ["s"]
    assert (session.catalog.config.windows, session.catalog.config.join) == ("naive", "hash")
    assert session.check() == Changes()
    fed.batch()
    fed.batch()
    assert [(v.name, v.epoch, v.ended) for v in session.lives()] == [
        ("c", 1, 2),
        ("a", 0, None),
        ("b", 1, None),
    ]
    fed.check("a", "b")


def test_a_script_says_what_of_scripts_runs_and_the_rest_stays(fed: Fed) -> None:
    fed.session.sql(f"SET plan.windows = 'naive'; CREATE QUERY a AS {SUMS}; CREATE QUERY b AS {SUMS}")
    fed.batch()
    fed.session.sql(f"CREATE QUERY c AS {MAXIMA}; SET plan.join = 'hash'")
    fed.batch()
    session = fed.opened(fed.script, f"CREATE QUERY a AS {SUMS}")
    assert list(session.queries) == ["c", "a"] and str(session.check()) == "dropped b"
    assert (session.catalog.config.windows, session.catalog.config.join) == ("best", "hash")
    fed.batch()
    assert [(v.name, v.ended) for v in session.lives()] == [("b", 2), ("a", None), ("c", None)]
    session.drop("c")
    assert list(fed.opened(fed.script, f"CREATE QUERY a AS {SUMS}").queries) == ["a"]
    fed.batch()
    fed.check("a")


def test_one_more_query_of_a_session_that_goes_on(fed: Fed) -> None:
    """It declares no stream, so it adds to what is there."""
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()
    assert list(fed.opened(f"CREATE QUERY b AS {MAXIMA}").queries) == ["a", "b"]
    assert list(fed.opened(fed.script).queries) == ["a"], "b was never part of a run"
    assert list(fed.opened(f"CREATE QUERY a AS {SUMS}; CREATE QUERY b AS {MAXIMA}").queries) == ["a", "b"]
    fed.batch()
    assert [(v.name, v.epoch) for v in fed.session.lives()] == [("a", 0), ("b", 1)]
    fed.check("a", "b")


def test_a_remembered_query_is_not_redefined_without_a_word(fed: Fed) -> None:
    fed.batch()
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    for script in (fed.script, ""):
        session = fed.opened(script, f"CREATE QUERY a AS {MAXIMA}")
        with pytest.raises(UsageError, match="query a asks something else"):
            session.check()
    session = fed.opened(fed.script, f"CREATE OR REPLACE QUERY a AS {MAXIMA}")
    fed.batch()
    fed.batch()
    fed.check("a")
    with pytest.raises(UsageError, match="a exists already"):
        session.sql(f"CREATE QUERY a AS {MAXIMA}")


def test_replaced_and_not_yet_in_force(fed: Fed) -> None:
    """The new query, and where its results go, are what was acknowledged, also for a script that says it again."""
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()
    fed.batch()
    (done,) = fed.session.sql(f"CREATE OR REPLACE QUERY a AS {MAXIMA}")
    for script in ("", f"{fed.script} CREATE OR REPLACE QUERY a AS {MAXIMA}"):
        session = fed.opened(script)
        assert (
            session.handle("a").directory
            == done.data["results"]
            == str(fed.root / "run" / "results" / "a-v2")
        )
    fed.batch()
    fed.batch()
    fed.check("a")
    assert session.handle("a").epoch == 2


def test_streams_and_tables_declared_while_it_runs(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()
    pq.write_table(pa.table({"k": [0, 1], "name": ["zero", "one"]}), fed.root / "names.parquet")
    fed.session.sql(fed.script.replace("STREAM s", "STREAM t").replace("/in'", "/more'"))
    fed.session.sql(
        f"CREATE TABLE names (k BIGINT, name STRING) WITH (format = 'parquet', path = '{fed.root}/names.parquet')"
    )
    fed.session.sql(
        "CREATE QUERY named AS SELECT s.v, names.name FROM s [RANGE 1 SECOND], names WHERE s.k = names.k"
    )
    session = fed.opened(fed.script, f"CREATE QUERY a AS {SUMS}")
    assert list(session.catalog.streams) == ["t", "s"] and list(session.catalog.relations) == ["names"]
    fed.batch()
    assert set(session.handle("named").results().column("name").to_pylist()) == {"zero", "one"}
    session.sql("DROP STREAM t")
    assert list(fed.opened().catalog.streams) == ["s"]


def test_a_stream_that_is_declared_otherwise(fed: Fed) -> None:
    fed.batch()
    fed.session.sql(f"CREATE QUERY a AS {SUMS}; CREATE QUERY b AS {SUMS.replace('k,', '')}")
    fed.opened(fed.script.replace("k BIGINT, ", ""))
    with pytest.raises(UsageError, match=r"query a of an earlier run can't go on: .*k") as refused:
        fed.batch()
    assert "DROP QUERY a" in (refused.value.hint or "")
    fed.rows.pop()
    fed.opened(fed.script.replace("k BIGINT, ", ""), "DROP QUERY a")
    fed.batch()
    assert [v.name for v in fed.session.lives()] == ["b"]


def test_another_process_has_changed_it(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()
    fed.session.stop()
    stale = LocalSession(fed.root / "run")
    fed.opened()
    fed.batch()
    fed.session.drop("a")
    fed.session.stop()
    with pytest.raises(UsageError, match="another process has changed what is declared"):
        stale.batch([])
    stale.stop()


def test_what_the_disk_refuses_was_never_asked(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()

    def full(name: str, data: object, flush: bool = True) -> None:
        raise EnvironmentProblem("changelog: no space left on device", "free some space")

    with monkeypatch.context() as broken:
        broken.setattr(fed.session._changelog.store, "put", full)
        with pytest.raises(EnvironmentProblem, match="no space left"):
            fed.session.query(MAXIMA, name="b")
        with pytest.raises(EnvironmentProblem, match="no space left"):
            fed.session.drop("a")
    assert list(fed.session.queries) == ["a"]
    fed.session.query(MAXIMA, name="b")
    fed.batch()
    fed.batch()
    assert [(v.name, v.epoch) for v in fed.session.lives()] == [("a", 0), ("b", 1)]
    fed.check("a", "b")


def test_many_requests_at_once_are_few_entries(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is written, thirty others come: they are the next."""
    fed.batch()
    store, real, gate, first = (
        fed.session._changelog.store,
        fed.session._changelog.store.put,
        threading.Event(),
        threading.Event(),
    )
    names: list[str] = []

    def slow(name: str, data: object, flush: bool = True) -> None:
        first.set()
        assert gate.wait(20)
        names.append(name)
        real(name, data, flush)

    monkeypatch.setattr(store, "put", slow)
    threads = [threading.Thread(target=fed.session.query, args=(SUMS, f"q{i}")) for i in range(31)]
    threads[0].start()
    assert first.wait(20)
    for thread in threads[1:]:
        thread.start()
    while len(fed.session.catalog.queries) < 31:
        assert threads[0].is_alive()
    assert not fed.session._running._workload.queries, "nothing runs that is not written"
    gate.set()
    for thread in threads:
        thread.join()
    assert len(names) == 2 and len(fed.session._running._workload.queries) == 31
    (entry,) = fed.session.sql(
        f"CREATE QUERY x AS {SUMS}; DROP QUERY x; CREATE QUERY y AS {SUMS}; SET trigger = 1"
    )[-1:]
    assert str(entry) == "trigger is now 1" and len(names) == 3
    fed.batch()
    assert {v.epoch for v in fed.session.lives()} == {1} and len(fed.session.lives()) == 32


PROGRAM = """
import os, signal, sys
from pathlib import Path
from thalweg.testing.local import LocalSession
session = LocalSession(Path(sys.argv[1]))
exec(sys.argv[2])
print("acknowledged", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(fed: Fed, statements: str) -> None:
    """A process that opens the directory, does something, and is killed as soon as that is acknowledged, before any batch has it."""
    fed.session.stop()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(fed.root / "run"), statements],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "acknowledged\n" and done.returncode == -signal.SIGKILL, done.stderr
    fed.session = LocalSession(fed.root / "run")


def test_killed_right_after_each_acknowledgement(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}; CREATE QUERY b AS {SUMS}; CREATE QUERY c AS {SUMS}")
    fed.batch()
    killed(fed, f"session.batch([]); session.query({PAIRS!r}, name='d'); session.drop('a')")
    fed.rows.append({"s": fed.rows[0]["s"].slice(0, 0)})
    assert list(fed.session.queries) == ["b", "c", "d"]
    killed(
        fed,
        f"session.batch([]); session.sql('''CREATE OR REPLACE QUERY b AS {MAXIMA}; SET plan.windows = naive''')",
    )
    fed.rows.append({"s": fed.rows[0]["s"].slice(0, 0)})
    assert fed.session.catalog.config.windows == "naive"
    fed.batch()
    fed.batch()
    fed.batch()
    assert {v.name: (v.epoch, v.ended) for v in fed.session.lives() if v.ended is None} == {
        "b": (3, None),
        "c": (0, None),
        "d": (2, None),
    }
    assert {v.name: (v.epoch, v.ended) for v in fed.session.lives() if v.ended is not None} == {
        "a": (0, 2),
        "b": (0, 3),
    }
    fed.check("b", "c", "d")


def test_a_stream_of_a_data_frame_must_be_given_again(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()
    frame = replace(fed.session.catalog.streams["s"], format="dataframe", path=None)
    with fed.session._declarations.changing():
        fed.session._declarations.become(replace(fed.session.catalog, streams={"s": frame}), "stream s")
    fed.session.stop()
    with pytest.raises(
        UsageError, match="stream s was read from a DataFrame, which this session was not given"
    ) as refused:
        Session(fed.root / "run").check()
    assert "declare it again" in (refused.value.hint or "")
