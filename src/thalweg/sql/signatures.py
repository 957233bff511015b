"""What a Python function takes and gives, as text: `BIGINT, STRING -> DOUBLE`."""

from __future__ import annotations

from thalweg.errors import UsageError
from thalweg.sql.aggregates import NAMES as AGGREGATES
from thalweg.sql.aggregates import UNSUPPORTED
from thalweg.sql.dialect import Thalweg
from thalweg.sql.functions import FUNCTIONS, NONDETERMINISTIC
from thalweg.sql.nodes import Misparse
from thalweg.sql.source import Source
from thalweg.sql.statement_syntax import NAME, NAME_HINT, StatementParser
from thalweg.sql.statements import parse_select

_WINDOWS = (
    "TUMBLE",
    "HOP",
    "CUMULATE",
    "SESSION",
    "WINDOWS",
    "GROUPING",
    "GROUPING_ID",
    "TABLE",
    "DESCRIPTOR",
    "CUBE",
    "ROLLUP",
    "LAG",
    "LEAD",
)
HINT = "write the types of its parameters and of its result, as in 'BIGINT, STRING -> DOUBLE'"


def signature_of(text: str, name: str) -> tuple[tuple[str, ...], str]:
    """The types of the parameters and of the result, by DuckDB's names.

    >>> signature_of("bigint, decimal(5,2) -> string", "f")
    (('BIGINT', 'DECIMAL(5,2)'), 'VARCHAR')
    """
    source = Source(text, f"function {name}")
    try:
        tokens = Thalweg().tokenizer().tokenize(text)
        if not tokens:
            raise UsageError(f"function {name}: it has no types", HINT)
        return StatementParser(dialect=Thalweg).parse_signature(tokens, text)
    except Misparse as error:
        raise source.error(error.message, error.span, error.hint or HINT) from None


def check_function_name(name: str) -> None:
    """Refuse a name that queries could not call, or that means something else already."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(f"{name!r} can't be the name of a function", NAME_HINT)
    if name.upper() in FUNCTIONS or name.upper() in {*AGGREGATES, *UNSUPPORTED, *NONDETERMINISTIC, *_WINDOWS}:
        raise UsageError(f"{name} is a function of SQL already", "use another name")
    found = _selected(name)
    if type(found).__name__ != "Anonymous":
        raise UsageError(f"{name} means something else in SQL", "use another name")


def _selected(name: str) -> object:
    """What stands in a SELECT that calls a name."""
    try:
        return parse_select(f"SELECT {name}(x) FROM s").node.selects[0]
    except Exception:
        return None
