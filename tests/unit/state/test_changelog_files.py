"""The files of what a session was told: chained, checked, and few."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thalweg.errors import StateError, UsageError
from thalweg.model.recorded import Recorded
from thalweg.model.stream import Column, Stream
from thalweg.state.changelog import CHANGES, Changelog
from thalweg.state.local import LocalStore

S = Stream("s", (Column("at", "TIMESTAMP"),), "at", options=(("a", "b"),))


def opened(root: Path) -> Changelog:
    found = Changelog(LocalStore(root))
    found.read()
    return found


def told(count: int) -> Recorded:
    """Settings that come and go: of the last three, and the stream."""
    return Recorded({"s": S}, settings={f"k{i}": str(i) for i in range(max(0, count - 3), count)})


def test_what_was_written_is_read(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for number in range(5 * CHANGES):
        log.append(told(number + 1))
        again = opened(tmp_path)
        assert again.last == log.last and again.last.number == number
        assert len(list(tmp_path.iterdir())) <= CHANGES + 1
    assert list(log.last.recorded.settings) == ["k157", "k158", "k159"]


def test_many_restarts_leave_few_files(tmp_path: Path) -> None:
    for number in range(4 * CHANGES):
        log = opened(tmp_path)
        log.append(told(number + 1))
    assert len(list(tmp_path.iterdir())) <= CHANGES + 1 and opened(tmp_path).last.recorded == told(
        4 * CHANGES
    )


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(Recorded())
    assert not list(tmp_path.iterdir())
    log.append(told(1))
    log.append(told(1))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("how", ["flipped", "cut", "lost", "swapped"])
def test_damage_is_named(how: str, tmp_path: Path) -> None:
    log = opened(tmp_path)
    for number in range(4):
        log.append(told(number + 1))
    path = tmp_path / "000000000002.json"
    if how == "lost":
        path.unlink()
        path = tmp_path / "000000000003.json"
    elif how == "swapped":
        path.write_bytes((tmp_path / "000000000001.json").read_bytes())
    else:
        text = path.read_bytes()
        path.write_bytes(text[:-10] if how == "cut" else text.replace(b'"k2"', b'"k7"', 1))
    with pytest.raises(StateError, match=path.name):
        opened(tmp_path)


def test_two_who_write(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    first.append(told(1))
    with pytest.raises(StateError, match="by another process"):
        second.append(told(2))
    with pytest.raises(UsageError, match="another process has changed"):
        second.check_last()
    first.check_last()


def test_bodies_are_plain_json(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(told(1))
    body = json.loads((tmp_path / "000000000000.json").read_text().splitlines()[1])
    assert body["$"] == "RecordedChange" and body["made"]["settings"]["values"] == [["k0", "0"]]
