"""The files of Python functions, each under its digest. They stay as long as the directory: plans name them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from thalweg.state.directory import PRIVATE
from thalweg.state.local import LocalStore
from thalweg.state.store import Taken


class FunctionFiles:
    """Files that were made, `waiting` for a directory. They are in it before anything there says that they are."""

    def __init__(self) -> None:
        self.waiting: dict[str, bytes] = {}

    def write(self, folder: Path, durable: bool) -> None:
        """Put them into their folder; what is there already is the same."""
        store = LocalStore(folder, durable)
        for digest, data in list(self.waiting.items()):
            folder.mkdir(exist_ok=True, mode=PRIVATE)
            with suppress(Taken):
                store.put(digest, data)
            del self.waiting[digest]
