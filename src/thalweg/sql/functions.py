"""Spark's scalar functions as DuckDB's SQL, one line each; what is not here is refused by name.

A template stands for the call with that many arguments: `{0}` is the first one. Templates are single things: a call, a
CASE, or in parentheses.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from thalweg.sql import calls, literals
from thalweg.sql.aggregates import NAMES as AGGREGATES
from thalweg.sql.calls import Call, Template
from thalweg.sql.inference import is_integer
from thalweg.sql.source import did_you_mean
from thalweg.sql.types import NAMES
from thalweg.sql.writer import Forms, Piece, Writer, is_constant

NONDETERMINISTIC = frozenset({
    "RAND", "RANDN", "RANDOM", "RANDSTR", "UNIFORM", "UUID", "NOW", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME",
    "CURDATE", "LOCALTIMESTAMP", "LOCALTIME", "SHUFFLE", "MONOTONICALLY_INCREASING_ID", "SPARK_PARTITION_ID",
    "INPUT_FILE_NAME", "CURRENT_USER", "SESSION_USER", "CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA",
    "CURRENT_TIMEZONE",
})  # fmt: skip


# Functions that fail on some values; there they give NULL.
FALLIBLE = frozenset({
    "CHR", "CHAR", "REPEAT", "LPAD", "RPAD", "REGEXP_LIKE", "RLIKE", "REGEXP", "REGEXP_EXTRACT", "REGEXP_REPLACE", "ABS", "PMOD",
    "TIMESTAMP_SECONDS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "FROM_UNIXTIME", "DATE_ADD", "DATE_SUB", "ADD_MONTHS", "TIMESTAMPADD",
    "LAST_DAY", "ROUND", "BROUND", "SQRT", "ASIN", "ACOS", "POW", "POWER", "EXP", "COT",
})  # fmt: skip


def _plain(*names: str, arity: int = 1) -> dict[str, dict[int | None, Template]]:
    return {n: {arity: f"{n.lower()}({', '.join(f'{{{i}}}' for i in range(arity))})"} for n in names}


_DATE_PARTS: dict[str, dict[int | None, Template]] = {
    n: {1: t} for n, t in calls.TIME_PARTS.items() if n not in ("WEEK", "DOY", "DOW", "DAYOFWEEK_ISO")
}
_CASTS: dict[str, dict[int | None, Template]] = {n: {1: calls.cast(t)} for n, t in NAMES.items()}
_FLOORED = "CAST(floor(epoch({0})) AS BIGINT)"

FUNCTIONS: dict[str, dict[int | None, Template]] = {
    **_CASTS,
    **_DATE_PARTS,
    **_plain("ABS", "CBRT", "EXP", "SQRT", "SIGN", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH", "COT"),
    **_plain("DEGREES", "RADIANS"),
    **_plain("ATAN2", arity=2),
    **_plain("PI", arity=0),
    **_plain("LOWER", "UPPER", "LENGTH", "REVERSE", "ASCII", "MD5", "LAST_DAY", "BIT_COUNT"),
    **_plain("CONTAINS", "INSTR", arity=2),
    **_plain("TRANSLATE", arity=3),
    "E": {0: "exp(1)"},
    "LCASE": {1: "lower({0})"},
    "UCASE": {1: "upper({0})"},
    "CHAR_LENGTH": {1: "length({0})"},
    "CHARACTER_LENGTH": {1: "length({0})"},
    "LEN": {1: "length({0})"},
    "CHR": {1: calls.with_integers("chr(CAST({0} AS INTEGER))", 0)},
    "CHAR": {1: calls.with_integers("chr(CAST({0} AS INTEGER))", 0)},
    "LTRIM": {1: "ltrim({0}, ' ')"},
    "RTRIM": {1: "rtrim({0}, ' ')"},
    "BTRIM": {1: "trim({0}, ' ')", 2: "trim({0}, {1})"},
    "REPLACE": {2: "replace({0}, {1}, '')", 3: "replace({0}, {1}, {2})"},
    "REPEAT": {2: calls.with_integers("repeat({0}, {1})", 1)},
    "LEFT": {2: calls.with_integers("left({0}, greatest({1}, 0))", 1)},
    "RIGHT": {2: calls.with_integers("right({0}, greatest({1}, 0))", 1)},
    "LPAD": {
        2: calls.with_integers("lpad({0}, CAST({1} AS INTEGER), ' ')", 1),
        3: calls.with_integers("lpad({0}, CAST({1} AS INTEGER), {2})", 1),
    },
    "RPAD": {
        2: calls.with_integers("rpad({0}, CAST({1} AS INTEGER), ' ')", 1),
        3: calls.with_integers("rpad({0}, CAST({1} AS INTEGER), {2})", 1),
    },
    "LOCATE": {2: "instr({1}, {0})"},
    "STARTSWITH": {2: "starts_with({0}, {1})"},
    "ENDSWITH": {2: "ends_with({0}, {1})"},
    "SPLIT_PART": {3: calls.with_integers("split_part({0}, {1}, {2})", 2)},
    "CONCAT": {None: calls.concat},
    "CONCAT_WS": {None: calls.several("concat_ws", 2, alike=False)},
    "REGEXP_LIKE": {2: "regexp_matches({0}, {1})"},
    "RLIKE": {2: "regexp_matches({0}, {1})"},
    "REGEXP": {2: "regexp_matches({0}, {1})"},
    "REGEXP_EXTRACT": {2: "regexp_extract({0}, {1}, 1)", 3: calls.with_integers("regexp_extract({0}, {1}, {2})", 2)},
    "REGEXP_REPLACE": {3: calls.regexp_replace},
    "COALESCE": {None: calls.several("coalesce")},
    "NVL": {2: calls.several("coalesce")},
    "IFNULL": {2: calls.several("coalesce")},
    "NVL2": {3: calls.choice},
    "NULLIF": {2: calls.nullif},
    "GREATEST": {None: calls.several("greatest", 2)},
    "LEAST": {None: calls.several("least", 2)},
    "ISNULL": {1: "({0} IS NULL)"},
    "ISNOTNULL": {1: "({0} IS NOT NULL)"},
    "ISNAN": {1: "coalesce(isnan({0}), FALSE)"},
    "CEIL": {1: calls.to_bigint("ceil")},
    "CEILING": {1: calls.to_bigint("ceil")},
    "FLOOR": {1: calls.to_bigint("floor")},
    "ROUND": {1: "round({0})", 2: calls.with_integers("round({0}, {1})", 1)},
    "BROUND": {1: "round_even({0}, 0)", 2: calls.with_integers("round_even({0}, {1})", 1)},
    "SIGNUM": {1: "sign({0})"},
    "POW": {2: "power({0}, {1})"},
    "POWER": {2: "power({0}, {1})"},
    "LN": {1: calls.logarithm("ln")},
    "LOG": {1: calls.logarithm("ln"), 2: "CASE WHEN {0} > 0 AND {1} > 0 THEN ln({1}) / nullif(ln({0}), 0) END"},
    "LOG2": {1: calls.logarithm("log2")},
    "LOG10": {1: calls.logarithm("log10")},
    "LOG1P": {1: "CASE WHEN {0} > -1 THEN ln(1 + {0}) END"},
    "MOD": {2: calls.operator("%")},
    "PMOD": {2: calls.positive_modulo},
    "TRY_DIVIDE": {2: calls.operator("/")},
    "DATE_TRUNC": {2: calls.date_trunc},
    "TRUNC": {2: lambda call: f"CAST({calls.date_trunc(call, 1, 0)} AS DATE)"},
    "DATE_PART": {2: calls.date_part},
    "DATEPART": {2: calls.date_part},
    "TO_DATE": {1: calls.cast("DATE"), 2: calls.formatted("CAST(try_strptime({0}, {1}) AS DATE)", 1)},
    "TO_TIMESTAMP": {1: calls.cast("TIMESTAMP"), 2: calls.formatted("try_strptime({0}, {1})", 1)},
    "DATE_FORMAT": {2: calls.formatted("strftime({0}, {1})", 1)},
    "UNIX_TIMESTAMP": {1: calls.cast("TIMESTAMP", _FLOORED)},
    "TO_UNIX_TIMESTAMP": {1: calls.cast("TIMESTAMP", _FLOORED)},
    "UNIX_SECONDS": {1: _FLOORED},
    "UNIX_MILLIS": {1: "epoch_ms({0})"},
    "UNIX_MICROS": {1: "epoch_us({0})"},
    "TIMESTAMP_SECONDS": {1: "make_timestamp(CAST({0} * 1000000 AS BIGINT))"},
    "TIMESTAMP_MILLIS": {1: calls.with_integers("make_timestamp({0} * 1000)", 0)},
    "TIMESTAMP_MICROS": {1: calls.with_integers("make_timestamp({0})", 0)},
    "FROM_UNIXTIME": {1: calls.with_integers("strftime(make_timestamp({0} * 1000000), '%Y-%m-%d %H:%M:%S')", 0)},
    "DATE_ADD": {2: calls.shifted_date("+")},
    "DATE_SUB": {2: calls.shifted_date("-")},
    "DATEDIFF": {2: calls.day_difference, 3: calls.day_difference},
    "DATE_DIFF": {2: calls.day_difference, 3: calls.day_difference},
    "TIMESTAMPDIFF": {3: calls.unit_difference},
    "TIMESTAMPADD": {3: calls.unit_sum},
    "ADD_MONTHS": {2: calls.months_later},
    "EQUAL_NULL": {2: "({0} IS NOT DISTINCT FROM {1})"},
}


def write_call(writer: Writer, node: exp.Expr) -> Piece:
    """The SQL of a call of a scalar function."""
    name = node.name.upper()
    if name in NONDETERMINISTIC or (name == "UNIX_TIMESTAMP" and not node.expressions):
        raise refused_by_time(writer, node, node.name)
    templates = FUNCTIONS.get(name)
    if templates is None:
        near = did_you_mean(name, [*FUNCTIONS, *AGGREGATES])
        hint = f"did you mean {near}?" if near else "docs/sql.md lists the functions that there are"
        raise writer.source.at(node, f"unknown function {node.name}", hint)
    template = templates.get(len(node.expressions)) or (templates.get(None) if node.expressions else None)
    if template is None:
        counts = " or ".join(str(n) for n in templates if n is not None) or "at least 1"
        hint = "docs/sql.md lists the functions with their arguments"
        raise writer.source.at(node, f"{node.name} takes {counts} arguments, not {len(node.expressions)}", hint)
    call = Call(writer, node, node.name, node.expressions)
    wrap = writer.operand if isinstance(template, str) and ("{0} " in template or " {0}" in template) else writer.sql
    sql = template(call) if callable(template) else template.format(*map(wrap, node.expressions))
    return Piece(f"TRY({sql})" if name in FALLIBLE and not all(map(is_constant, node.expressions)) else sql)


def refused_by_time(writer: Writer, node: exp.Expr, name: str) -> Exception:
    """The error for what depends on when or where it runs."""
    return writer.source.at(node, f"{name} is not deterministic", "a result must not depend on when it is computed; use the event time")


def _substring(writer: Writer, node: exp.Expr) -> Piece:
    """Spark counts from 1, and takes 0 for 1."""
    start, length = node.args.get("start"), node.args.get("length")
    for part in (start, length):
        if part is not None and not is_integer(type_ := writer.type(part)):
            raise writer.source.at(part, f"SUBSTRING takes a whole number here, not {type_}", "CAST it to INT")
    if start is None:
        raise writer.source.at(node, "SUBSTRING takes 2 or 3 arguments, not 1", "write SUBSTRING(text, 1, 3)")
    from_ = writer.sql(start)
    if not isinstance(start, exp.Literal) or from_ == "0":
        from_ = "1" if from_ == "0" else f"coalesce(nullif({from_}, 0), CASE WHEN {writer.operand(start)} = 0 THEN 1 END)"
    rest = "" if length is None else f", {writer.sql(length) if isinstance(length, exp.Literal) else f'greatest({writer.sql(length)}, 0)'}"
    return Piece(f"substring({writer.sql(node.this)}, {from_}{rest})")


def _trim(writer: Writer, node: exp.Expr) -> Piece:
    function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "trim")
    characters = node.args.get("expression")
    return Piece(f"{function}({writer.sql(node.this)}, {writer.sql(characters) if characters is not None else literals.quoted(' ')})")


def _position(writer: Writer, node: exp.Expr) -> Piece:
    if node.args.get("position") is not None or node.this is None:
        raise writer.source.at(node, "POSITION takes 2 arguments", "write POSITION('a' IN text)")
    return Piece(f"instr({writer.sql(node.this)}, {writer.sql(node.args['substr'])})")


def _extract(writer: Writer, node: exp.Expr) -> Piece:
    return Piece(calls.time_part(writer, node, node.name, node.expression))


def _current(writer: Writer, node: Any) -> Piece:
    raise refused_by_time(writer, node, writer.source.written(node))


_CURRENT = (
    exp.CurrentDate, exp.CurrentDatetime, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtime, exp.Localtimestamp,
    exp.CurrentUser, exp.SessionUser, exp.CurrentSchema, exp.CurrentCatalog,
)  # fmt: skip
CALLS: Forms = {
    exp.Anonymous: write_call,
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Extract: _extract,
    **dict.fromkeys(_CURRENT, _current),
}
