"""The store on a local directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_conformance import StoreConformance

from thalweg.errors import EnvironmentProblem
from thalweg.state.local import UNFINISHED, LocalStore


class TestLocalStore(StoreConformance):
    """A directory keeps what a store must."""

    @pytest.fixture(params=[True, False], ids=["durable", "not-durable"])
    def store(self, tmp_path: Path, request: pytest.FixtureRequest) -> LocalStore:
        return LocalStore(tmp_path, request.param)

    @pytest.fixture
    def other(self, tmp_path: Path) -> LocalStore:
        return LocalStore(tmp_path)


def test_what_a_crash_left_is_not_seen_and_goes(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    (tmp_path / f"{UNFINISHED}1").write_bytes(b"half")
    store.put("a", b"one")
    assert store.list() == ["a"]
    store.tidy()
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(EnvironmentProblem, match="x/a: not a directory"):
        LocalStore(tmp_path / "x").put("a", b"")
