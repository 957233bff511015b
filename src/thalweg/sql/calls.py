"""Calls of scalar functions whose trees depend on their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import available_timezones

from sqlglot import exp

from thalweg.expr.calls import DAYS
from thalweg.expr.nested import is_nested, spark_type
from thalweg.expr.nodes import Call, Expr, Literal, is_text
from thalweg.expr.normal import compared
from thalweg.expr.text_calls import URL_PARTS
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
ARITHMETIC = {"ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "DIVIDE": "/"}
"""Operators that Spark has as functions, too, which are NULL where they fail: TRY_ADD."""
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
        return call.of(function, call.trees[0], params=(_pattern(call, 1),))

    return build


def _pattern(call: CallNode, index: int) -> str:
    """A format of times, in the engine's letters."""
    try:
        return strftime_format(call.text(index, "the format"))
    except TimeFormatError as error:
        raise call.builder.source.at(
            call.args[index], str(error), "write a format such as 'yyyy-MM-dd HH:mm:ss'"
        ) from None


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
            call.args[index],
            f"{call.name} takes a whole number here, not {spark_type(type_)}",
            "CAST it to INT",
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
        raise call.builder.source.at(
            at, f"{call.name.upper()} takes the number of a group from 0 to 9 here", hint
        )
    _check_pattern(call)
    return call.of(call.name.upper(), text, pattern, group)


def _check_pattern(call: CallNode) -> None:
    """Refuse a constant that is no regular expression: the engine would stop at it."""
    pattern = call.trees[1]
    if not is_text(pattern):
        return
    try:
        call.builder.typing.call("RLIKE", Literal("", "VARCHAR"), pattern)
    except InferenceError as error:
        raise call.builder.source.at(call.args[1], one_line(error), "write a regular expression") from None


def with_pattern(function: str) -> Special:
    """A call of a text and a regular expression."""

    def build(call: CallNode) -> Expr:
        _check_pattern(call)
        return call.of(function, *call.trees)

    return build


_OF_ARRAYS = {"LENGTH": "SIZE", "CONTAINS": "ARRAY_CONTAINS"}


def no_arrays(name: str) -> Special:
    """A call of texts, which the engine would take arrays for."""
    function = name if name in _OF_ARRAYS else "LENGTH"

    def build(call: CallNode) -> Expr:
        if is_nested(call.builder.type(call.args[0])):
            hint = f"{_OF_ARRAYS[function]} is that of an ARRAY"
            raise call.builder.source.at(call.args[0], f"{call.name} takes a text", hint)
        return call.of(function, *call.trees)

    return build


def hexadecimal(call: CallNode) -> Expr:
    """Of a whole number, or of the bytes of a text."""
    type_ = call.builder.type(call.args[0])
    if type_ != "VARCHAR" and not is_integer(type_):
        raise call.builder.source.at(
            call.args[0],
            f"{call.name} takes a whole number or a text, not {spark_type(type_)}",
            "CAST it to BIGINT",
        )
    return call.of("HEX", call.trees[0] if type_ == "VARCHAR" else call.cast(0, "BIGINT"))


def sha2(call: CallNode) -> Expr:
    bits = call.trees[1]
    if not (isinstance(bits, Literal) and bits.value in ("0", "256")):
        raise call.builder.source.at(call.args[1], "SHA2 has 256 bits here", "write SHA2(text, 256)")
    return call.of("SHA2", call.trees[0])


def space(call: CallNode) -> Expr:
    """So many spaces."""
    need_integer(call, 0)
    return call.of("REPEAT", Literal(" ", "VARCHAR"), call.trees[0])


def url_part(call: CallNode) -> Expr:
    """A part of a URL; of its query also the value of one key."""
    part = call.text(1, "the part")
    if part not in URL_PARTS or (part != "QUERY" and len(call.args) > 2):
        hint = f"its parts are {', '.join(URL_PARTS)}; with a key only QUERY"
        raise call.builder.source.at(call.args[1], f"unknown part {part} of a URL", hint)
    key = (call.text(2, "the key"),) if len(call.args) > 2 else ()
    return call.of("PARSE_URL", call.trees[0], params=(part, *key))


def next_day(call: CallNode) -> Expr:
    """The first day of a name after a date."""
    word = call.text(1, "the day")
    if word.upper() not in {n for name in DAYS for n in (name, name[:3], name[:2])}:
        raise call.builder.source.at(call.args[1], f"unknown day {word!r}", "write 'MON', or 'MONDAY'")
    return call.of("NEXT_DAY", call.cast(0, "DATE"), params=(word[:2].upper(),))


def months_between(call: CallNode) -> Expr:
    return call.of("MONTHS_BETWEEN", call.cast(0, "TIMESTAMP"), call.cast(1, "TIMESTAMP"))


def in_zone(function: str) -> Special:
    """A time of UTC as that of a zone, or the other way round."""

    def build(call: CallNode) -> Expr:
        zone = call.text(1, "the time zone")
        if zone not in available_timezones():
            hint = suggestion(
                zone, sorted(available_timezones()), "write a name such as 'Europe/Berlin', not"
            )
            raise call.builder.source.at(call.args[1], f"unknown time zone {zone!r}", hint)
        return call.of(function, call.cast(0, "TIMESTAMP"), params=(zone,))

    return build


def from_unix_time(call: CallNode) -> Expr:
    """Seconds since 1970 as text."""
    need_integer(call, 0)
    pattern = _pattern(call, 1) if len(call.args) > 1 else "%Y-%m-%d %H:%M:%S"
    return call.of("FROM_UNIXTIME", call.trees[0], params=(pattern,))


def locate(call: CallNode) -> Expr:
    return call.of("INSTR", call.trees[1], call.trees[0])


def unix_time(call: CallNode) -> Expr:
    """Seconds since 1970, cut off; of a text that says date and time."""
    if call.builder.type(call.args[0]) == "VARCHAR":
        pattern = _pattern(call, 1) if len(call.args) > 1 else "%Y-%m-%d %H:%M:%S"
        return call.of("UNIX_TIMESTAMP", call.of("TO_TIMESTAMP", call.trees[0], params=(pattern,)))
    return call.of("UNIX_TIMESTAMP", call.cast(0, "TIMESTAMP"))
