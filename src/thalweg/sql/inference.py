"""Types of expressions, asked of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thalweg.sql import literals
from thalweg.sql.types import INTEGERS, is_numeric

Infer = Callable[[str, Mapping[str, str]], str]
"""The DuckDB type of a DuckDB expression over columns (name to type), or an InferenceError."""

NULL = '"NULL"'
UNLIKE = "CAST values to the types that are meant"


class InferenceError(ValueError):
    """An expression that the engine can't type: no such function for these arguments, a comparison of unlike types."""


def remembered(infer: Infer) -> Infer:
    """The same, asking once for each expression and scope, and not at all for a column."""
    known: dict[tuple[str, frozenset[tuple[str, str]]], str] = {}

    def ask(sql: str, columns: Mapping[str, str]) -> str:
        if sql[1:-1] in columns and sql == literals.name(sql[1:-1]):
            return columns[sql[1:-1]]
        key = (sql, frozenset(columns.items()))
        if key not in known:
            known[key] = infer(sql, columns)
        return known[key]

    return ask


def one_line(error: InferenceError) -> str:
    """The engine's message without its heading, its listing of candidates and its drawing of the place.

    >>> one_line(InferenceError("Binder Error: No function matches '+(VARCHAR, INTEGER)'. Add casts.\\n\\tCandidates: ..."))
    "no function matches '+(VARCHAR, INTEGER)'"
    """
    line = (str(error).strip().splitlines() or ["can't be typed"])[0]
    head, colon, rest = line.partition(" Error: ")
    text = rest if colon and head.replace(" ", "").isalpha() else line
    sentence = text.partition(". ")[0]
    return (sentence[:1].lower() + sentence[1:]).rstrip(".! ")


def family(type_: str) -> str:
    """The family of types within which values compare and mix: number, text, time, or the type itself."""
    if is_numeric(type_):
        return "number"
    if type_ in ("DATE", "TIMESTAMP"):
        return "time"
    return "text" if type_ == "VARCHAR" else type_


def is_integer(type_: str) -> bool:
    """Whether a type is of whole numbers."""
    return type_ in INTEGERS
