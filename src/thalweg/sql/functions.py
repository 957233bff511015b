"""Spark's scalar functions by name; what is not here is refused by name."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from thalweg.expr.calls import FALLIBLE, SAFE
from thalweg.expr.nested import spark_type
from thalweg.expr.nodes import Expr, Literal
from thalweg.expr.types import NAMES, is_integer
from thalweg.sql import calls
from thalweg.sql.aggregates import NAMES as AGGREGATES
from thalweg.sql.array_values import ARRAYS
from thalweg.sql.builder import Builder, Forms
from thalweg.sql.calls import CallNode, Special
from thalweg.sql.json_values import JSON
from thalweg.sql.nested_values import NESTED
from thalweg.sql.source import did_you_mean
from thalweg.sql.user_functions import build_user_call

PROCESSING_TIME = ("NOW", "CURRENT_TIMESTAMP", "PROCTIME")
"""What gives the time at which rows are read, where a stream declares a column of it."""
NONDETERMINISTIC = frozenset({
    "RAND", "RANDN", "RANDOM", "RANDSTR", "UNIFORM", "UUID", *PROCESSING_TIME, "CURRENT_DATE", "CURRENT_TIME",
    "CURDATE", "LOCALTIMESTAMP", "LOCALTIME", "SHUFFLE", "MONOTONICALLY_INCREASING_ID", "SPARK_PARTITION_ID",
    "INPUT_FILE_NAME", "CURRENT_USER", "SESSION_USER", "CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA",
    "CURRENT_TIMEZONE", "PROCTIME",
})  # fmt: skip
# Other names of the same function.
SYNONYMS = {
    "LCASE": "LOWER", "UCASE": "UPPER", "CHAR_LENGTH": "LENGTH", "CHARACTER_LENGTH": "LENGTH", "LEN": "LENGTH", "SIGNUM": "SIGN",
    "POW": "POWER", "DAYOFMONTH": "DAY", "WEEKOFYEAR": "WEEK", "SHA": "SHA1",
}  # fmt: skip
_BLANK = Literal(" ", "VARCHAR")
SPECIAL: dict[str, dict[int | None, Special]] = {
    **{name: {1: calls.cast(to)} for name, to in NAMES.items()},
    **{key: {1: calls.with_integers("CHR", 0)} for key in ("CHR", "CHAR")},
    **{key: {2: lambda call: call.of("RLIKE", *call.trees)} for key in ("RLIKE", "REGEXP", "REGEXP_LIKE")},
    "COALESCE": {None: calls.alike("COALESCE", 1)},
    **{key: {2: calls.alike("COALESCE", 1)} for key in ("NVL", "IFNULL")},
    **{key: {1: lambda call: call.of("CEIL", *call.trees)} for key in ("CEIL", "CEILING")},
    **{key: {2: calls.date_part} for key in ("DATE_PART", "DATEPART")},
    **{key: {2: calls.day_difference, 3: calls.day_difference} for key in ("DATEDIFF", "DATE_DIFF")},
    **{key: {1: calls.unix_time, 2: calls.unix_time} for key in ("UNIX_TIMESTAMP", "TO_UNIX_TIMESTAMP")},
    **{
        f: {1: calls.with_integers(f, 0)}
        for f in ("TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "BIN", "FACTORIAL", "DATE_FROM_UNIX_DATE")
    },
    "FROM_UNIXTIME": {1: calls.from_unix_time, 2: calls.from_unix_time},
    **{f: {2: calls.with_integers(f, 1)} for f in ("REPEAT", "LEFT", "RIGHT")},
    **{
        f: {2: calls.with_integers(f, 1, default=_BLANK), 3: calls.with_integers(f, 1)}
        for f in ("LPAD", "RPAD")
    },
    **{
        f: {1: lambda call: call.of(call.name.upper(), *call.trees), 2: calls.with_integers(f, 1)}
        for f in ("ROUND", "BROUND")
    },
    "SPLIT_INDEX": {3: calls.with_integers("SPLIT_INDEX", 2)},
    "SPLIT_PART": {3: calls.with_integers("SPLIT_PART", 2)},
    "LOCATE": {2: calls.locate},
    "CONCAT": {None: calls.concat},
    "CONCAT_WS": {None: calls.at_least("CONCAT_WS", 2)},
    "REGEXP_EXTRACT": {2: calls.regexp_extract, 3: calls.regexp_extract},
    "REGEXP_REPLACE": {3: calls.regexp_replace},
    "NVL2": {3: calls.choice},
    "NULLIF": {2: calls.alike("NULLIF", 2, "compare")},
    "GREATEST": {None: calls.alike("GREATEST", 2)},
    "LEAST": {None: calls.alike("LEAST", 2)},
    "ISNULL": {1: calls.is_null("IS NULL")},
    "ISNOTNULL": {1: calls.is_null("IS NOT NULL")},
    "EQUAL_NULL": {2: calls.equal_null},
    "LOG": {1: lambda call: call.of("LN", *call.trees), 2: lambda call: call.of("LOG", *call.trees)},
    "MOD": {2: calls.with_numbers("%")},
    "PMOD": {2: calls.with_numbers("PMOD")},
    **{f"TRY_{word}": {2: calls.with_numbers(symbol)} for word, symbol in calls.ARITHMETIC.items()},
    "NEGATIVE": {1: calls.with_numbers("NEGATE")},
    **{f: {2: calls.with_pattern(f)} for f in ("REGEXP_COUNT", "REGEXP_SUBSTR", "REGEXP_INSTR", "SPLIT")},
    "REGEXP_EXTRACT_ALL": {2: calls.regexp_extract, 3: calls.regexp_extract},
    **{f: {1: calls.no_arrays(f)} for f in ("LENGTH", "CHAR_LENGTH", "CHARACTER_LENGTH", "LEN")},
    "CONTAINS": {2: calls.no_arrays("CONTAINS")},
    "HEX": {1: calls.hexadecimal},
    "SHA2": {2: calls.sha2},
    "SPACE": {1: calls.space},
    "SUBSTRING_INDEX": {3: calls.with_integers("SUBSTRING_INDEX", 2)},
    "PARSE_URL": {2: calls.url_part, 3: calls.url_part},
    "MAKE_DATE": {3: calls.with_integers("MAKE_DATE", 0, 1, 2)},
    "MAKE_TIMESTAMP": {6: calls.with_integers("MAKE_TIMESTAMP", 0, 1, 2, 3, 4)},
    "NEXT_DAY": {2: calls.next_day},
    "UNIX_DATE": {1: calls.cast("DATE", "UNIX_DATE")},
    "MONTHS_BETWEEN": {2: calls.months_between},
    **{f: {2: calls.in_zone(f)} for f in ("FROM_UTC_TIMESTAMP", "TO_UTC_TIMESTAMP")},
    "DATE_TRUNC": {2: calls.date_trunc},
    "TRUNC": {2: calls.trunc},
    "TO_DATE": {1: calls.cast("DATE"), 2: calls.formatted("TO_DATE")},
    "TO_TIMESTAMP": {1: calls.cast("TIMESTAMP"), 2: calls.formatted("TO_TIMESTAMP")},
    "DATE_FORMAT": {2: calls.formatted("DATE_FORMAT")},
    "DATE_ADD": {2: calls.shifted("DATE_ADD")},
    "DATEADD": {2: calls.shifted("DATE_ADD"), 3: calls.unit_sum},
    "DATE_SUB": {2: calls.shifted("DATE_SUB")},
    "ADD_MONTHS": {2: calls.shifted("ADD_MONTHS")},
    "TIMESTAMPDIFF": {3: calls.unit_difference},
    "TIMESTAMPADD": {3: calls.unit_sum},
    **NESTED,
    **ARRAYS,
    **JSON,
}
_TEMPLATES = {**SAFE, **FALLIBLE}
# Templates that no function of Spark's has the name of.
_INTERNAL = frozenset(
    {"EXTRACT_SECOND", "DAYOFWEEK_ISO", "WEEK", "SUBSTRING", "WINDOW", "TRIM_LEADING", "TRIM_TRAILING"}
)
FUNCTIONS: dict[str, tuple[int | None, ...]] = {
    **{name: tuple(t) for name, t in _TEMPLATES.items() if name not in _INTERNAL},
    **{name: tuple(_TEMPLATES[of]) for name, of in SYNONYMS.items()},
    **{name: tuple(built) for name, built in SPECIAL.items()},
}
"""How many arguments each function takes; None for any number."""


def build_call(builder: Builder, node: exp.Expr) -> Expr:
    """The tree of a call of a scalar function."""
    name, count = node.name.upper(), len(node.expressions)
    if name in NONDETERMINISTIC or (name == "UNIX_TIMESTAMP" and not count):
        raise refused_by_time(builder, node, node.name)
    own = builder.typing.function(node.name)
    if own is not None:
        return build_user_call(builder, node, own)
    if name not in FUNCTIONS:
        near = did_you_mean(name, [*FUNCTIONS, *AGGREGATES, *builder.typing.functions])
        hint = f"did you mean {near}?" if near else "thalweg help functions lists those that there are"
        raise builder.source.at(node, f"unknown function {node.name}", hint)
    if count not in FUNCTIONS[name] and not (None in FUNCTIONS[name] and count):
        counts = " or ".join(str(n) for n in FUNCTIONS[name] if n is not None) or "at least 1"
        hint = "thalweg help functions lists them"
        raise builder.source.at(node, f"{node.name} takes {counts} arguments, not {count}", hint)
    call, special = CallNode(builder, node, node.name, node.expressions), SPECIAL.get(name)
    if special is not None:
        return (special.get(count) or special[None])(call)
    return call.of(SYNONYMS.get(name, name), *call.trees)


def refused_by_time(builder: Builder, node: exp.Expr, name: str) -> Exception:
    """The error for what depends on when or where it runs."""
    hint = "a result must not depend on when it is computed; use the event time"
    if name.upper() in PROCESSING_TIME:
        hint += ", or give the stream a column of the time at which its rows are read: read_at AS now()"
    return builder.source.at(node, f"{name} is not deterministic", hint)


def _substring(builder: Builder, node: exp.Expr) -> Expr:
    start, length = node.args.get("start"), node.args.get("length")
    for part in (start, length):
        if part is not None and not is_integer(type_ := builder.type(part)):
            raise builder.source.at(
                part, f"SUBSTRING takes a whole number here, not {spark_type(type_)}", "CAST it to INT"
            )
    if start is None:
        raise builder.source.at(
            node, "SUBSTRING takes 2 or 3 arguments, not 1", "write SUBSTRING(text, 1, 3)"
        )
    return builder.call(
        node, "SUBSTRING", *(builder.tree(n) for n in (node.this, start, length) if n is not None)
    )


def _trim(builder: Builder, node: exp.Expr) -> Expr:
    given = [builder.tree(n) for n in (node.this, node.args.get("expression")) if n is not None]
    side = node.args.get("position") or ""
    if len(given) == 1:
        return builder.call(node, {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side, "BTRIM"), *given)
    return builder.call(
        node, {"LEADING": "TRIM_LEADING", "TRAILING": "TRIM_TRAILING"}.get(side, "BTRIM"), *given
    )


def _position(builder: Builder, node: exp.Expr) -> Expr:
    if node.args.get("position") is not None or node.this is None:
        raise builder.source.at(node, "POSITION takes 2 arguments", "write POSITION('a' IN text)")
    return builder.call(node, "INSTR", builder.tree(node.this), builder.tree(node.args["substr"]))


def _extract(builder: Builder, node: exp.Expr) -> Expr:
    return calls.time_part(builder, node, node.name, node.expression)


def _current(builder: Builder, node: Any) -> Expr:
    raise refused_by_time(builder, node, builder.source.written(node))


_CURRENT = (
    exp.CurrentDate, exp.CurrentDatetime, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtime, exp.Localtimestamp,
    exp.CurrentUser, exp.SessionUser, exp.CurrentSchema, exp.CurrentCatalog,
)  # fmt: skip
CALLS: Forms = {
    exp.Anonymous: build_call,
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Extract: _extract,
    **dict.fromkeys(_CURRENT, _current),
}
