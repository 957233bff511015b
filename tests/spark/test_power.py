"""A session of real Spark goes on after a power cut that has emptied what Spark never flushed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import QUERIES, batches, check, put, session_on, stream_sql


@pytest.mark.parametrize("emptied", [["offsets"], ["offsets", "sources/s"], ["offsets", "commits"]])
def test_spark_goes_on_after_a_power_cut(spark: Any, tmp_path: Path, emptied: list[str]) -> None:
    (tmp_path / "in").mkdir()
    sql, tables = stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES, batches()
    session = session_on(spark, tmp_path, sql)
    put(tmp_path, session, tables[:2])
    session.run_available()
    session.stop()
    put(tmp_path, session, tables[2:4])
    session = session_on(spark, tmp_path, sql)
    session.fault = "driver:before-manifest"
    with pytest.raises(Exception, match="driver:before-manifest"):
        session.run_available()
    session.stop()
    for folder in emptied:
        last = max((tmp_path / "run" / "checkpoint" / folder).glob("[0-9]*"), key=lambda p: int(p.stem))
        last.write_bytes(b"")
    session = session_on(spark, tmp_path, sql)
    put(tmp_path, session, tables[4:])
    session.run_available()
    session.stop()
    check(session, tables)
