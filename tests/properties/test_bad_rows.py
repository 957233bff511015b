"""Bad rows in any files, any split into batches, any restart: results are those of the definition over the good rows alone."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import Bound, bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import reference

BAD = {
    "v": ["1.5", "x", "99999999999999999999", "1e-1", "true"],
    "d": ["zz", "1,5", "--1"],
    "at": ["nope", "1970-13-01 00:00:00", "1970-01-01 99:00:00"],
}
WHOLE = {"csv": ["", "k,v\n1,2\n", "\x00noise"], "json": ["", "noise\nnoise\n", '{"v": 1}\n']}


@dataclass(frozen=True)
class Line:
    """A row as it stands in a file, and, if it is good, as it counts. `is_cut` lines have too few fields."""

    k: int
    v: str
    d: str
    second: int | str
    is_cut: bool = False

    @property
    def is_good(self) -> bool:
        return (
            self.v not in BAD["v"]
            and self.d not in BAD["d"]
            and self.second not in BAD["at"]
            and not self.is_cut
        )

    @property
    def at(self) -> str:
        return self.second if isinstance(self.second, str) else f"1970-01-01 00:00:{self.second:02d}"

    def text(self, format: str) -> str:
        if format == "csv":
            return (
                f"{self.k},{self.v}" if self.is_cut else f'{self.k},{self.v},"{self.d}",{self.at},any thing'
            )
        made = json.dumps({"k": self.k, "v": self.v, "d": self.d, "at": self.at, "u": "any thing"})
        return made[:-3] if self.is_cut else made


def lines(now: int) -> hs.SearchStrategy[Line]:
    """Rows around a time, of which some are bad."""
    v = hs.one_of(hs.integers(-9, 99).map(str), hs.integers(-9, 99).map(str), hs.sampled_from(BAD["v"]))
    d = hs.one_of(
        hs.sampled_from(["1.5", "-2", "0"]), hs.sampled_from(["1.5", "-2", "0"]), hs.sampled_from(BAD["d"])
    )
    second = hs.one_of(hs.integers(now, now + 4), hs.integers(now, now + 4), hs.sampled_from(BAD["at"]))
    return hs.builds(Line, hs.integers(0, 2), v, d, second, hs.sampled_from([False] * 9 + [True]))


files = hs.integers(3, 8).flatmap(
    lambda n: hs.tuples(*(hs.lists(lines(4 * i), max_size=8) for i in range(n)))
)


def declared(root: Path, format: str) -> Bound:
    return bind_statements(f"""
        CREATE STREAM s (k BIGINT, v BIGINT, d DOUBLE, at TIMESTAMP, u SMALLINT)
          WITH (format = '{format}', path = '{root}/in', time = 'at', watermark = '40 seconds');
        CREATE QUERY a AS SELECT k, window_start, SUM(v) AS total, SUM(d) AS d, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '2 seconds';
        CREATE QUERY b AS SELECT window_start, COUNT(*) AS n FROM s WHERE v > 5 GROUP BY TUMBLE '4 seconds';""")


def table(rows: list[Line]) -> pa.Table:
    times = pa.array([int(r.second) * 1_000_000 for r in rows], pa.timestamp("us"))
    columns = {
        "k": pa.array([r.k for r in rows], pa.int64()),
        "v": pa.array([int(r.v) for r in rows], pa.int64()),
    }
    return pa.table(
        {
            **columns,
            "d": pa.array([float(r.d) for r in rows], pa.float64()),
            "at": times,
            "u": pa.nulls(len(rows), pa.int16()),
        }
    )


@pytest.mark.parametrize("format", ["csv", "json"])
@given(
    drawn=files,
    cuts=hs.lists(hs.integers(1, 3), min_size=8, max_size=8),
    restarts=hs.sets(hs.integers(1, 7)),
    whole=hs.dictionaries(hs.integers(0, 7), hs.integers(0, 2), max_size=2),
)
def test_good_rows_count(
    format: str, drawn: tuple[list[Line], ...], cuts: list[int], restarts: set[int], whole: dict[int, int]
) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        check(root, format, drawn, cuts, restarts, whole)
    finally:
        shutil.rmtree(root)


def check(
    root: Path,
    format: str,
    drawn: tuple[list[Line], ...],
    cuts: list[int],
    restarts: set[int],
    whole: dict[int, int],
) -> None:
    bound = declared(root, format)
    (root / "in").mkdir()
    last = [Line(0, "7", "0", 59)]
    paths, good, bad, lost = [], [], 0, 0
    for i, rows in enumerate((*drawn, last)):
        path = root / "in" / f"{i}.{format}"
        head = ["k,v,d,at,u"] if format == "csv" else []
        path.write_text("\n".join([*head, *(r.text(format) for r in rows), ""]))
        paths.append(("s", str(path)))
        if i in whole and rows is not last:
            path.write_text(WHOLE[format][whole[i]])
            lost += 1
        elif format == "json" and all(r.is_cut for r in rows):  # without a byte, or without an object
            lost += 1
        else:
            good += [r for r in rows if r.is_good]
            bad += sum(not r.is_good for r in rows)
    engine = LocalEngine(
        root / "run", tuple(bound.streams.values()), tuple(bound.queries.values()), planner_for(Config())
    )
    batch = 0
    while paths:
        taken, paths = paths[: cuts[batch % len(cuts)]], paths[cuts[batch % len(cuts)] :]
        if batch in restarts:
            engine.restart()
        engine.batch(taken)
        batch += 1
    engine.stop()
    for query in engine.queries:
        compare(engine.results(query), reference(query, engine.streams[0], [table(good)]), 1e-9, 1e-9)
    counts = engine.runner.manifest.streams["s"]
    assert (counts.rows, counts.bad_rows, counts.bad_files) == (len(good), bad, lost)
    shown = [
        row
        for path in (root / "run" / "bad" / "s").glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    assert (
        sum(r["place"] is not None for r in shown) == bad and sum(r["place"] is None for r in shown) == lost
    )
