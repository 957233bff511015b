"""Calls of scalar functions whose trees depend on their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from thalweg.expr.nodes import Call, Expr, Literal, is_text
from thalweg.expr.normal import compared
from thalweg.expr.types import is_integer
from thalweg.expr.typing import InferenceError
from thalweg.sql.builder import Builder, is_string, unwrapped
from thalweg.sql.expressions import converted, joined
from thalweg.sql.source import one_line, suggestion
from thalweg.sql.time_formats import TimeFormatError, strftime_format

TIME_PARTS = {
    "YEAR": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "WEEK": "WEEK", "WEEKOFYEAR": "WEEK",
    "DAY": "DAY", "DAYOFMONTH": "DAY", "DAYOFYEAR": "DAYOFYEAR", "DOY": "DAYOFYEAR",
    "DAYOFWEEK": "DAYOFWEEK", "DOW": "DAYOFWEEK", "DAYOFWEEK_ISO": "DAYOFWEEK_ISO",
    "WEEKDAY": "WEEKDAY", "HOUR": "HOUR", "MINUTE": "MINUTE", "SECOND": "EXTRACT_SECOND",
}  # fmt: skip
TRUNCATIONS = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MON": "month", "MM": "month",
    "WEEK": "week", "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
    "MILLISECOND": "milliseconds", "MICROSECOND": "microseconds",
}  # fmt: skip
_FIRST, _GROUPS = Literal("1", "INTEGER"), frozenset("0123456789")


@dataclass(frozen=True)
class CallNode:
    """A call that is being built."""

    builder: Builder
    node: exp.Expr
    name: str
    args: Sequence[exp.Expr]

    @property
    def trees(self) -> tuple[Expr, ...]:
        """The arguments."""
        return tuple(map(self.builder.tree, self.args))

    def of(self, function: str, *args: Expr, params: tuple[str, ...] = ()) -> Expr:
        """A call of some function, in this one's place."""
        return self.builder.call(self.node, function, *args, params=params)

    def cast(self, index: int, to: str) -> Expr:
        """An argument as a value of another type."""
        return converted(self.builder, self.args[index], to)

    def text(self, index: int, what: str) -> str:
        """The value of an argument that must be a string literal."""
        if not is_string(self.args[index]):
            said = f"{what} of {self.name} must be a constant string"
            raise self.builder.source.at(
                self.args[index], said, "write it in quotes: it is the same for all rows"
            )
        return unwrapped(self.args[index]).name


Special = Callable[[CallNode], Expr]


def alike(function: str, least: int, what: str = "mix") -> Special:
    """A call of values that must be of like types."""

    def build(call: CallNode) -> Expr:
        if len(call.args) < least:
            said = f"{call.name} takes at least {least} arguments"
            raise call.builder.source.at(
                call.node, said, "give more; thalweg help functions lists what there is"
            )
        return call.of(function, *call.builder.alike(call.args, what))

    return build


def at_least(function: str, least: int) -> Special:
    """A call of any values, some at least."""

    def build(call: CallNode) -> Expr:
        if len(call.args) < least:
            said = f"{call.name} takes at least {least} arguments"
            raise call.builder.source.at(
                call.node, said, "give more; thalweg help functions lists what there is"
            )
        return call.of(function, *call.trees)

    return build


def concat(call: CallNode) -> Expr:
    return joined(call.builder, call.node, list(call.trees))


def choice(call: CallNode) -> Expr:
    return call.of("NVL2", call.trees[0], *call.builder.alike(call.args[1:], "mix"))


def cast(to: str, function: str | None = None) -> Special:
    """A cast, or a function of it."""
    return lambda call: call.cast(0, to) if function is None else call.of(function, call.cast(0, to))


def with_numbers(function: str) -> Special:
    """A call whose arguments must be no strings."""
    return lambda call: call.of(function, *call.builder.numbers(call.args, call.name))


def is_null(function: str) -> Special:
    return lambda call: Call(function, call.trees, "BOOLEAN")


def equal_null(call: CallNode) -> Expr:
    return compared("IS NOT DISTINCT FROM", *call.builder.alike(call.args, "compare"))


def date_trunc(call: CallNode) -> Expr:
    return _truncated(call, "DATE_TRUNC", 0, 1)


def trunc(call: CallNode) -> Expr:
    return _truncated(call, "TRUNC", 1, 0)


def _truncated(call: CallNode, function: str, unit: int, value: int) -> Expr:
    word = call.text(unit, "the unit")
    if word.upper() not in TRUNCATIONS:
        hint = suggestion(word, TRUNCATIONS, "units are")
        raise call.builder.source.at(call.args[unit], f"unknown unit {word!r} of {call.name}", hint)
    return call.of(function, call.trees[value], params=(TRUNCATIONS[word.upper()],))


def date_part(call: CallNode) -> Expr:
    return time_part(call.builder, call.args[0], call.text(0, "the field"), call.args[1])


def time_part(builder: Builder, field: exp.Expr, word: str, value: exp.Expr) -> Expr:
    """A field of a time."""
    upper = word.upper()
    function = TIME_PARTS.get(upper) or TIME_PARTS.get(upper.removesuffix("S"))
    if function is None:
        raise builder.source.at(field, f"unknown field {word}", suggestion(word, TIME_PARTS, "fields are"))
    return builder.call(field, function, builder.tree(value))


def formatted(function: str) -> Special:
    """A function of a value and a constant format."""

    def build(call: CallNode) -> Expr:
        try:
            pattern = strftime_format(call.text(1, "the format"))
        except TimeFormatError as error:
            raise call.builder.source.at(
                call.args[1], str(error), "write a format such as 'yyyy-MM-dd HH:mm:ss'"
            ) from None
        return call.of(function, call.trees[0], params=(pattern,))

    return build


def shifted(function: str) -> Special:
    """A date and a whole number."""

    def build(call: CallNode) -> Expr:
        need_integer(call, 1)
        return call.of(function, call.cast(0, "DATE"), call.trees[1])

    return build


def day_difference(call: CallNode) -> Expr:
    return (
        unit_difference(call)
        if len(call.args) == 3
        else call.of("DATEDIFF", call.cast(0, "DATE"), call.cast(1, "DATE"))
    )


def unit_difference(call: CallNode) -> Expr:
    return call.of(
        "TIMESTAMPDIFF", call.cast(1, "TIMESTAMP"), call.cast(2, "TIMESTAMP"), params=(_unit(call),)
    )


def unit_sum(call: CallNode) -> Expr:
    need_integer(call, 1)
    many, time = map(call.builder.tree, call.args[1:])
    return call.of("TIMESTAMPADD", many, time, params=(_unit(call),))


def _unit(call: CallNode) -> str:
    unit = call.args[0]
    word = unit.name if isinstance(unit, exp.Column | exp.Literal | exp.Var) else ""
    if word.upper().removesuffix("S") not in TRUNCATIONS:
        raise call.builder.source.at(
            unit, f"{call.name} takes a unit of time first", f"write {call.name}(MINUTE, ...)"
        )
    return TRUNCATIONS[word.upper().removesuffix("S")]


def with_integers(function: str, *positions: int, default: Expr | None = None) -> Special:
    """A call whose arguments at some positions must be whole numbers; `default` is the last argument where it is left out."""

    def build(call: CallNode) -> Expr:
        for position in positions:
            if position < len(call.args):
                need_integer(call, position)
        more = () if default is None or len(call.args) > 2 else (default,)
        return call.of(function, *call.trees, *more)

    return build


def need_integer(call: CallNode, index: int) -> None:
    """Refuse an argument that is no whole number."""
    type_ = call.builder.type(call.args[index])
    if not is_integer(type_):
        raise call.builder.source.at(
            call.args[index], f"{call.name} takes a whole number here, not {type_}", "CAST it to INT"
        )


def regexp_replace(call: CallNode) -> Expr:
    if "$" in (replacement := call.text(2, "the replacement")) or "\\" in replacement:
        hint = "take a group with regexp_extract"
        raise call.builder.source.at(
            call.args[2], "group references in a replacement are not supported", hint
        )
    _check_pattern(call)
    return call.of("REGEXP_REPLACE", *call.trees)


def regexp_extract(call: CallNode) -> Expr:
    """A group of what a pattern finds; the first one where none is named."""
    text, pattern, *more = call.trees
    group = more[0] if more else _FIRST
    if not (isinstance(group, Literal) and group.value in _GROUPS):
        at, hint = call.args[2], "write a number; 0 is all that the pattern finds"
        raise call.builder.source.at(at, "REGEXP_EXTRACT takes the number of a group from 0 to 9 here", hint)
    _check_pattern(call)
    return call.of("REGEXP_EXTRACT", text, pattern, group)


def _check_pattern(call: CallNode) -> None:
    """Refuse a constant that is no regular expression: the engine would stop at it."""
    pattern = call.trees[1]
    if not is_text(pattern):
        return
    try:
        call.builder.typing.call("RLIKE", Literal("", "VARCHAR"), pattern)
    except InferenceError as error:
        raise call.builder.source.at(call.args[1], one_line(error), "write a regular expression") from None


def locate(call: CallNode) -> Expr:
    return call.of("INSTR", call.trees[1], call.trees[0])


def unix_time(call: CallNode) -> Expr:
    """Seconds since 1970, cut off; of a text that says date and time."""
    if call.builder.type(call.args[0]) == "VARCHAR":
        return call.of("UNIX_TIMESTAMP", call.of("TO_TIMESTAMP", *call.trees, params=("%Y-%m-%d %H:%M:%S",)))
    return call.of("UNIX_TIMESTAMP", call.cast(0, "TIMESTAMP"))
