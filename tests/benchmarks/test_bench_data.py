"""The events of the benchmarks."""

import gzip
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from benchmarks.data import BASE, Feed, files, place, table

from benchmarks import data


def test_columns_types_and_pace():
    rows = table(Feed(1_000), 2)
    assert str(rows.schema).splitlines() == ["k: int32", "ts: timestamp[us, tz=UTC]", "v: double"]
    times = rows["ts"].cast("int64").to_pylist()
    assert times == [BASE + i * 1_000 for i in range(2_000, 3_000)]
    assert pc.max(rows["k"]).as_py() == 99 and pc.min(rows["k"]).as_py() == 0


def test_a_longer_stream_repeats_keys_and_values_at_later_times(monkeypatch):
    monkeypatch.setattr(data, "EVENTS", 100)
    data._columns.cache_clear()
    first, again = table(Feed(100, keys=7), 0), table(Feed(100, keys=7), 1)
    data._columns.cache_clear()
    assert first["k"].equals(again["k"]) and first["v"].equals(again["v"])
    assert pc.min(again["ts"]).as_py() > pc.max(first["ts"]).as_py()


def test_files_are_made_once_in_the_order_of_their_times(tmp_path: Path):
    feed = Feed(10)
    paths = files(feed, 2, tmp_path)
    before = [p.stat().st_ino for p in paths]
    more = files(feed, 3, tmp_path)
    assert [p.stat().st_ino for p in more[:2]] == before
    stamps = [p.stat().st_mtime for p in more]
    assert stamps == sorted(set(stamps))
    assert [p.name for p in more] == sorted(p.name for p in (tmp_path / feed.name).iterdir())


def test_a_run_gets_links_to_the_first_files(tmp_path: Path):
    folder = place(Feed(10), 2, tmp_path / "run" / "in", tmp_path)
    assert pq.read_table(folder).num_rows == 20
    assert all(p.stat().st_nlink == 2 for p in folder.iterdir())


def test_a_pace_between_microseconds_is_refused():
    with pytest.raises(ValueError, match="whole number of microseconds"):
        Feed(10, rate=3)


def test_readings_are_repeated_at_later_times(tmp_path: Path):
    path = tmp_path / "readings.csv.gz"
    lines = ["ts,index,mf01", *(f"2012-02-22T16:46:28.{i}170000+00:00,{i},{13_000 + i}" for i in range(4))]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    rows = table(Feed(6, 1, 100, readings=str(path)), 0)
    assert rows["v"].to_pylist() == [13_000, 13_001, 13_002, 13_003, 13_000, 13_001]
    step, gap = 100_000, 10_000
    times = [0, step, 2 * step, 3 * step, 3 * step + gap, 4 * step + gap]
    assert [t - BASE for t in rows["ts"].cast("int64").to_pylist()] == times
    assert table(Feed(3, 1, 100, readings=str(path)), 1)["ts"].equals(rows["ts"].slice(3))
