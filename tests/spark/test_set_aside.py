"""Bad rows and files of all formats on real Spark: set aside once, through a crash and a restart, while all others count."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import bad_rows, session_on

from thalweg import DataError, Session
from thalweg.api.status import read_status

STREAMS = ("csv", "json", "parquet")


def declared(root: Path, more: str = "") -> str:
    """A stream of each format, one file a batch, and a query over each; files have a row a second."""
    return "".join(
        f"""CREATE STREAM {f} (k BIGINT, v DECIMAL(6,2), at TIMESTAMP)
              WITH (format = '{f}', path = '{root}/{f}', time = 'at', files_per_batch = 1{more});
            CREATE QUERY q_{f} AS SELECT window_start, SUM(v) AS total, COUNT(*) AS n FROM {f} GROUP BY TUMBLE '1 second';"""
        for f in STREAMS
    )


def write(root: Path, number: int, bad: bool) -> None:
    """Rows (1, 1), (2, 2), (3, 3) in a second, of which the second may be bad."""
    at, second = f"1970-01-01 00:00:{number:02d}", "99999" if bad else "2"
    texts = {
        "csv": f"k,v,at\n1,1,{at}\n2,{second},{at}\n3,3,{at}\n",
        "json": "".join(
            f'{{"k": {k}, "v": {v}, "at": "{at}"}}\n' for k, v in ((1, "1"), (2, second), (3, "3"))
        ),
    }
    for format in STREAMS:
        path = root / format / f"{number}.{format}"
        path.parent.mkdir(exist_ok=True)
        if format == "parquet":
            values = pa.array([Decimal(1), Decimal(second), Decimal(3)], pa.decimal128(9, 2))
            pq.write_table(
                pa.table(
                    {
                        "k": [1, 2, 3],
                        "v": values,
                        "at": pa.array([number * 1_000_000] * 3, pa.timestamp("us")),
                    }
                ),
                path,
            )
        else:
            path.write_text(texts[format])
        os.utime(path, (1_000 + number, 1_000 + number))


def noise(root: Path, number: int) -> None:
    """A file of each format that is none."""
    for format in STREAMS:
        path = root / format / f"{number}.{format}"
        path.write_text("noise\n")
        os.utime(path, (1_000 + number, 1_000 + number))


def totals(session: Session, format: str) -> list[tuple[Decimal, int]]:
    rows = session.handle(f"q_{format}").results().sort_by("window_start").to_pylist()
    return [(row["total"], row["n"]) for row in rows]


def aside(root: Path, format: str) -> list[tuple[str | None, ...]]:
    found = bad_rows(root / "run" / "bad" / format)
    return [(Path(file or "").name, place, column) for file, place, column, _, _ in found]


def test_good_rows_count_and_bad_ones_are_set_aside_once(spark: Any, tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, number, bad=number in (1, 3))
    noise(tmp_path, 5)
    write(tmp_path, 6, bad=False)
    for point in ("driver:before-manifest", "driver:after-manifest", "driver:during-publish"):
        session = session_on(spark, tmp_path, declared(tmp_path))
        session.fault = point
        with pytest.raises(Exception, match=point):
            session.run_available()
        session.stop()
    session = session_on(spark, tmp_path, declared(tmp_path))
    session.run_available()
    session.stop()
    for format in STREAMS:
        whole, part = (Decimal(6), 3), (Decimal(4), 2)
        assert totals(session, format) == [whole, part, whole, part, whole]
        counts = session.latest_manifest().streams[format]
        assert (counts.rows, counts.bad_rows, counts.bad_files) == (16, 2, 1)
        assert aside(tmp_path, format) == [
            (f"1.{format}", "row 2", "v"),
            (f"3.{format}", "row 2", "v"),
            (f"5.{format}", None, None),
        ]
    assert list(session.set_aside) == list(STREAMS)
    assert [s.set_aside[0].column for s in read_status(tmp_path / "run").streams] == ["v"] * 3


@pytest.mark.parametrize("format", STREAMS)
def test_a_bad_row_stops_who_wants_that(spark: Any, tmp_path: Path, format: str) -> None:
    write(tmp_path, 0, bad=False)
    write(tmp_path, 1, bad=True)
    write(tmp_path, 2, bad=False)
    for other in set(STREAMS) - {format}:
        write_good = tmp_path / other / f"1.{other}"
        write_good.unlink()
    session = session_on(spark, tmp_path, declared(tmp_path, ", on_bad_file = 'stop'"))
    with pytest.raises(
        DataError,
        match=rf"1\.{format}: can't be read as stream {format}: row 2: 99999(\.00)? in column v is no DECIMAL",
    ):
        session.run_available()
    assert session.status == "failed" and session.latest_manifest().batch == 0
    session.stop()
    assert not session.set_aside
