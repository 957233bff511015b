"""Python functions in the database of a task: called with Arrow arrays, and whatever goes wrong in one is told when the task ends.

What a function raises does not go through the database, which would take it for a value that can't be computed (`TRY`): it gives NULLs
from then on, and the batch fails with what it raised first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg.api.results import arrow_type
from thalweg.engine.functions.packing import Head, unpacked
from thalweg.engine.kernel.connection import know
from thalweg.errors import FunctionError
from thalweg.expr.python import known_as

Called = Callable[..., pa.Array]
Digests = Mapping[str, str]
_KINDS: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("number", lambda t: pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t)),
    ("text", lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t)),
    ("time", pa.types.is_temporal),
    ("boolean", pa.types.is_boolean),
    ("nested", pa.types.is_nested),
)
LONG = 1_000
"""Characters of an exception's words that are told."""


class _Raised(threading.local):
    """The first thing that a function of this thread's task raised, and which function."""

    error: FunctionError | None = None
    function: str = ""


_RAISED = _Raised()


def forget_raised() -> None:
    """Begin a task, in which no function has raised anything."""
    _RAISED.error, _RAISED.function = None, ""


def raised() -> tuple[FunctionError, str] | None:
    """What a function of this task raised, and the function as the database knows it."""
    return None if _RAISED.error is None else (_RAISED.error, _RAISED.function)


def offer(functions: Digests, folder: Path) -> None:
    """Have the database of this thread know the functions of a task, which lie in a folder under their digests."""
    forget_raised()
    know({known: partial(_create, known, digest, folder) for known, digest in functions.items()})


def _create(known: str, digest: str, folder: Path, connection: Any) -> None:
    head, called = loaded(str(folder / digest), digest)
    connection.create_function(
        known,
        called,
        list(head.parameters),
        head.result,
        type="arrow",
        null_handling="special",
        side_effects=False,
    )


@lru_cache(maxsize=256)
def loaded(path: str, digest: str) -> tuple[Head, Called]:
    """The function of a file, as the database calls it; read once in a process."""
    head, function = unpacked(Path(path), digest)
    return head, _guarded(head, function, known_as(head.name, digest))


def _guarded(head: Head, function: Callable[..., Any], known: str) -> Called:
    """A function that gives an array of the declared type and length, whatever becomes of it."""
    to = arrow_type(head.result)

    def called(*columns: pa.ChunkedArray) -> pa.Array:
        rows = len(columns[0])
        if _RAISED.error is not None:
            return pa.nulls(rows, to)
        try:
            return _checked(function(*(_array(c) for c in columns)), rows, to)
        except BaseException as e:  # one that means to end the process fails the query too
            _RAISED.error, _RAISED.function = FunctionError(f"function {head.name}: {_last_line(e)}"), known
            return pa.nulls(rows, to)

    # The database asks how many columns it takes.
    called.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(f"x{i}", Parameter.POSITIONAL_ONLY) for i in range(len(head.parameters))]
    )
    return called


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _checked(given: Any, rows: int, to: pa.DataType) -> pa.Array:
    """What a function gave, as an array of its type, if it is of that kind and has a value for each row."""
    if given is None or isinstance(given, pa.Scalar | str | bytes):
        raise TypeError(f"it gave a {type(given).__name__}, not an array with a value for each row")
    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks()
    made = (
        _converted(given, to)
        if isinstance(given, pa.Array)
        else pa.array(given, to, from_pandas=_is_pandas(given))
    )
    if len(made) != rows:
        raise ValueError(f"it gave {len(made):,} values for {rows:,} rows")
    return made


def _is_pandas(given: Any) -> bool:
    return type(given).__module__.partition(".")[0] == "pandas"


def _converted(made: pa.Array, to: pa.DataType) -> pa.Array:
    """Values in the declared type, where that loses nothing."""
    if made.type == to:
        return made
    if not pa.types.is_null(made.type) and _kind(made.type) != _kind(to):
        raise TypeError(f"it gave {made.type} values, not {to}")
    return made.cast(to)


def _kind(type_: pa.DataType) -> str:
    return next((name for name, holds in _KINDS if holds(type_)), str(type_))


def _last_line(error: BaseException) -> str:
    """The line that ends a traceback, as text that can be kept."""
    try:
        said = str(error).strip().splitlines()
    except BaseException:
        said = ["it can't say what is wrong"]
    line = f"{type(error).__name__}: {said[0].strip()[:LONG]}" if said else type(error).__name__
    return line.encode("utf-8", "backslashreplace").decode()
