"""Types of expressions: by rules where these are simple, else asked of the engine, once for all calls of the same types.

Of a constant only the types that it fits count for the type of a call, so that queries that differ in constants ask no new questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from thalweg.expr.comparisons import SYMBOLS
from thalweg.expr.nested import plain_type
from thalweg.expr.nodes import NULL, Call, Case, Column, Expr, Literal, is_text
from thalweg.expr.normal import folded, operands
from thalweg.expr.python import Function
from thalweg.expr.types import INTEGERS, WHOLE_DIGITS, family, is_numeric

Infer = Callable[[str, Mapping[str, str]], str]
"""The DuckDB type of a DuckDB expression over columns (name to type), or an InferenceError."""

_CONDITIONS = frozenset({"AND", "OR", "NOT", "IS NULL", "IS NOT NULL"})
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")


class InferenceError(ValueError):
    """An expression that the engine can't type: no such function for these arguments, a comparison of unlike types."""


@dataclass(frozen=True)
class Typing:
    """Builds typed calls; what the engine answered is remembered."""

    ask: Infer
    known: dict[object, str] = field(default_factory=dict, compare=False)
    functions: Mapping[str, Function] = field(default_factory=dict, compare=False)

    def function(self, name: str) -> Function | None:
        """The Python function of a name, however that is written."""
        return next((f for f in self.functions.values() if f.name.lower() == name.lower()), None)

    def call(self, function: str, *args: Expr, params: tuple[str, ...] = ()) -> Expr:
        """A call of a function or operator, with its type."""
        given = operands(function, *args) if len(args) == 2 else args
        made = Call(function, given, "", params)
        return folded(Call(function, given, self._type(made), params))

    def case(
        self,
        branches: Iterable[tuple[Expr, Expr]],
        otherwise: Expr | None = None,
        subject: Expr | None = None,
    ) -> Expr:
        """A choice, with its type."""
        made = Case(tuple(branches), "", otherwise, subject)
        return Case(made.branches, self.mixed(made.values), otherwise, subject)

    def mixed(self, values: Iterable[Expr]) -> str:
        """The type of a column of several values."""
        return self._type(Call("COALESCE", tuple(values), ""))

    def answer(self, key: object, sql: Callable[[], tuple[str, Mapping[str, str]]]) -> str:
        """The engine's answer to a question that has a key."""
        if key not in self.known:
            self.known[key] = plain_type(self.ask(*sql()))
        return self.known[key]

    def _type(self, call: Call) -> str:
        ruled = rule(call)
        if ruled is not None:
            return ruled
        asked = Call(
            call.function, tuple(_alike(n, a, call) for n, a in enumerate(call.args)), "", call.params
        )
        columns = {a.name: a.type for a in asked.args if isinstance(a, Column)}
        return self.answer(asked, lambda: (asked.sql, columns))


@cache
def typing_by(infer: Infer) -> Typing:
    """The typing that asks a function; one for each, so that answers are remembered from query to query."""
    return Typing(infer)


def rule(call: Call) -> str | None:
    """The type of a call, where the engine need not be asked."""
    function, types = call.function, [a.type for a in call.args]
    if function in _CONDITIONS or function in SYMBOLS or function == "IN":
        return "BOOLEAN" if (function not in SYMBOLS and function != "IN") or _comparable(call.args) else None
    if function in ("LIKE", "ILIKE", "RLIKE"):
        return "BOOLEAN" if types == ["VARCHAR", "VARCHAR"] and function != "RLIKE" else None
    if function in ("+", "-", "*", "%") and all(t in _SIGNED for t in types):
        return _widest(call.args)
    if function in ("+", "-", "*") and "DOUBLE" in types and all(is_numeric(t) for t in types):
        return "DOUBLE"
    if function == "/" and all(t in _SIGNED or t == "DOUBLE" for t in types):
        return "DOUBLE"
    if (
        function == "COALESCE"
        and len({*types} - {NULL}) == 1
        and not any(isinstance(a, Literal) for a in call.args)
    ):
        return next(t for t in types if t != NULL)
    return "VARCHAR" if function == "COALESCE" and {*types} == {"VARCHAR"} else None


def _comparable(args: tuple[Expr, ...]) -> bool:
    """Whether values are of one family, a string or NULL aside."""
    return len({family(a.type) for a in args if a.type != NULL and not is_text(a)}) <= 1


def _widest(args: tuple[Expr, ...]) -> str:
    return max((a.type for a in args), key=WHOLE_DIGITS.__getitem__)


_SIZES = (1, 200, 1_000, 40_000, 100_000, 10**12)


def _alike(number: int, arg: Expr, call: Call) -> Expr:
    """What stands for an argument in the question about a call: for a whole constant one that fits the same types."""
    if not isinstance(arg, Literal):
        return Column(f"x{number}", arg.type)
    if arg.value is None or arg.type == "VARCHAR" or call.function in ("ROUND", "BROUND"):
        return arg
    if arg.type in INTEGERS:
        value = abs(int(arg.value))
        size = next((s for s, most in zip(_SIZES, _MOST, strict=True) if value <= most), value)
        return Literal(f"{'-' if arg.value.startswith('-') else ''}{size}", arg.type)
    return Column(f"x{number}", arg.type)


_MOST = (127, 255, 2**15 - 1, 2**16 - 1, 2**31 - 1, 2**63 - 1)
