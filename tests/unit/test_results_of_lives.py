"""Results of queries of one name that wrote to one directory, one after another: each has those of its own batches."""

from __future__ import annotations

from pathlib import Path

from thalweg.api.results import files_of, others_of
from thalweg.connectors.shared import batch_of
from thalweg.state.lives import Life


def test_each_life_has_its_own_batches(tmp_path: Path) -> None:
    for batch in range(8):
        (tmp_path / f"batch-{batch:012d}-00000-00000000.parquet").touch()
    first = Life("q", 1, {}, str(tmp_path), (), ended=3)
    second = Life("q", 5, {}, str(tmp_path), ())
    elsewhere = Life("q", 3, {}, str(tmp_path / "q-v2"), (), ended=5)
    lives = (first, elsewhere, second)

    def batches(life: Life | None) -> list[int]:
        files = files_of(str(tmp_path), None, life, others_of(life, lives))
        return [batch_of(f.path) for f in files]

    assert batches(second) == [0, 3, 4, 5, 6, 7], "what is of no life may be of a history that was read again"
    assert batches(first) == [0, 1, 2, 3, 4]
    assert batches(None) == list(range(8))
