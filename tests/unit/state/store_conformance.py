"""What every store must do: a class of tests to be subclassed with a fixture `store` (and `other`, the same store opened again)."""

from __future__ import annotations

import threading

import pytest

from thalweg.state.store import Missing, Store, Taken


class StoreConformance:
    """Subclass it as `TestX`, with fixtures `store` and `other`: two ways to one empty store."""

    def test_what_was_put_is_got(self, store: Store, other: Store) -> None:
        store.put("a", b"one")
        store.put("b", b"", flush=False)
        assert store.get("a").to_pybytes() == other.get("a").to_pybytes() == b"one"
        assert other.get("b").to_pybytes() == b""

    def test_a_name_is_put_once(self, store: Store, other: Store) -> None:
        store.put("a", b"one")
        with pytest.raises(Taken):
            other.put("a", b"two")
        assert store.get("a").to_pybytes() == b"one"

    def test_of_many_that_put_one_name_one_wins(self, store: Store, other: Store) -> None:
        won: list[int] = []

        def put(number: int) -> None:
            try:
                (store, other)[number % 2].put("a", str(number).encode() * 1000)
            except Taken:
                return
            won.append(number)

        threads = [threading.Thread(target=put, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert store.get("a").to_pybytes() == str(won[0]).encode() * 1000

    def test_names_are_listed_in_order(self, store: Store, other: Store) -> None:
        assert store.list() == []
        for name in ("b", "a", "c.json"):
            store.put(name, b"x")
        assert other.list() == ["a", "b", "c.json"]

    def test_what_is_deleted_is_gone(self, store: Store, other: Store) -> None:
        store.put("a", b"one")
        other.delete("a")
        other.delete("a")
        assert store.list() == []
        with pytest.raises(Missing):
            store.get("a")
        store.put("a", b"two")
        assert other.get("a").to_pybytes() == b"two"

    def test_what_was_got_stays_when_it_is_deleted(self, store: Store, other: Store) -> None:
        store.put("a", b"one" * 100_000)
        got = store.get("a")
        other.delete("a")
        assert got.to_pybytes() == b"one" * 100_000

    def test_flushing_and_tidying_change_nothing_that_is_seen(self, store: Store, other: Store) -> None:
        store.put("a", b"one", flush=False)
        store.flush(["a"])
        store.flush([])
        store.tidy()
        assert other.list() == ["a"] and other.get("a").to_pybytes() == b"one"
