"""Results as Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sink_conformance import Shown, SinkConformance, table

from thalweg.connectors.base import Sink, sink_at
from thalweg.connectors.parquet import read_file
from thalweg.errors import StateError


class TestParquet(SinkConformance):
    """A directory of files that appear whole."""

    @pytest.fixture
    def sink(self, tmp_path: Path) -> Sink:
        return sink_at(str(tmp_path / "out"))

    @pytest.fixture
    def other(self, tmp_path: Path) -> Sink:
        return sink_at(str(tmp_path / "out"))

    @pytest.fixture
    def shown(self, tmp_path: Path) -> Shown:
        def values() -> list[int]:
            files = sorted((tmp_path / "out").glob("*.parquet"))
            return sorted(v for f in files for v in pq.read_table(f).column("v").to_pylist())

        return values

    def test_what_a_reader_took_is_not_shown_again(self, sink: Sink, shown: Shown, tmp_path: Path) -> None:
        files = [self.staged(sink, 0, 1)]
        sink.commit(files)
        Path(files[0].shown).unlink()
        sink.commit(files)
        sink.recover(files)
        assert shown() == []

    def test_damage_is_told_with_the_file(self, sink: Sink, tmp_path: Path) -> None:
        files = [self.staged(sink, 0, *range(100)), self.staged(sink, 1, *range(100))]
        sink.commit(files[:1])
        for path in (Path(files[0].shown), next((tmp_path / "out").glob("*/*.parquet"))):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        with pytest.raises(StateError, match=f"{files[0].shown}: damaged"):
            read_file(Path(files[0].shown))
        with pytest.raises(StateError, match="damaged"):
            sink.recover(files[1:])


def test_a_file_with_another_name_is_read_as_it_is(tmp_path: Path) -> None:
    pq.write_table(table(1), tmp_path / "mine.parquet")
    assert read_file(tmp_path / "mine.parquet").column("v").to_pylist() == [1]
