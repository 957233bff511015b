"""Calls of scalar functions whose SQL depends on their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from thalweg.sql import literals
from thalweg.sql.conditions import compares_apart, placed
from thalweg.sql.expressions import converted, quotient
from thalweg.sql.inference import is_integer
from thalweg.sql.source import suggestion
from thalweg.sql.time_formats import TimeFormatError, strftime_format
from thalweg.sql.writer import Writer, is_string, operand, unwrapped

TIME_PARTS = {
    "YEAR": "year({0})", "QUARTER": "quarter({0})", "MONTH": "month({0})", "WEEK": "week({0})", "WEEKOFYEAR": "week({0})",
    "DAY": "day({0})", "DAYOFMONTH": "day({0})", "DAYOFYEAR": "dayofyear({0})", "DOY": "dayofyear({0})",
    "DAYOFWEEK": "(dayofweek({0}) + 1)", "DOW": "(dayofweek({0}) + 1)", "DAYOFWEEK_ISO": "isodow({0})",
    "WEEKDAY": "(isodow({0}) - 1)", "HOUR": "hour({0})", "MINUTE": "minute({0})", "SECOND": "second({0})",
}  # fmt: skip
TRUNCATIONS = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MON": "month", "MM": "month",
    "WEEK": "week", "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
    "MILLISECOND": "milliseconds", "MICROSECOND": "microseconds",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call that is being written."""

    writer: Writer
    node: exp.Expr
    name: str
    args: Sequence[exp.Expr]

    def sql(self, index: int) -> str:
        """The SQL of an argument."""
        return self.writer.sql(self.args[index])

    def text(self, index: int, what: str) -> str:
        """The value of an argument that must be a string literal."""
        if not is_string(self.args[index]):
            raise self.writer.source.at(self.args[index], f"{what} of {self.name} must be a constant string")
        return unwrapped(self.args[index]).name


Template = str | Callable[[Call], str]


def several(function: str, least: int = 1, alike: bool = True) -> Callable[[Call], str]:
    def write(call: Call) -> str:
        if len(call.args) < least:
            raise call.writer.source.at(call.node, f"{call.name} takes at least {least} arguments")
        if alike:
            call.writer.alike(call.args, "mix")
        return f"{function}({', '.join(call.sql(i) for i in range(len(call.args)))})"

    return write


def concat(call: Call) -> str:
    pieces = [call.writer.operand(a) for a in call.args]
    return f"({' || '.join(pieces)})" if len(pieces) > 1 else f"CAST({pieces[0]} AS VARCHAR)"


def to_bigint(function: str) -> Callable[[Call], str]:
    def write(call: Call) -> str:
        called = f"{function}({call.sql(0)})"
        return called if call.writer.type(call.args[0]).startswith("DECIMAL") else f"TRY_CAST({called} AS BIGINT)"

    return write


def date_trunc(call: Call, unit: int = 0, value: int = 1) -> str:
    word = call.text(unit, "the unit")
    if word.upper() not in TRUNCATIONS:
        hint = suggestion(word, TRUNCATIONS, "units are")
        raise call.writer.source.at(call.args[unit], f"unknown unit {word!r} of {call.name}", hint)
    return f"date_trunc('{TRUNCATIONS[word.upper()]}', {call.sql(value)})"


def date_part(call: Call) -> str:
    return time_part(call.writer, call.args[0], call.text(0, "the field"), call.args[1])


def time_part(writer: Writer, field: exp.Expr, word: str, value: exp.Expr) -> str:
    upper = word.upper()
    template = TIME_PARTS.get(upper) or TIME_PARTS.get(upper.removesuffix("S"))
    if template is None:
        raise writer.source.at(field, f"unknown field {word}", suggestion(word, TIME_PARTS, "fields are"))
    if upper.startswith("SECOND"):
        return f"CAST(((epoch_us({writer.sql(value)}) % 60000000 + 60000000) % 60000000) / 1000000 AS DECIMAL(8,6))"
    return template.format(writer.sql(value))


def formatted(template: str, index: int) -> Callable[[Call], str]:
    def write(call: Call) -> str:
        try:
            pattern = strftime_format(call.text(index, "the format"))
        except TimeFormatError as error:
            raise call.writer.source.at(call.args[index], str(error), "write a format such as 'yyyy-MM-dd HH:mm:ss'") from None
        return template.format(*(literals.quoted(pattern) if i == index else call.sql(i) for i in range(len(call.args))))

    return write


def cast(to: str, template: str = "{0}") -> Callable[[Call], str]:
    return lambda call: template.format(operand(converted(call.writer, call.args[0], to)))


def shifted_date(sign: str) -> Callable[[Call], str]:
    def write(call: Call) -> str:
        need_integer(call, 1)
        return f"({operand(converted(call.writer, call.args[0], 'DATE'))} {sign} CAST({call.sql(1)} AS INTEGER))"

    return write


def day_difference(call: Call) -> str:
    if len(call.args) == 3:
        return unit_difference(call)
    end, start = (operand(converted(call.writer, a, "DATE")) for a in call.args)
    return f"({end} - {start})"


def unit(call: Call) -> str:
    unit = call.args[0]
    word = unit.name if isinstance(unit, exp.Column | exp.Literal | exp.Var) else ""
    if word.upper().removesuffix("S") not in TRUNCATIONS:
        raise call.writer.source.at(unit, f"{call.name} takes a unit of time first", f"write {call.name}(MINUTE, ...)")
    return TRUNCATIONS[word.upper().removesuffix("S")]


def unit_difference(call: Call) -> str:
    return f"date_sub('{unit(call)}', {call.sql(1)}, {call.sql(2)})"


def unit_sum(call: Call) -> str:
    need_integer(call, 1)
    return f"({call.writer.operand(call.args[2])} + to_{unit(call).removesuffix('s')}s({call.sql(1)}))"


def months_later(call: Call) -> str:
    need_integer(call, 1)
    return f"CAST({operand(converted(call.writer, call.args[0], 'DATE'))} + to_months(CAST({call.sql(1)} AS INTEGER)) AS DATE)"


def with_integers(template: str, *positions: int) -> Callable[[Call], str]:
    """A template whose arguments at some positions must be whole numbers."""

    def write(call: Call) -> str:
        for position in positions:
            need_integer(call, position)
        return template.format(*(call.sql(i) for i in range(len(call.args))))

    return write


def need_integer(call: Call, index: int) -> None:
    type_ = call.writer.type(call.args[index])
    if not is_integer(type_):
        raise call.writer.source.at(call.args[index], f"{call.name} takes a whole number here, not {type_}", "CAST it to INT")


def regexp_replace(call: Call) -> str:
    if "$" in (replacement := call.text(2, "the replacement")) or "\\" in replacement:
        raise call.writer.source.at(call.args[2], "group references in a replacement are not supported", "take a group with regexp_extract")
    return f"regexp_replace({call.sql(0)}, {call.sql(1)}, {call.sql(2)}, 'g')"


def operator(symbol: str) -> Callable[[Call], str]:
    return lambda call: operand(quotient(call.writer, symbol, call.args[0], call.args[1])._replace(single=False))


def positive_modulo(call: Call) -> str:
    rest = quotient(call.writer, "%", call.args[0], call.args[1]).sql
    return f"CASE WHEN ({rest}) < 0 THEN (({rest}) + {call.writer.operand(call.args[1])}) % nullif({call.sql(1)}, 0) ELSE {rest} END"


def choice(call: Call) -> str:
    call.writer.alike(call.args[1:], "mix")
    return f"CASE WHEN {call.writer.operand(call.args[0])} IS NOT NULL THEN {call.sql(1)} ELSE {call.sql(2)} END"


def nullif(call: Call) -> str:
    call.writer.alike(call.args, "compare")
    if compares_apart(call.writer, *call.args):
        equal = exp.EQ(this=call.args[0].copy(), expression=call.args[1].copy())
        return f"CASE WHEN {call.writer.sql(placed(equal, call.args[0]))} THEN NULL ELSE {call.sql(0)} END"
    return f"nullif({call.sql(0)}, {call.sql(1)})"


def logarithm(function: str) -> str:
    return f"CASE WHEN {{0}} > 0 THEN {function}({{0}}) END"
