"""What the benchmark of Nexmark takes from the example's script, what it compares, and what it says of times."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from benchmarks.nexmark import SCRIPT, Measured, compared, save, statements, streams_of, summary
from benchmarks.nexmark_native import OTHERS, REFUSED, UNBOUNDED, WORD_FOR_WORD


def test_every_query_of_the_script_is_on_spark_or_can_not_be() -> None:
    declared, queries = statements(SCRIPT.read_text())
    assert declared.count("CREATE STREAM") >= 3 and "CREATE QUERY" not in declared
    assert {*WORD_FOR_WORD, *UNBOUNDED, *OTHERS} | REFUSED.keys() == queries.keys()
    assert all(streams_of(text) for text in queries.values())
    assert streams_of(queries["q20"]) == ["auction", "bid"] and streams_of(queries["q0"]) == ["bid"]


def test_rows_are_compared_by_value(tmp_path: Path) -> None:
    rows = pa.table({"a": [1, 2], "b": ["x", None]})
    save(tmp_path / "rows/ours/q0", rows)
    assert compared(tmp_path, "q0") == ""
    save(tmp_path / "rows/native/q0", rows.slice(1).rename_columns(["other", "names"]))
    assert compared(tmp_path, "q0") == "DIFFER by 1 and 0"
    save(tmp_path / "rows/native/q1", rows)
    save(tmp_path / "rows/ours/q1", rows)
    assert compared(tmp_path, "q1") == "2 equal"


def test_losses_are_said() -> None:
    mine = {"q0": Measured("q0", 100.0), "q1": Measured("q1", 50.0), "all": Measured("all", 120.0)}
    said = summary(mine, {"q0": Measured("q0", 50.0), "q1": Measured("q1", 100.0)})
    assert (
        "1.00 times Spark" in said
        and "slower: q0 (0.50)" in said
        and "1.20 times the time of the slowest" in said
    )
