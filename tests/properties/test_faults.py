"""A crash at any named point of any batch's commit changes nothing in the results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.connectors.parquet import STAGING
from thalweg.engine.faults import POINTS, Aborted
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import late_rows, reference
from thalweg.testing.reference_joins import late_rows_of_join, reference_join
from thalweg.testing.reference_nesting import Data, reference_any

SECOND = 1_000_000
SQL = """
CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '2 seconds');
CREATE QUERY a AS SELECT k, window_id, window_start, SUM(v) AS total, COUNT(DISTINCT v) AS kinds
  FROM s GROUP BY k, WINDOWS(TUMBLE '2 seconds', HOP '6 seconds' BY '2 seconds');
CREATE QUERY b AS SELECT window_start, MAX(v) AS high FROM s WHERE v % 2 = 0 GROUP BY WINDOWS(TUMBLE '4 seconds');
"""

JOINS = """
CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '2 seconds');
CREATE STREAM r (k BIGINT, v BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '2 seconds');
CREATE QUERY pairs AS SELECT s.k, s.v, r.v AS w FROM s [RANGE 1 SECOND], r [RANGE 2 SECONDS] WHERE s.k = r.k AND s.v < r.v;
CREATE QUERY groups AS SELECT s.k, COUNT(*) AS n, MAX(r.v) AS high, SUM(s.v * r.v) AS dot
  FROM s [RANGE 4 SECONDS], r [RANGE 6 SECONDS] WHERE s.k = r.k GROUP BY s.k EVERY 2 SECONDS;
CREATE QUERY changes AS SELECT s.k, MAX(s.v) AS high, COUNT(*) AS n
  FROM s [RANGE 4 SECONDS], r [RANGE 2 SECONDS] WHERE s.k = r.k AND s.v % 9 = 4 GROUP BY s.k EVERY 2 SECONDS EMIT CHANGES;
CREATE QUERY windows AS SELECT k, window_end, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '2 seconds';
"""


NESTED = """
CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '2 seconds');
CREATE VIEW counts AS SELECT k, window_end, COUNT(*) AS n, MAX(v) AS high FROM s GROUP BY k, TUMBLE '2 seconds';
CREATE QUERY most AS WITH m AS (SELECT window_end, MAX(high) AS top FROM counts GROUP BY window_end)
  SELECT c.k, c.n, c.window_end FROM counts AS c JOIN m ON c.window_end = m.window_end AND c.high >= m.top;
CREATE QUERY means AS SELECT window_end, SUM(pairs) AS total FROM
  (SELECT x.k, COUNT(*) AS pairs FROM s AS x [RANGE 2 SECONDS], counts AS c [RANGE 4 SECONDS] WHERE x.k = c.k GROUP BY x.k EVERY 2 SECONDS)
  GROUP BY HOP '6 seconds' BY '2 seconds';
"""


def batches() -> list[pa.Table]:
    """Six batches of 40 rows over 4 s each, out of order, with a late row in the fourth."""
    made = []
    for b in range(6):
        ticks = [b * 4 * SECOND + (i * 37 % 40) * 100_000 for i in range(40)]
        if b == 3:
            ticks[5] = 1 * SECOND
        made.append(
            pa.table(
                {
                    "k": [i % 5 for i in range(40)],
                    "v": [i * b for i in range(40)],
                    "at": pa.array(ticks, pa.timestamp("us")),
                }
            )
        )
    return made


def engine_at(root: Path, sql: str = SQL, config: Config | None = None) -> LocalEngine:
    bound = bind_text(sql.replace("time =", f"late_rows = '{root / 'late'}', time ="), directory=root / "in")
    return LocalEngine(
        root / "run",
        tuple(bound.streams.values()),
        tuple(bound.queries.values()),
        planner_for(config or Config(), None),
    )


def feed(engine: LocalEngine, chunks: list[tuple[str, str]], point: str) -> bool:
    """One batch that crashes at a point, if it comes to it, and is run again after a restart."""
    engine.fault = point
    try:
        engine.batch(chunks)
    except Aborted:
        engine.fault = None
        engine.restart()
        engine.batch(chunks)
        return True
    return False


def noise(root: Path, number: int) -> list[tuple[str, str]]:
    """In every other batch a file that can't be read."""
    path = root / "in" / "s" / f"noise-{number}"
    path.write_bytes(b"no Parquet")
    return [("s", str(path))] * (number % 2)


def check_aside(engine: LocalEngine, files: int) -> None:
    """Every bad file was set aside once, and is shown once."""
    shown = (
        pa.parquet.read_table(sorted((engine.root / "bad" / "s").glob("*.parquet")))
        .column("file")
        .to_pylist()
    )
    assert len(shown) == len(set(shown)) == files == engine.runner.manifest.streams["s"].bad_files


@pytest.mark.parametrize("point", [p for p in POINTS if not p.startswith("finish:")])
def test_crash_at_every_point_of_every_batch(point: str, tmp_path: Path) -> None:
    engine = engine_at(tmp_path)
    stream, tables = engine.streams[0], batches()
    reached = 0
    for number, path in enumerate(write_batches(tmp_path / "in" / "s", stream, tables)):
        reached += feed(engine, [("s", str(path)), *noise(tmp_path, number)], point)
    assert reached > 0, f"no batch came to {point}"
    for query in engine.queries:
        assert isinstance(query, Query)
        compare(engine.results(query), reference(query, stream, tables))
    late = pa.parquet.read_table(sorted((tmp_path / "late").glob("*.parquet")))
    assert late.num_rows == late_rows(stream, tables) == 1
    check_aside(engine, len(tables) // 2)
    engine.restart()
    assert_nothing_left_over(engine, tmp_path)


@pytest.mark.parametrize("point", POINTS)
def test_crash_of_joins(point: str, tmp_path: Path) -> None:
    """Rows, instants whose pairs are kept by their expiry, and changes since the last instant: none is lost or doubled."""
    engine = engine_at(tmp_path, JOINS, Config(early_aggregation="EAP11", evaluate="expiry"))
    streams, fed, reached = {s.name: s for s in engine.streams}, join_batches(), 0
    for number, batch in enumerate(fed):
        chunks = [(n, str(write_batches(tmp_path / "in" / n, streams[n], [t])[0])) for n, t in batch.items()]
        reached += feed(engine, [*chunks, *noise(tmp_path, number)], point)
    assert reached > 0, f"no batch came to {point}"
    check_aside(engine, len(fed) // 2)
    for query in engine.queries:
        if not query.windows:
            expected = reference_join(query, streams, fed)
            late = late_rows_of_join(query, streams, fed)
            assert engine.runner.manifest.queries[query.name].late == late
        else:
            expected = reference(query, streams["s"], [b["s"] for b in fed if "s" in b])
        assert expected.num_rows > 10
        compare(engine.results(query), expected)
    changes = reference_join(next(q for q in engine.queries if q.changes), streams, fed)
    assert any(changes.column("deleted").to_pylist())
    engine.restart()
    assert_nothing_left_over(engine, tmp_path)


MANY = f"""
{JOINS.partition("CREATE QUERY")[0]}
{"".join(f"CREATE QUERY pairs{i} AS SELECT s.k, r.v AS w FROM s [RANGE 1 SECOND], r [RANGE {1 + i % 3} SECONDS] WHERE s.k = r.k AND s.v > {i};" for i in range(10))}
{"".join(f"CREATE QUERY groups{i} AS SELECT s.k, COUNT(*) AS n FROM s [RANGE 4 SECONDS], r [RANGE 4 SECONDS] WHERE s.k = r.k AND r.v > {i} GROUP BY s.k EVERY 2 SECONDS;" for i in range(10))}
{"".join(f"CREATE QUERY windows{i} AS SELECT k, window_end, COUNT(*) AS n FROM s WHERE v > {i} GROUP BY k, TUMBLE '2 seconds';" for i in range(10))}
"""  # noqa: E501


@pytest.mark.parametrize("point", [p for p in POINTS if "results" in p or p.startswith("driver:")])
def test_crash_of_pools(point: str, tmp_path: Path) -> None:
    """Files that ten queries share are shown once, with every row of each of them."""
    engine = engine_at(tmp_path, MANY, Config(sharing="all"))
    streams, fed, reached = {s.name: s for s in engine.streams}, join_batches(), 0
    for batch in fed:
        chunks = [(n, str(write_batches(tmp_path / "in" / n, streams[n], [t])[0])) for n, t in batch.items()]
        reached += feed(engine, chunks, point)
    assert reached > 0 and len({f.pool for f in engine.runner.plan.fragments}) == 3
    assert list((tmp_path / "run" / "shared").glob("*/*.parquet")) and not list(
        (tmp_path / "run" / "results").iterdir()
    )
    for query in engine.queries:
        expected = (
            reference(query, streams["s"], [b["s"] for b in fed if "s" in b])
            if query.windows
            else reference_join(query, streams, fed)
        )
        compare(engine.results(query), expected)
        assert engine.runner.manifest.queries[query.name].rows == expected.num_rows
    engine.restart()
    assert_nothing_left_over(engine, tmp_path)


def join_batches() -> list[dict[str, pa.Table]]:
    """Both streams in a batch, and batches of one alone; `r` has other values and lags behind by a batch."""
    tables = batches()
    others = [t.set_column(1, "v", pa.array([(v.as_py() * 7) % 211 for v in t.column("v")])) for t in tables]
    fed = [{"s": tables[0]}, *({"s": tables[i + 1], "r": others[i]} for i in range(5))]
    return [*fed[:3], {"s": fed[3]["s"]}, {"r": fed[3]["r"]}, *fed[4:], {"r": others[5]}]


def assert_nothing_left_over(engine: LocalEngine, root: Path) -> None:
    """After a restart every state file is named by the manifest, and nothing is staged."""
    named = {f.path for f in engine.runner.manifest.files}
    found = {str(p.relative_to(root / "run" / "state")) for p in (root / "run" / "state").rglob("*.arrow")}
    assert found == named
    assert not list(root.rglob(f"{STAGING}/*"))


def test_a_directory_made_anew_has_nothing_of_the_old_one(tmp_path: Path) -> None:
    """Worker processes live on: what they remember of a deleted session must not meet the next one in the same place."""
    for shift in (0, 1000):
        tables = [t.set_column(1, "v", pa.compute.add(t.column("v"), shift)) for t in batches()[:2]]
        engine = engine_at(tmp_path)
        for path in write_batches(tmp_path / "in" / "s", engine.streams[0], tables):
            engine.batch([("s", str(path))])
        for query in engine.queries:
            assert isinstance(query, Query)
            compare(engine.results(query), reference(query, engine.streams[0], tables))
        engine.stop()
        shutil.rmtree(tmp_path / "run")
        shutil.rmtree(tmp_path / "in")


@pytest.mark.parametrize("point", [p for p in POINTS if "bad" not in p])
def test_crash_at_every_point_of_queries_over_queries(point: str, tmp_path: Path) -> None:
    engine = engine_at(tmp_path, NESTED)
    stream, tables = engine.streams[0], batches()
    chunks = [[("s", str(p))] for p in write_batches(tmp_path / "in" / "s", stream, tables)]
    assert sum([feed(engine, some, point) for some in chunks]) > 0 or "finish:" in point
    for query in engine.queries:
        expected = reference_any(query, Data({"s": stream}, [{"s": t} for t in tables]))
        assert expected.num_rows > 3
        compare(engine.results(query), expected)
