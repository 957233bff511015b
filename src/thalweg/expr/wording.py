"""Trees as people write them: Spark's SQL, with no word about how the engine computes it.

Names stand bare where they can, and parentheses only where what they hold binds less than what stands around it. But for formats of
times, which a tree has in the engine's letters, the text is a query's own: parsed, it gives the tree again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from thalweg.expr.comparisons import SYMBOLS
from thalweg.expr.nested import spark_type
from thalweg.expr.nodes import PYTHON, Call, Case, Cast, Column, Expr, Literal, Variable
from thalweg.expr.quoting import readable, spark_quoted
from thalweg.expr.types import spoken

SINGLE = 9
"""What binds so is read as one thing wherever it stands."""
_PREFIX, _COMPARED, _BESIDE = 8, 4, 3
_BINDING = {
    "OR": 1, "AND": 2, "||": 5, "|": 5, "^": 5, "&": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7, "DIV": 7,
}  # fmt: skip
_MATCHES = ("LIKE", "ILIKE", "RLIKE")
_SUFFIXES = {"TINYINT": "Y", "SMALLINT": "S", "BIGINT": "L"}
_LARGE = 2**31
_OVER_ELEMENTS = ("TRANSFORM", "FILTER", "EXISTS", "FORALL", "AGGREGATE")
_SPELLED = {
    "SHA2": "sha2({0}, 256)",
    "ARRAY_REVERSE": "reverse({0})",
    "SORT_ARRAY_DOWN": "sort_array({0}, FALSE)",
    "DATE_TRUNC": "date_trunc('{p}', {0})",
    "TIMESTAMPDIFF": "timestampdiff({p}, {0}, {1})",
    "TIMESTAMPADD": "timestampadd({p}, {0}, {1})",
    "TRIM_LEADING": "trim(LEADING {1} FROM {0})",
    "TRIM_TRAILING": "trim(TRAILING {1} FROM {0})",
    "EXTRACT_SECOND": "extract(SECOND FROM {0})",
    "DAYOFWEEK_ISO": "extract(DAYOFWEEK_ISO FROM {0})",
    "WEEK": "weekofyear({0})",
    "||": "concat({0})",
    "AT": "{0}[{1}]",
    "ELEMENT": "{0}[{1}]",
}
"""Calls that are no name with arguments, and then parameters, in parentheses."""


def worded(expr: Expr, named: Callable[[str], str] = readable) -> str:
    """An expression for people; `named` says what stands for a column.

    >>> price, two = Column("price", "BIGINT"), Literal("2", "INTEGER")
    >>> worded(Call("*", (Call("+", (price, two), "BIGINT"), two), "BIGINT"))
    '(price + 2) * 2'
    >>> worded(Call("NOT", (Call("IN", (price, two), "BOOLEAN"),), "BOOLEAN"), lambda name: f"b.{name}")
    'b.price NOT IN (2)'
    """
    return _Writer(named).said(expr).text


def conjunct(condition: Expr, named: Callable[[str], str] = readable) -> str:
    """A condition for people, as it stands beside others that must hold, too."""
    return _Writer(named).text(condition, _BESIDE)


class _Said(NamedTuple):
    """A text, and how strongly it binds."""

    text: str
    binds: int = SINGLE


@dataclass(frozen=True)
class _Writer:
    """Writes trees whose columns have names of their own."""

    named: Callable[[str], str]

    def said(self, expr: Expr) -> _Said:
        """What is said for an expression."""
        match expr:
            case Column(name):
                return _Said(self.named(name))
            case Variable(name):
                return _Said(name)
            case Literal():
                return _literal(expr)
            case Cast(arg, type_):
                return _Said(f"CAST({self.text(arg)} AS {spoken(type_)})")
            case Case():
                return _Said(self._case(expr))
            case Call():
                return self._call(expr)
        raise TypeError(f"{type(expr).__name__} is no node of a tree")

    def text(self, expr: Expr, least: int = 0) -> str:
        """An expression where all that binds less than so much stands in parentheses."""
        said = self.said(expr)
        return said.text if said.binds >= least else f"({said.text})"

    def _call(self, call: Call, negated: str = "") -> _Said:
        function, args = call.function, call.args
        if function in ("AND", "OR"):
            return _Said(f" {function} ".join(self.text(a, _BESIDE) for a in args), _BINDING[function])
        if function in _BINDING and len(args) > 1:
            return self._operator(call)
        if function == "NOT":
            return self._not(args[0])
        if function in ("NEGATE", "~"):
            return _Said(f"{'-' if function == 'NEGATE' else '~'}{self.text(args[0], SINGLE)}", _PREFIX)
        if function in (*SYMBOLS, "IN", "IS NULL", "IS NOT NULL", *_MATCHES):
            return _Said(self._condition(call, negated), _COMPARED)
        return _Said(self._named_call(call))

    def _operator(self, call: Call) -> _Said:
        """Operands from left to right; those of whom readers know no order stand in parentheses."""
        binds = _BINDING[call.function]
        first = binds + 1 if binds == _BINDING["||"] else binds
        texts = [self.text(a, binds + 1 if n else first) for n, a in enumerate(call.args)]
        return _Said(f" {call.function} ".join(texts), binds)

    def _not(self, arg: Expr) -> _Said:
        if isinstance(arg, Call) and arg.function in ("IN", *_MATCHES):
            return self._call(arg, "NOT ")
        return _Said(f"NOT {self.text(arg, _COMPARED + 1)}", _BESIDE)

    def _condition(self, call: Call, negated: str) -> str:
        this, others = self.text(call.args[0], _COMPARED + 1), call.args[1:]
        if call.function == "IN":
            return f"{this} {negated}IN ({', '.join(map(self.text, others))})"
        compared = " ".join(self.text(o, _COMPARED + 1) for o in others)
        escape = f" ESCAPE {spark_quoted(call.params[0])}" if call.params and call.params[0] != "\\" else ""
        return f"{this} {negated}{call.function} {compared}".rstrip() + escape

    def _named_call(self, call: Call) -> str:
        args = [self.text(a) for a in call.args]
        if call.function == "STRUCT":
            pairs = (t for name, a in zip(call.params, args, strict=True) for t in (spark_quoted(name), a))
            return f"named_struct({', '.join(pairs)})"
        if call.function == "FIELD":
            return f"{self.text(call.args[0], SINGLE)}.{readable(call.params[0])}"
        if call.function in _OVER_ELEMENTS:
            of = call.params[0] if len(call.params) == 1 else f"({', '.join(call.params)})"
            return f"{call.function.lower()}({', '.join(args[:-1])}, {of} -> {args[-1]})"
        if call.function == "FROM_JSON":
            return f"from_json({args[0]}, {spark_quoted(spark_type(call.type))})"
        if (spelled := _SPELLED.get(call.function)) is not None:
            return spelled.format(*args, p=_unit(call))
        if call.function == PYTHON:
            return f"{call.params[0]}({', '.join(args)})"
        return f"{call.function.lower()}({', '.join([*args, *map(spark_quoted, call.params)])})"

    def _case(self, case: Case) -> str:
        subject = "" if case.subject is None else f" {self.text(case.subject)}"
        branches = "".join(
            f" WHEN {self.text(test)} THEN {self.text(value)}" for test, value in case.branches
        )
        otherwise = "" if case.otherwise is None else f" ELSE {self.text(case.otherwise)}"
        return f"CASE{subject}{branches}{otherwise} END"


def _unit(call: Call) -> str:
    """The unit of a time, without the plural that the engine gives some."""
    word = call.params[0].removesuffix("s") if call.params else ""
    return word if call.function == "DATE_TRUNC" else word.upper()


def _literal(literal: Literal) -> _Said:
    value, type_ = literal.value, literal.type
    if value is None:
        return _Said("NULL")
    if type_ == "VARCHAR":
        return _Said(spark_quoted(value))
    if type_ in ("DATE", "TIMESTAMP", "INTERVAL"):
        return _Said(f"{type_} {spark_quoted(value)}")
    suffix = _SUFFIXES.get(type_, "") if type_ != "BIGINT" or abs(int(value)) < _LARGE else ""
    return _Said(f"{value}{suffix}", _PREFIX if value.startswith("-") else SINGLE)
