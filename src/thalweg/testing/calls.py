"""Each aggregate function as the definition has it: DuckDB's own aggregates straight over the rows of a window."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.model.query import Aggregate
from thalweg.model.sketches import bucketed

_INTEGERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)

# Templates over {x} and {y} (arguments), {p} (parameter), {f} (the FILTER condition) and `__ts` (event time).
# Ties are broken by the value, NULL being the largest.
_WIDE_SUM = (
    "list_reduce(list({x}) FILTER (WHERE {f} AND {x} IS NOT NULL), lambda one, other: TRY(one + other))"
)


def _both(function: str) -> str:
    """Of the rows that have both numbers; infinities and NaN make it NaN."""
    noise = "max(0 * {x}::DOUBLE * {y}::DOUBLE) FILTER (WHERE {f})"
    return f"({function}({{x}}::DOUBLE, {{y}}::DOUBLE) FILTER (WHERE {{f}}) + {noise})"


_LIST = "list({x}) FILTER (WHERE {f} AND {x} IS NOT NULL)"
_HASHES = f"list_sort(list_distinct(list_transform({_LIST}, lambda h: hash(h))))"
_TEMPLATES = {
    "COUNT_ROWS": "count(*) FILTER (WHERE {f})",
    "COUNT": "count({x}) FILTER (WHERE {f})",
    "COUNT_DISTINCT": "count(DISTINCT {x}) FILTER (WHERE {f})",
    "SUM": "sum({x}) FILTER (WHERE {f})",
    "AVG": "(avg({x}) FILTER (WHERE {f}))::DOUBLE",
    "SUM_WIDE": _WIDE_SUM,
    "AVG_WIDE": "(" + _WIDE_SUM + ")::DOUBLE / nullif(count({x}) FILTER (WHERE {f}), 0)",
    "MIN": "min({x}) FILTER (WHERE {f})",
    "MAX": "max({x}) FILTER (WHERE {f})",
    "BOOL_AND": "bool_and({x}) FILTER (WHERE {f})",
    "BOOL_OR": "bool_or({x}) FILTER (WHERE {f})",
    "VAR_POP": "var_pop({x}) FILTER (WHERE {f}) + max(0 * {x}::DOUBLE) FILTER (WHERE {f})",
    "VAR_SAMP": "var_samp({x}) FILTER (WHERE {f}) + max(0 * {x}::DOUBLE) FILTER (WHERE {f})",
    "STDDEV_POP": "stddev_pop({x}) FILTER (WHERE {f}) + max(0 * {x}::DOUBLE) FILTER (WHERE {f})",
    "STDDEV_SAMP": "stddev_samp({x}) FILTER (WHERE {f}) + max(0 * {x}::DOUBLE) FILTER (WHERE {f})",
    "MIN_BY": "first({x} ORDER BY {y} ASC, {x} ASC NULLS LAST) FILTER (WHERE {f} AND {y} IS NOT NULL)",
    "MAX_BY": "first({x} ORDER BY {y} DESC, {x} DESC NULLS FIRST) FILTER (WHERE {f} AND {y} IS NOT NULL)",
    "FIRST": "first({x} ORDER BY __ts ASC, {x} ASC NULLS LAST) FILTER (WHERE {f})",
    "LAST": "first({x} ORDER BY __ts DESC, {x} DESC NULLS FIRST) FILTER (WHERE {f})",
    "MEDIAN": "quantile_cont({x}::DOUBLE, 0.5) FILTER (WHERE {f})",
    "PERCENTILE": "quantile_cont({x}::DOUBLE, {p}) FILTER (WHERE {f})",
    "COLLECT_LIST": "coalesce(list({x} ORDER BY __ts, {x}) FILTER (WHERE {f} AND {x} IS NOT NULL), [])",
    "COLLECT_SET": "coalesce(list_sort(list_distinct(list({x}) FILTER (WHERE {f} AND {x} IS NOT NULL))), [])",
    "MODE": "mode({x} ORDER BY {x}) FILTER (WHERE {f} AND {x} IS NOT NULL)",
    "BIT_AND": "bit_and({x}) FILTER (WHERE {f})",
    "BIT_OR": "bit_or({x}) FILTER (WHERE {f})",
    "BIT_XOR": "bit_xor({x}) FILTER (WHERE {f})",
    "COVAR_POP": _both("covar_pop"),
    "COVAR_SAMP": _both("covar_samp"),
    "CORR": "nullif(" + _both("corr") + ", 'nan'::DOUBLE)",
    # The least hashes of all values, if there are so many, say how densely they lie.
    "APPROX_COUNT_DISTINCT": "coalesce(CASE WHEN len(" + _HASHES + ") < {p} THEN len(" + _HASHES + ") "
    "ELSE round(({p} - 1) * (18446744073709551616::DOUBLE / " + _HASHES + "[{p}])) END, 0)::BIGINT",
}


def aggregate_sql(aggregate: Aggregate, args: tuple[str, ...], condition: str) -> str:
    """The SQL of a call over a group's rows; `args` and `condition` name the columns with its arguments and FILTER.

    >>> aggregate_sql(Aggregate("COUNT_ROWS"), (), "f0")
    'count(*) FILTER (WHERE f0)'
    """
    x, y = (*args, "", "")[:2]
    if aggregate.function == "APPROX_PERCENTILE":
        values, fraction = aggregate.params
        return _approximate_percentile(x, condition, values, fraction, aggregate.args[0].type)
    if aggregate.function not in _TEMPLATES:
        raise ValueError(f"the reference does not define {aggregate.function}")
    p = aggregate.params[0] if aggregate.params else ""
    sql = _TEMPLATES[aggregate.function].format(x=x, y=y, p=p, f=condition)
    return _as_bigint(sql) if aggregate.function == "SUM" and aggregate.args[0].type in _INTEGERS else sql


def first_rows_sql(aggregate: Aggregate, groups: Sequence[str], prefix: str, source: str) -> str:
    """The rows of a source that are the first of their groups, with their `rank`; the arguments of the call are `prefix_0`, ..."""
    function, count, *orders = aggregate.params
    names = [f"{prefix}_{i}" for i in range(len(aggregate.args))]
    by = [f"{n} {o}" for n, o in zip(names, orders, strict=False)]
    if function == "ROW_NUMBER":
        by += [f"{n} ASC NULLS FIRST" for n in names[len(orders) :]]
    within = f"PARTITION BY {', '.join(groups)} " if groups else ""
    return (
        f"SELECT *, {function}() OVER ({within}ORDER BY {', '.join(by)}) AS rank "
        f"FROM {source} QUALIFY rank <= {count}"
    )


def first_rows_columns(aggregate: Aggregate, prefix: str) -> list[str]:
    """What is known of each of the first rows: what they are listed with, and their rank."""
    first = len(aggregate.params) - 2
    return [*(f"{prefix}_{i} AS r{i - first}" for i in range(first, len(aggregate.args))), "rank"]


def _as_bigint(total: str) -> str:
    """A sum of integers is a BIGINT, or NULL where it does not fit."""
    return f"TRY_CAST({total} AS BIGINT)"


def _approximate_percentile(x: str, condition: str, values: str, fraction: str, type_: str) -> str:
    """The value of the rank, or the middle of its bucket where a group has more than so many different values."""
    numbers = f"list({x}::DOUBLE + 0 ORDER BY {x}::DOUBLE) FILTER (WHERE {condition} AND {x} IS NOT NULL)"
    found = f"({numbers})[greatest(1, ceil({fraction} * count({x}) FILTER (WHERE {condition})))::BIGINT]"
    few = f"list_unique({numbers}) <= {values}"
    return f"TRY_CAST(CASE WHEN {few} THEN {found} ELSE {bucketed(f'({found})', int(values))} END AS {type_})"
