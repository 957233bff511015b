"""Threads work in databases of their own: what one calls a table is nobody else's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from thalweg.engine.kernel.connection import Tables, connection, query


def summed(number: int) -> list[int]:
    """The same statement over a table of the same name, many times, with other rows each."""
    found = []
    with Tables() as tables:
        for i in range(50):
            tables.offer("chunk", pa.table({"v": [number, i]}))
            found.append(query('SELECT sum(v)::BIGINT AS s FROM "chunk"')["s"][0].as_py())
    return found


def test_threads_give_the_same_names_to_other_tables() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(summed, range(8))) == [[n + i for i in range(50)] for n in range(8)]


def test_a_connection_ends_with_its_thread() -> None:
    opened = []
    thread = threading.Thread(target=lambda: opened.append((connection(), connection())))
    thread.start()
    thread.join()
    (first, second), mine = opened[0], connection()
    assert first is second and first is not mine
