"""The DuckDB connection of a thread."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa

from thalweg.connectors.reading.naming import alias, as_pattern
from thalweg.errors import StateError
from thalweg.expr.quoting import identifier, quoted

# What the plan decides, DuckDB does not decide again: whether to aggregate before a join, which inputs meet first, which is kept.
OURS = "partial_aggregate_pushdown,join_order,build_side_probe_side"
HASH = f"duckdb-{duckdb.__version__}"


LOCKED = {
    "threads": 1,
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
"""Tasks are the parallelism; nothing is fetched, loaded or found in a caller's variables."""


@dataclass(frozen=True)
class Reach:
    """What a connection may touch on disk: files at or below `roots`, and a folder of its own below `spill` for what memory can't hold."""

    roots: tuple[str, ...] = ()
    spill: str | None = None

    def __post_init__(self) -> None:
        plain = [_plain(r) for r in self.roots]
        object.__setattr__(self, "roots", tuple(dict.fromkeys([*plain, *map(os.path.realpath, plain)])))

    def holds(self, path: str) -> bool:
        """Whether a path lies at or below a root, by its name."""
        plain = _plain(path)
        return any(plain == r or plain.startswith(r.rstrip("/") + "/") for r in self.roots)


def _plain(path: str) -> str:
    return os.path.normpath(Path(path).absolute())


class Database:
    """A connection until it is closed, at the latest with the process; nobody else keeps it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.functions: set[str] = set()
        _OPEN.add(self)

    def close(self) -> None:
        """Let it go."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()


# What is open in any thread: closed when the process ends, since a thread that still waits then keeps what it has.
_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for database in list(_OPEN):
        database.close()


class _Own(threading.local):
    """What belongs to a thread: its connection, what that may touch, and how functions that it knows are created in it."""

    reach = Reach()
    linked: frozenset[str] = frozenset()
    database: Database | None = None
    functions: Mapping[str, Callable[[Any], None]] = MappingProxyType({})


_OWN = _Own()


def connection() -> Any:
    """The connection of this thread, with one thread of work: Spark's tasks are the parallelism.

    Each is a database of its own, so the names that one thread gives to tables are unknown to all others. It is closed with its thread,
    or with the process; a worker process of Spark has one thread.
    """
    if _OWN.database is None:
        _OWN.database = Database(open_connection(_OWN.reach, _OWN.linked))
    database = _OWN.database
    for name in _OWN.functions.keys() - database.functions:
        _OWN.functions[name](database.connection)
        database.functions.add(name)
    return database.connection


def permit(reach: Reach) -> None:
    """From now on the connection of this thread may touch this and no more."""
    if reach != _OWN.reach:
        _OWN.reach, _OWN.linked = reach, frozenset()
        renew()


def know(functions: Mapping[str, Callable[[Any], None]]) -> None:
    """From now on the connection of this thread knows these functions, each by what creates it there; also one that is opened later."""
    _OWN.functions = functions


def renew() -> None:
    """Have another connection opened: what one may touch is settled when it is, and one may be lost."""
    if _OWN.database is not None:
        _OWN.database.close()
    _OWN.database = None


# That rows are copied is known. Filters are the whole process's: one that is there for a call would take those of other threads along.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
LONG = 1_500
"""Characters of a statement from which on it takes longer to bind it twice than to copy its result."""


def check_declared(paths: Iterable[str]) -> None:
    """Refuse paths that nothing of the session declares, whoever names them."""
    strange = next((path for path in paths if not _OWN.reach.holds(path)), None)
    if strange is not None:
        hint = (
            "the plan is not this session's: restore its directory from a copy, or start anew in another one"
        )
        raise StateError(f"{strange}: no stream or table of the session is read from there", hint)


def check_reach(paths: Sequence[str]) -> None:
    """Refuse files that nothing declares; those that are links to elsewhere may be read there."""
    check_declared(paths)
    linked = links_of(_OWN.reach.roots, paths) - _OWN.linked
    if linked:
        _OWN.linked |= linked
        renew()


def links_of(roots: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """The folders outside of the roots to which links among the files lead."""
    real = Reach(tuple(os.path.realpath(r) for r in roots))
    return frozenset(str(Path(p).parent) for p in map(os.path.realpath, paths) if not real.holds(p))


def open_connection(reach: Reach = Reach(), linked: Iterable[str] = ()) -> Any:
    """A connection as tasks use it. What it may touch is settled here: no statement can change it afterwards."""
    con = duckdb.connect(config=LOCKED)
    real = map(os.path.realpath, (*reach.roots, *linked))
    roots = _texts(name for root in real for name in _names(root))
    for statement in (
        "SET enable_progress_bar = false",
        "SET TimeZone = 'UTC'",
        f"SET disabled_optimizers = '{OURS}'",
        f"SET allowed_directories = {roots}",
        f"SET allowed_paths = {roots}",
        f"SET temp_directory = {quoted(_spill(reach.spill))}",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        con.execute(statement).fetchall()
    return con


def _names(root: str) -> list[str]:
    """What DuckDB must be told so that all in a folder is within reach: it takes a backslash for a slash unless a link leads there."""
    return [root, as_pattern(root), *([alias(root)] if "\\" in root else [])]


def _spill(folder: str | None) -> str:
    """A folder that no other connection uses: DuckDB names its files the same in every process."""
    if folder is None:
        return ""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return str(Path(folder) / f"{os.getpid()}-{uuid4().hex[:8]}")


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(quoted, values))}]"


def run(sql: str) -> list[tuple[Any, ...]]:
    """Run a statement to its end and take its few rows."""
    rows: list[tuple[Any, ...]] = connection().execute(sql).fetchall()
    return rows


def query(sql: str, params: Mapping[str, int] | None = None) -> pa.Table:
    """Run a statement and take its result as Arrow.

    A relation gives it without a copy, but has the statement bound twice, which takes longer where it is long.
    """
    con = connection()
    if len(sql) > LONG:
        return con.execute(sql, dict(params or {})).to_arrow_table()
    relation = con.sql(sql, params=dict(params)) if params else con.sql(sql)
    return relation.to_arrow_table()


def keep(name: str, table: pa.Table) -> None:
    """Make a table of the connection's own, which knows how its values are spread, in the place of another of its name."""
    with Tables() as tables:
        tables.offer("kept", table)
        run(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS SELECT * FROM kept")


class Tables:
    """Arrow tables that statements may name, with their columns, until the block ends."""

    def __init__(self) -> None:
        self.columns: dict[str, set[str]] = {}
        self.held: dict[str, pa.Table] = {}

    def offer(self, name: str, table: pa.Table) -> None:
        """Give a table a name, in the place of another that had it."""
        connection().register(name, table)
        self.columns[name], self.held[name] = set(table.column_names), table

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.columns:
            connection().unregister(name)


def clean_message(error: Exception) -> str:
    """The first line of an engine error without its class prefix; of a bad line of a CSV file also what is wrong with it."""
    lines = str(error).splitlines()
    head, _, rest = lines[0].partition(": ")
    said = (rest if rest and head.endswith("Error") else lines[0]).strip()
    if not said.startswith("CSV Error on Line"):
        return said
    reasons = [
        line.strip().rstrip(".")
        for line in lines[1:]
        if line.strip() and not line.startswith(("Original Line", "Possible", "*"))
    ]
    return ", ".join([said.replace("CSV Error on Line:", "line"), *reasons[:1]])
