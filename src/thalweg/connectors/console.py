"""Queries INTO 'console': their results are kept as Parquet in the session's directory, and new rows are given to whoever prints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from thalweg.connectors.parquet import read_file
from thalweg.model.query import Query
from thalweg.model.target import Console


def new_rows(query: Query, published: Iterable[tuple[str, str]]) -> pa.Table | None:
    """What a batch has published of a query, where it is to be printed; `published` are queries and files."""
    files = [Path(path) for owner, path in published if owner == query.name]
    return pa.concat_tables(map(read_file, files)) if files and isinstance(query.into, Console) else None
