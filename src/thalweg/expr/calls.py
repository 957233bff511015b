"""Spark's scalar functions as DuckDB's SQL, one line each.

A template stands for the call with that many arguments: `{0}` is the first one, `{p}` the first parameter. Templates are single things: a
call, a CASE, or in parentheses. An operation that may fail has a TRY of its own: the engine computes what comes twice in a statement
once, outside of what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thalweg.expr.casts import instant, sayable, timestamp_of
from thalweg.expr.comparisons import compared, compares_apart, mixed
from thalweg.expr.nodes import PYTHON, Call
from thalweg.expr.operators import quotient
from thalweg.expr.pieces import Piece, shared
from thalweg.expr.python import known_as
from thalweg.expr.quoting import identifier, quoted
from thalweg.expr.text_calls import PATTERNS, TEXTS

Template = str | Callable[[Call], str]
Templates = dict[str, dict[int | None, Template]]
LONGEST = 1 << 24
"""Characters beyond which a text is not made."""
DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _plain(*names: str, arity: int = 1) -> Templates:
    return {n: {arity: f"{n.lower()}({', '.join(f'{{{i}}}' for i in range(arity))})"} for n in names}


def _mixing(function: str) -> Templates:
    return {function.upper(): {None: lambda call: f"{function}({', '.join(mixed(call.args))})"}}


def _nullif(call: Call) -> str:
    one, other = call.args
    if compares_apart(one, other):
        equal = compared("=", one, other).sql
        return f"CASE WHEN {equal} THEN NULL ELSE {one.sql} END"
    return shared(f"nullif({{0}}, {other.sql})".format, one.sql)


def _choice(call: Call) -> str:
    present, absent = mixed(call.args[1:])
    return f"CASE WHEN {call.args[0].operand} IS NOT NULL THEN {present} ELSE {absent} END"


def _positive_modulo(call: Call) -> str:
    rest, below = quotient("%", *call.args).operand, call.args[1].operand
    return shared(
        "CASE WHEN {0} < 0 THEN TRY(TRY({0} + {1}) % nullif({1}, 0)) ELSE {0} END".format, rest, below
    )


def _whole(function: str) -> Template:
    def write(call: Call) -> str:
        called = f"{function}({call.args[0].sql})"
        return (
            f"TRY({called})"
            if call.args[0].type.startswith("DECIMAL")
            else f"TRY_CAST(TRY({called}) AS BIGINT)"
        )

    return write


def _sign(call: Call) -> str:
    """Of a number that is none, that."""
    if call.args[0].type not in ("FLOAT", "DOUBLE"):
        return f"sign({call.args[0].sql})"
    return shared("CASE WHEN isnan({0}) THEN {0} ELSE CAST(sign({0}) AS DOUBLE) END".format, call.args[0].sql)


def _substring(call: Call) -> str:
    """Spark counts from 1, takes 0 for 1, and a length below 0 for none."""
    start = shared("CASE WHEN {0} = 0 THEN 1 ELSE {0} END".format, call.args[1].operand)
    length = [shared("CASE WHEN {0} < 0 THEN 0 ELSE {0} END".format, a.operand) for a in call.args[2:]]
    plain = [a.sql.isdigit() and a.sql != "0" for a in call.args[1:]]
    pieces = [a.sql if p else text for a, p, text in zip(call.args[1:], plain, [start, *length], strict=True)]
    return f"substring({', '.join([call.args[0].sql, *pieces])})"


def _unit_difference(call: Call) -> str:
    """Whole units from one time to another. A month is whole when its day and time of day are reached again."""
    (start, end), (unit,) = (a.operand for a in call.args), call.params
    if unit not in _MONTHS:
        return f"date_sub('{unit}', {start}, {end})"
    return f"({shared(_months, start, end)} // {_MONTHS[unit]})"


def _months(start: str, end: str) -> str:
    count = f"(year({end}) * 12 + month({end}) - year({start}) * 12 - month({start}))"
    into = "({0} - TRY(date_trunc('month', {0})) {2} {1} - TRY(date_trunc('month', {1})))".format
    short = f"CASE WHEN {count} > 0 AND {into(end, start, '<')} THEN 1 WHEN {count} < 0 AND {into(end, start, '>')} THEN -1 ELSE 0 END"
    return f"({count} - {short})"


def _padded(function: str) -> str:
    """Where there is nothing to pad with, a text is cut at most."""
    by = f"{function}({{0}}, TRY_CAST({{1}} AS INTEGER), {{2}})"
    cut = "left({0}, CASE WHEN {1} < 0 THEN 0 ELSE {1} END)"
    return f"CASE WHEN {{1}} <= {LONGEST} THEN CASE WHEN {{2}} = '' THEN {cut} ELSE {by} END END"


def _made_time(call: Call) -> str:
    """Sixty seconds are the next minute."""
    *date, seconds = (a.operand for a in call.args)
    micros = f"CAST(floor(CAST({seconds} AS DECIMAL(16,6)) * 1000000) AS BIGINT)"
    inside = f"CASE WHEN {seconds} >= 0 AND {seconds} <= 60 THEN make_timestamp({', '.join(date)}, 0) END"
    return f"({inside} + to_microseconds({micros}))"


def _next_day(call: Call) -> str:
    """The first such day after a date."""
    number = next(n for n, name in enumerate(DAYS) if name.startswith(call.params[0]))
    return shared(
        f"({{0}} + CAST(({number + 7} - isodow({{0}})) % 7 + 1 AS INTEGER))".format, call.args[0].operand
    )


def _months_between(call: Call) -> str:
    """Whole months between days of one number, and between last days of months; else 31 days are a month."""

    def write(end: str, start: str) -> str:
        months = f"(year({end}) * 12 + month({end}) - year({start}) * 12 - month({start}))"
        whole = f"day({end}) = day({start}) OR (last_day({end}) = CAST({end} AS DATE) AND last_day({start}) = CAST({start} AS DATE))"
        day = "(day({0}) * 86400 + hour({0}) * 3600 + minute({0}) * 60 + second({0}))".format
        rest = f"round({months} + ({day(end)} - {day(start)}) / 2678400, 8)"
        return f"CASE WHEN {whole} THEN CAST({months} AS DOUBLE) ELSE {rest} END"

    return shared(write, *(a.operand for a in call.args))


_FLOORED = "TRY_CAST(floor(epoch({0})) AS BIGINT)"
_FRACTION = "CAST(((TRY(epoch_us({0})) % 60000000 + 60000000) % 60000000) / 1000000 AS DECIMAL(8,6))"
_POSITIVE: Templates = {
    f: {1: f"CASE WHEN {{0}} > 0 THEN {f.lower()}({{0}}) END"} for f in ("LN", "LOG2", "LOG10")
}

SAFE: Templates = {
    **_plain(
        "LOWER",
        "UPPER",
        "LENGTH",
        "REVERSE",
        "ASCII",
        "MD5",
        "CBRT",
        "ATAN",
        "SINH",
        "COSH",
        "TANH",
        "DEGREES",
        "RADIANS",
    ),
    **_plain("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND"),
    **_plain("CONTAINS", "INSTR", arity=2),
    **_plain("PI", arity=0),
    **_POSITIVE,
    **_mixing("coalesce"),
    **_mixing("greatest"),
    **_mixing("least"),
    "E": {0: "exp(1)"},
    "DAYOFWEEK": {1: "(dayofweek({0}) + 1)"},
    "DAYOFWEEK_ISO": {1: "isodow({0})"},
    "WEEKDAY": {1: "(isodow({0}) - 1)"},
    "SIGN": {1: _sign},
    "LTRIM": {1: "ltrim({0}, ' ')"},
    "RTRIM": {1: "rtrim({0}, ' ')"},
    "TRIM_LEADING": {2: "ltrim({0}, {1})"},
    "TRIM_TRAILING": {2: "rtrim({0}, {1})"},
    "BTRIM": {1: "trim({0}, ' ')", 2: "trim({0}, {1})"},
    "REPLACE": {2: "replace({0}, {1}, '')", 3: "replace({0}, {1}, {2})"},
    "STARTSWITH": {2: "starts_with({0}, {1})"},
    "ENDSWITH": {2: "ends_with({0}, {1})"},
    "CONCAT_WS": {None: lambda call: f"concat_ws({', '.join(map(sayable, call.args))})"},
    "WINDOW": {2: "{{'start': {0}, 'end': {1}}}"},
    "NVL2": {3: _choice},
    "NULLIF": {2: _nullif},
    "ISNAN": {1: "coalesce(isnan({0}), FALSE)"},
    "LOG": {2: "CASE WHEN {0} > 0 AND {1} > 0 THEN ln({1}) / nullif(ln({0}), 0) END"},
    "LOG1P": {1: "CASE WHEN {0} > -1 THEN ln(1 + CAST({0} AS DOUBLE)) END"},
    "CEIL": {1: _whole("ceil")},
    "FLOOR": {1: _whole("floor")},
    "PMOD": {2: _positive_modulo},
    "NANVL": {2: "CASE WHEN isnan({0}) THEN {1} ELSE {0} END"},
    "FACTORIAL": {
        1: "CASE WHEN {0} BETWEEN 0 AND 20 THEN CAST(factorial(CAST({0} AS INTEGER)) AS BIGINT) END"
    },
    **TEXTS,
}
FALLIBLE: Templates = {
    **_plain("ABS", "EXP", "SQRT", "SIN", "COS", "TAN", "ASIN", "ACOS", "COT", "LAST_DAY"),
    **_plain("ATAN2", "POWER", arity=2),
    **_plain("TRANSLATE", arity=3),
    "SPLIT_PART": {3: "split_part({0}, {1}, nullif({2}, 0))"},
    "SPLIT_INDEX": {
        3: "CASE WHEN {2} >= 0 AND {0} <> '' THEN list_extract(string_split({0}, {1}), {2} + 1) END"
    },
    **PATTERNS,
    **_plain("ACOSH", "ATANH", "ASINH"),
    "RINT": {1: "round_even(CAST({0} AS DOUBLE), 0)"},
    "MAKE_DATE": {3: "make_date({0}, {1}, {2})"},
    "MAKE_TIMESTAMP": {6: _made_time},
    "NEXT_DAY": {1: _next_day},
    "MONTHS_BETWEEN": {2: _months_between},
    "UNIX_DATE": {1: "({0} - DATE '1970-01-01')"},
    "DATE_FROM_UNIX_DATE": {1: "(DATE '1970-01-01' + CAST({0} AS INTEGER))"},
    "FROM_UTC_TIMESTAMP": {1: "timezone({p}, timezone('UTC', {0}))"},
    "TO_UTC_TIMESTAMP": {1: "timezone('UTC', timezone({p}, {0}))"},
    "WEEK": {1: "week({0})"},
    "BIT_COUNT": {1: "bit_count(CAST({0} AS BIGINT))"},
    "CHR": {1: "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} % 256 AS INTEGER)) END"},
    "REPEAT": {
        2: f"CASE WHEN length({{0}}) * CAST({{1}} AS HUGEINT) <= {LONGEST} THEN repeat({{0}}, {{1}}) END"
    },
    "LEFT": {2: "left({0}, CASE WHEN {1} < 0 THEN 0 ELSE {1} END)"},
    "RIGHT": {2: "right({0}, CASE WHEN {1} < 0 THEN 0 ELSE {1} END)"},
    "SUBSTRING": {2: _substring, 3: _substring},
    "LPAD": {3: _padded("lpad")},
    "RPAD": {3: _padded("rpad")},
    "REGEXP_EXTRACT": {3: "regexp_extract({0}, {1}, {2})"},
    "REGEXP_REPLACE": {3: "regexp_replace({0}, {1}, {2}, 'g')"},
    "ROUND": {1: "round({0})", 2: "round({0}, {1})"},
    "BROUND": {1: "round_even({0}, 0)", 2: "round_even({0}, {1})"},
    "EXTRACT_SECOND": {1: _FRACTION},
    "DATE_TRUNC": {1: "date_trunc({p}, {0})"},
    "TRUNC": {1: "TRY_CAST(TRY(date_trunc({p}, {0})) AS DATE)"},
    "TO_DATE": {1: "TRY_CAST(try_strptime({0}, {p}) AS DATE)"},
    "TO_TIMESTAMP": {1: "try_strptime({0}, {p})"},
    "DATE_FORMAT": {1: "strftime({0}, {p})"},
    "DAYNAME": {1: "strftime({0}, '%a')"},
    "MONTHNAME": {1: "strftime({0}, '%b')"},
    "UNIX_SECONDS": {1: _FLOORED},
    "UNIX_TIMESTAMP": {1: "(TRY(epoch_us({0})) // 1000000)"},
    "UNIX_MILLIS": {1: "epoch_ms(TRY(date_trunc('milliseconds', {0})))"},
    "UNIX_MICROS": {1: "epoch_us({0})"},
    "TIMESTAMP_SECONDS": {1: lambda call: timestamp_of(call.args[0].operand, call.args[0].type)},
    "TIMESTAMP_MILLIS": {1: instant("TRY(TRY_CAST({0} AS BIGINT) * 1000)")},
    "TIMESTAMP_MICROS": {1: instant("TRY_CAST({0} AS BIGINT)")},
    "FROM_UNIXTIME": {1: f"strftime({instant('TRY(TRY_CAST({0} AS BIGINT) * 1000000)')}, {{p}})"},
    "DATE_ADD": {2: "({0} + TRY_CAST({1} AS INTEGER))"},
    "DATE_SUB": {2: "({0} - TRY_CAST({1} AS INTEGER))"},
    "DATEDIFF": {2: "({0} - {1})"},
    "TIMESTAMPDIFF": {2: _unit_difference},
    "TIMESTAMPADD": {
        2: lambda call: (
            f"({call.args[1].operand} + TRY(to_{call.params[0].removesuffix('s')}s({call.args[0].sql})))"
        )
    },
    "ADD_MONTHS": {2: "TRY_CAST(TRY({0} + TRY(to_months(TRY_CAST({1} AS INTEGER)))) AS DATE)"},
}

# Functions of numbers, and of times: a string constant is no number, and a time where it can be read as one.
OF_NUMBERS = frozenset({
    "ABS", "EXP", "SQRT", "SIN", "COS", "TAN", "ASIN", "ACOS", "COT", "ATAN", "ATAN2", "POWER", "CBRT", "SIGN", "SINH", "COSH", "TANH",
    "DEGREES", "RADIANS", "BIT_COUNT", "CEIL", "FLOOR", "ROUND", "BROUND", "ISNAN", "LN", "LOG", "LOG2", "LOG10", "LOG1P",
    "TIMESTAMP_SECONDS", "NANVL", "FACTORIAL", "ACOSH", "ASINH", "ATANH", "RINT",
})  # fmt: skip
OF_TIMES = frozenset({
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "DAYOFWEEK", "DAYOFWEEK_ISO", "WEEKDAY", "HOUR", "MINUTE", "SECOND",
    "EXTRACT_SECOND", "LAST_DAY", "DATE_TRUNC", "TRUNC", "DATE_FORMAT", "UNIX_SECONDS", "UNIX_MILLIS", "UNIX_MICROS", "TIMESTAMPADD",
    "DAYNAME", "MONTHNAME",
    "FROM_UTC_TIMESTAMP", "TO_UTC_TIMESTAMP",
})  # fmt: skip
# Of these EXTRACT takes a span of time too.
OF_SPANS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "EXTRACT_SECOND"})


def _written(call: Call, template: Template) -> str:
    """A call by its template; what it names more than once is given a name where it is long."""
    if callable(template):
        return template(call)
    spaced = any(f"{{{i}}} " in template or f" {{{i}}}" in template for i in range(len(call.args)))
    args = [a.operand if spaced else a.sql for a in call.args]
    param = quoted(call.params[0]) if call.params else ""
    write = (
        shared
        if any(template.count(f"{{{i}}}") > 1 for i in range(len(args)))
        else lambda made, *given: made(*given)
    )
    return write(lambda *given: template.format(*given, p=param), *args)


def _writer(templates: dict[int | None, Template], fallible: bool) -> Callable[[Call], Piece]:
    def write(call: Call) -> Piece:
        sql = _written(call, templates.get(len(call.args)) or templates[None])
        return Piece(f"TRY({sql})" if fallible else sql)

    return write


def _python(call: Call) -> Piece:
    """No failure is caught here: one of the function is told, whatever stands around it."""
    name, digest = call.params
    return Piece(f"{identifier(known_as(name, digest))}({', '.join(a.sql for a in call.args)})")


CALLS: Mapping[str, Callable[[Call], Piece]] = {
    PYTHON: _python,
    **{name: _writer(t, False) for name, t in SAFE.items()},
    **{name: _writer(t, True) for name, t in FALLIBLE.items()},
}
