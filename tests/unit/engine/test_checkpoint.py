"""Spark's files as a batch leaves them: which are marked, which are checked, and which Spark makes anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg.connectors.source_log import check_offset
from thalweg.engine.checkpoint import check_marks, files_of, forget_uncommitted, mark, marks
from thalweg.errors import StateError
from thalweg.state.manifest import Consumed, Manifest

BEFORE, LAST = (
    Manifest(batch=4, consumed={"s": Consumed(6)}),
    Manifest(batch=5, consumed={"s": Consumed(9), "r": Consumed(0)}),
)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """After batch 5, with batch 6 begun."""
    names = [
        "metadata",
        *(f"offsets/{b}" for b in (3, 4, 5, 6)),
        *(f"commits/{b}" for b in (3, 4, 5)),
        "sources/r/0",
    ]
    for name in [*names, "sources/s/6", "sources/s/7", "sources/s/8", "sources/s/9.compact", "sources/s/10"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("v1\n{}\n")
    return tmp_path


def test_the_files_of_a_batch(checkpoint: Path) -> None:
    found = {str(p.relative_to(checkpoint)) for p in files_of(checkpoint, BEFORE, LAST)}
    assert found == {
        "metadata",
        "offsets/5",
        "commits/4",
        "sources/s/7",
        "sources/s/8",
        "sources/s/9.compact",
        "sources/r/0",
    }


def marked(checkpoint: Path) -> Manifest:
    """The last batch with the marks of what Spark would read after it."""
    known = {
        name: mark(checkpoint / name)
        for name in ("metadata", "offsets/4", "offsets/3", "commits/3", "sources/s/6")
    }
    return replace(LAST, checkpoint=marks(checkpoint, replace(BEFORE, checkpoint=known), LAST))


def test_what_spark_would_read_is_marked_and_no_more(checkpoint: Path) -> None:
    for name in ("sources/frame__0/0", "sources/frame__0/1"):
        (checkpoint / name).parent.mkdir(exist_ok=True)
        (checkpoint / name).write_text("v1\n{}\n")
    found = set(marked(checkpoint).checkpoint)
    logs = {"sources/s/9.compact", "sources/r/0", "sources/frame__0/0", "sources/frame__0/1"}
    assert found == {"metadata", "offsets/4", "offsets/5", "commits/4", *logs}
    (checkpoint / "sources/frame__0/2").write_text("v1\n{}\n")
    (checkpoint / "sources/frame__0/0").unlink()
    after = marks(checkpoint, marked(checkpoint), replace(LAST, batch=6))
    assert {n for n in after if "frame" in n} == {
        f"sources/frame__0/{i}" for i in (1, 2)
    } and "offsets/6" in after


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-1], lambda data: b"V" + data[1:], lambda data: data + b"\n"],
)
def test_damage_is_an_error_that_names_the_file(checkpoint: Path, damage: Callable[[bytes], bytes]) -> None:
    last = marked(checkpoint)
    check_marks(checkpoint, last)
    for name in last.checkpoint:
        whole = (checkpoint / name).read_bytes()
        (checkpoint / name).write_bytes(damage(whole))
        with pytest.raises(StateError, match=rf"{name}: damaged file of Spark's checkpoint") as caught:
            check_marks(checkpoint, last)
        assert "restore" in (caught.value.hint or "")
        (checkpoint / name).unlink()
        with pytest.raises(StateError, match=rf"{name}: a file of Spark's checkpoint is missing"):
            check_marks(checkpoint, last)
        (checkpoint / name).write_bytes(whole)


@pytest.mark.parametrize("ended", [b"v1\n{}\n", b"", b"\0" * 300, b"v1\n{"])
def test_only_what_spark_makes_anew_is_removed(checkpoint: Path, ended: bytes) -> None:
    """Offsets and logs of what never counted, and a note that a batch has ended if it isn't as the one before."""
    last = marked(checkpoint)
    (checkpoint / "commits/5").write_bytes(ended)
    (checkpoint / "sources/new").mkdir()
    (checkpoint / "sources/new/0").write_text("v1\n{}\n")
    (checkpoint / "sources/frame__0").mkdir()
    (checkpoint / "sources/frame__0/0").write_text("v1\n{}\n")
    before = set(checkpoint.rglob("*"))
    found = forget_uncommitted(checkpoint, last, ["s", "new"])
    removed = {"offsets/6", "sources/s/10", "sources/new/0"} | (
        {"commits/5"} if ended != b"v1\n{}\n" else set()
    )
    assert {str(p.relative_to(checkpoint)) for p in found} == removed
    assert before - set(checkpoint.rglob("*")) == set(found)


def test_before_the_first_batch_nothing_is_known(checkpoint: Path) -> None:
    forget_uncommitted(checkpoint, Manifest(), ["s", "r"])
    assert not [p for p in checkpoint.rglob("*") if p.is_file()]


@pytest.mark.parametrize("last", [9, 10])
def test_an_offset_that_the_log_has(checkpoint: Path, last: int) -> None:
    check_offset(checkpoint, 6, "s", last, LAST.consumed["s"])


@pytest.mark.parametrize("last", [8, 11, 18, 1, 90])
def test_an_offset_that_a_flipped_bit_has_made(checkpoint: Path, last: int) -> None:
    with pytest.raises(StateError, match=r"offsets/6: damaged file of Spark's checkpoint"):
        check_offset(checkpoint, 6, "s", last, LAST.consumed["s"])
