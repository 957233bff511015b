"""NaN is above all numbers and counts as any value does, though Parquet's least and greatest values leave it out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.testing.local import LocalSession

NAN = float("nan")
ROWS = pa.table(
    {
        "k": [1, 1, 1, 1, 2],
        "x": [1.0, 2.0, NAN, 3.0, 0.0],
        "f": pa.array([1.0, 2.0, NAN, 3.0, 0.0], pa.float32()),
        "at": pa.array([0, 1, 2, 3, 100_000_000], pa.timestamp("us")),
    }
)
COLUMNS = "(k BIGINT, x DOUBLE, f FLOAT, at TIMESTAMP)"
CONDITIONS = {
    "ISNAN({x})": 1, "NOT ISNAN({x})": 3, "ISNAN({f})": 1, "{x} > 5": 1, "5 < {f}": 1, "NOT {x} <= 5": 1, "{x} BETWEEN 2 AND 5": 2,
    "NOT {x} BETWEEN 0 AND 5": 1, "{x} = CAST('nan' AS DOUBLE)": 1, "{x} NOT IN (1, 2, 3)": 1, "{x} <> 1": 3, "-{x} > -2": 2,
    "COALESCE({x}, 0) > 5": 1, "{x} + 1 > 9": 1, "LEAST({x}, 100) > 50": 1, "CASE WHEN {f} > 5 THEN TRUE ELSE FALSE END": 1,
}  # fmt: skip
QUERIES = {
    "rows": "SELECT a.x FROM s AS a WHERE a.k = 1 AND ({a})",
    "windows": "SELECT x, at FROM s AS a WHERE k = 1 AND ({a}) GROUP BY x, at, TUMBLE '10 seconds'",
    "having": "SELECT x, at FROM s AS a WHERE k = 1 GROUP BY x, f, at, TUMBLE '10 seconds' HAVING {h}",
    "tables": "SELECT p.x FROM s AS a, p WHERE a.k = p.k AND a.x = 1 AND ({p})",
    "joins": "SELECT b.x FROM s AS a [RANGE 10 SECONDS], r AS b [RANGE 10 SECONDS] WHERE a.k = b.k AND a.x = 1 AND ({b})",
    "joined groups": "SELECT b.x, COUNT(*) AS n FROM s AS a [RANGE 10 SECONDS], r AS b [RANGE 10 SECONDS] "
    "WHERE a.k = b.k AND a.x = 1 AND ({b}) GROUP BY b.x EVERY 10 SECONDS",
}


def asked(text: str, condition: str) -> str:
    sides = {side: condition.format(x=f"{side}.x", f=f"{side}.f") for side in "abp"}
    return text.format(**sides, h=condition.format(x="x", f="f"))


@pytest.mark.parametrize("sharing", ["all", "off"])
def test_nan_counts_whatever_is_computed_together(tmp_path: Path, sharing: str) -> None:
    session = LocalSession(tmp_path / "run")
    for name in "srp":
        (tmp_path / name).mkdir()
        pq.write_table(ROWS, tmp_path / name / "0.parquet")
        kind, time = ("TABLE", "") if name == "p" else ("STREAM", ", time = 'at'")
        session.sql(
            f"CREATE {kind} {name} {COLUMNS} WITH (format = 'parquet', path = '{tmp_path / name}'{time})"
        )
    session.set("plan.sharing", sharing)
    handles = {
        (kind, condition): session.query(asked(text, condition))
        for kind, text in QUERIES.items()
        for condition in CONDITIONS
    }
    session.batch([(name, str(tmp_path / name / "0.parquet")) for name in "sr"])
    found = {which: handle.results().num_rows for which, handle in handles.items()}
    session.close()
    assert found == {(kind, condition): CONDITIONS[condition] for kind, condition in found}
