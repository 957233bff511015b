"""Files: names, times, formats, atomic appearance, overwriting, speed."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.errors import EnvironmentProblem, UsageError
from thalweg.generate import Generator, Nexmark, Sensors, Summary, write
from thalweg.generate.encode import ENCODERS

NEXMARK = Nexmark(2500, rate=100, disorder=3, late=0.01, seed=9)
SENSORS = Sensors(2500, rate=100, disorder=3, seed=9)
READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def whole(generator: Generator) -> dict[str, pa.Table]:
    return next(generator.chunks(generator.events))


def read(folder: Path, generator: Generator, format: str) -> pa.Table:
    columns = {column.name: column.type for column in generator.schemas[folder.name]}
    typed = "" if format == "parquet" else f", columns = {columns}"
    rows = [
        duckdb.sql(f"FROM {READERS[format]}('{folder / name}'{typed})").to_arrow_table()
        for name in names(folder)
    ]
    return pa.concat_tables(rows)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
@pytest.mark.parametrize("generator", [NEXMARK, SENSORS], ids=["nexmark", "sensors"])
def test_files_read_in_name_order_give_the_events_in_arrival_order(
    tmp_path: Path, generator: Generator, format: str
) -> None:
    summary = write(generator, tmp_path / "out", format=format, events_per_file=1000)
    for stream, table in whole(generator).items():
        assert read(tmp_path / "out" / stream, generator, format).to_pylist() == table.to_pylist()
        assert summary.streams[stream] == table.num_rows


def test_parquet_has_the_declared_types(tmp_path: Path) -> None:
    write(NEXMARK, tmp_path)
    for stream, table in whole(NEXMARK).items():
        assert pq.read_schema(tmp_path / stream / "part-000000.parquet").equals(table.schema)


def test_summary_and_progress(tmp_path: Path) -> None:
    done: list[int] = []
    summary = write(NEXMARK, tmp_path, events_per_file=1000, progress=done.append)
    assert summary == Summary(files=9, events=2500, streams={"person": 50, "auction": 150, "bid": 2300})
    assert done == [1000, 2000, 2500]


def test_names_and_modification_times_follow_arrival(tmp_path: Path) -> None:
    write(SENSORS, tmp_path, events_per_file=10)
    folder = tmp_path / "reading"
    assert names(folder) == [f"part-{number:06}.parquet" for number in range(250)]
    times = [(folder / name).stat().st_mtime_ns // 1_000_000 for name in names(folder)]
    assert all(earlier < later for earlier, later in pairwise(times))


def test_files_of_all_streams_are_cut_at_the_same_arrival(tmp_path: Path) -> None:
    write(Nexmark(300), tmp_path, events_per_file=100)
    assert names(tmp_path / "person") == names(tmp_path / "auction") == names(tmp_path / "bid")


def test_a_stream_without_events_has_a_folder_but_no_file(tmp_path: Path) -> None:
    summary = write(Nexmark(1), tmp_path)
    assert names(tmp_path) == ["auction", "bid", "person"]
    assert names(tmp_path / "bid") == []
    assert summary == Summary(files=1, events=1, streams={"person": 1, "auction": 0, "bid": 0})


def test_any_split_into_files_gives_the_same_events(tmp_path: Path) -> None:
    for size in (7, 500, 10_000):
        write(SENSORS, tmp_path / str(size), events_per_file=size)
    one, two, three = (
        read(tmp_path / size / "reading", SENSORS, "parquet") for size in ("7", "500", "10000")
    )
    assert one.to_pylist() == two.to_pylist() == three.to_pylist()


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(NEXMARK, tmp_path / name)
    assert all(
        (tmp_path / "a" / stream / "part-000000.parquet").read_bytes()
        == (tmp_path / "b" / stream / "part-000000.parquet").read_bytes()
        for stream in NEXMARK.schemas
    )


def test_a_file_appears_whole_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the moment of each rename the directory shows whole files only, and the new one is hidden."""
    seen: list[list[str]] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        seen.append([name for name in names(self.parent) if not name.startswith(".")])
        assert self.name == f".{target.name}.tmp"
        pq.read_table(self)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    write(SENSORS, tmp_path, events_per_file=1000)
    assert seen == [[f"part-{number:06}.parquet" for number in range(count)] for count in range(3)]


@pytest.mark.parametrize("format", ["csv", "json"])
def test_text_formats_leave_no_other_names(tmp_path: Path, format: str) -> None:
    write(SENSORS, tmp_path, format=format)
    assert names(tmp_path / "reading") == [f"part-000000.{format}"]


def test_a_failed_write_leaves_no_hidden_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(table: pa.Table, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(ENCODERS, "parquet", lambda: full)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        write(SENSORS, tmp_path)
    assert names(tmp_path / "reading") == []


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(UsageError, match="not empty") as error:
        write(SENSORS, tmp_path)
    assert "overwrite" in str(error.value.hint)
    assert names(tmp_path) == ["precious"]


def test_overwrite_replaces_earlier_data_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    write(SENSORS, tmp_path, format="csv", events_per_file=100, overwrite=True)
    write(SENSORS, tmp_path, overwrite=True)
    assert names(tmp_path) == ["precious", "reading"]
    assert names(tmp_path / "reading") == ["part-000000.parquet"]


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UsageError, match="not a directory"):
        write(SENSORS, tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"format": "orc"}, "unknown format 'orc'"), ({"events_per_file": 0}, "0 events per file")],
)
def test_bad_arguments(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        write(SENSORS, tmp_path / "out", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "generator",
    [Nexmark(1_000_000, rate=100_000, disorder=1), Sensors(1_000_000, rate=100_000, disorder=1)],
    ids=["nexmark", "sensors"],
)
def test_a_million_events_take_seconds_at_most(tmp_path: Path, generator: Generator) -> None:
    """Processor time of this process, so that other work on the machine doesn't count."""
    started = time.process_time()
    write(generator, tmp_path)
    assert time.process_time() - started < 4
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.parquet")) > 5_000_000
