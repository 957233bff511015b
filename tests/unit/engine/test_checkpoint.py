"""What a power cut leaves of Spark's files, and what a flipped bit makes of its offsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.connectors.source_log import check_offset
from thalweg.engine.checkpoint import files_of, mend
from thalweg.errors import StateError
from thalweg.state.manifest import Consumed, Manifest

BEFORE, LAST = Manifest(batch=4, consumed={"s": Consumed(6)}), Manifest(batch=5, consumed={"s": Consumed(9), "r": Consumed(0)})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """After batch 5, with batch 6 begun."""
    names = ["metadata", *(f"offsets/{b}" for b in (4, 5, 6)), *(f"commits/{b}" for b in (3, 4, 5)), "sources/r/0"]
    for name in [*names, "sources/s/6", "sources/s/7", "sources/s/8", "sources/s/9.compact", "sources/s/10"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("v1\n{}\n")
    return tmp_path


def test_the_files_of_a_batch(checkpoint: Path) -> None:
    found = {str(p.relative_to(checkpoint)) for p in files_of(checkpoint, BEFORE, LAST)}
    assert found == {"metadata", "offsets/5", "sources/s/7", "sources/s/8", "sources/s/9.compact", "sources/r/0"}


@pytest.mark.parametrize(
    ("emptied", "removed"),
    [
        ([], set()),
        (["offsets/6"], {"offsets/6"}),
        (["sources/s/10"], {"sources/s/10", "offsets/6"}),
        (["commits/5"], {"commits/5"}),
        (["commits/5", "offsets/6", "sources/s/10"], {"commits/5", "offsets/6", "sources/s/10"}),
        (["offsets/5", "sources/s/9.compact", "commits/3", "metadata"], set()),
    ],
)
@pytest.mark.parametrize("left", [b"", b"\0" * 300])
def test_only_what_spark_makes_anew_is_removed(checkpoint: Path, emptied: list[str], removed: set[str], left: bytes) -> None:
    for name in emptied:
        (checkpoint / name).write_bytes(left)
    before = set(checkpoint.rglob("*"))
    found = mend(checkpoint, LAST)
    assert {str(p.relative_to(checkpoint)) for p in found} == removed
    assert before - set(checkpoint.rglob("*")) == set(found)


@pytest.mark.parametrize("last", [9, 10])
def test_an_offset_that_the_log_has(checkpoint: Path, last: int) -> None:
    check_offset(checkpoint, 6, "s", last, LAST.consumed["s"])


@pytest.mark.parametrize("last", [8, 11, 18, 1, 90])
def test_an_offset_that_a_flipped_bit_has_made(checkpoint: Path, last: int) -> None:
    with pytest.raises(StateError, match=r"offsets/6: damaged file of Spark's checkpoint"):
        check_offset(checkpoint, 6, "s", last, LAST.consumed["s"])
