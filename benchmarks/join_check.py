"""Whether the engines of part `native` agree with the definition, computed by DuckDB over the whole input."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.join_data import MILLION


@dataclass(frozen=True)
class Agreement:
    """emitted, expected: result rows of the engine and of the definition up to the last window that the engine emitted."""

    emitted: int
    expected: int
    differing: int

    @property
    def holds(self) -> bool:
        """Whether something was compared, and nothing differs."""
        return self.emitted > 0 and self.differing == 0


def groups_agree(out: Path, files: tuple[list[Path], list[Path]], window: int) -> Agreement:
    """The aggregate over tumbling windows; an engine may not have closed the last ones yet."""
    con = duckdb.connect()
    end = f"(epoch_us(ts) // {window * MILLION} + 1) * {window * MILLION}"
    for n, paths in enumerate(files):
        con.execute(
            f"CREATE TABLE s{n} AS SELECT {end} AS e, k, g, x FROM read_parquet({[str(p) for p in paths]})"
        )
    con.execute("CREATE TABLE a AS SELECT e, k, g, count(*) AS n, sum(x) AS x FROM s0 GROUP BY ALL")
    con.execute("CREATE TABLE b AS SELECT e, k, count(*) AS n, sum(x) AS x FROM s1 GROUP BY ALL")
    sums = "sum(a.n * b.n)::BIGINT AS n, sum(a.x * b.n)::BIGINT AS f, sum(b.x * a.n)::BIGINT AS s"
    con.execute(f"CREATE TABLE expected AS SELECT e, g, {sums} FROM a JOIN b USING (e, k) GROUP BY ALL")
    shown = "epoch_us(window_end) AS e, g, n::BIGINT AS n, first::BIGINT AS f, second::BIGINT AS s"
    con.execute(f"CREATE TABLE found AS SELECT {shown} FROM read_parquet('{out}/*.parquet')")
    con.execute("DELETE FROM expected WHERE e > (SELECT max(e) FROM found)")
    apart = "(SELECT * FROM {} EXCEPT ALL SELECT * FROM {})"
    differing = _number(con, f"SELECT count(*) FROM {apart.format('found', 'expected')}")
    differing += _number(con, f"SELECT count(*) FROM {apart.format('expected', 'found')}")
    return Agreement(
        _number(con, "SELECT count(*) FROM found"), _number(con, "SELECT count(*) FROM expected"), differing
    )


def rows_agree(out: Path, files: tuple[list[Path], list[Path]], window: int) -> Agreement:
    """The joined rows, as a multiset."""
    con = duckdb.connect()
    left, right = (
        f"(SELECT k, x, epoch_us(ts) AS t FROM read_parquet({[str(p) for p in paths]}))" for paths in files
    )
    pairs = f"SELECT a.k, a.x AS first, b.x AS second FROM {left} a JOIN {right} b ON a.k = b.k AND abs(a.t - b.t) < {window * MILLION}"
    con.execute(
        f"CREATE TABLE expected AS SELECT hash(k, first, second) AS h, count(*) AS n FROM ({pairs}) GROUP BY h"
    )
    rows = f"SELECT k, first, second FROM read_parquet('{out}/*.parquet')"
    con.execute(
        f"CREATE TABLE found AS SELECT hash(k, first, second) AS h, count(*) AS n FROM ({rows}) GROUP BY h"
    )
    differing = _number(
        con, "SELECT count(*) FROM expected e FULL JOIN found f USING (h) WHERE e.n IS DISTINCT FROM f.n"
    )
    total = "SELECT coalesce(sum(n), 0) FROM {}"
    return Agreement(_number(con, total.format("found")), _number(con, total.format("expected")), differing)


def _number(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    ((found,),) = con.execute(sql).fetchall()
    return int(found)
