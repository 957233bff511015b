"""Each aggregate function as the definition has it: DuckDB's own aggregates straight over the rows of a window."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.model.query import Aggregate

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
}


def aggregate_sql(aggregate: Aggregate, args: tuple[str, ...], condition: str) -> str:
    """The SQL of a call over a group's rows; `args` and `condition` name the columns with its arguments and FILTER.

    >>> aggregate_sql(Aggregate("COUNT_ROWS"), (), "f0")
    'count(*) FILTER (WHERE f0)'
    """
    if aggregate.function not in _TEMPLATES:
        raise ValueError(f"the reference does not define {aggregate.function}")
    x, y = (*args, "", "")[:2]
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
