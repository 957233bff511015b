"""Joins of values at the edge of their types, of odd texts and of odd times, under every plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from thalweg.compile.evaluations import expiry
from thalweg.errors import UsageError
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.statistics.known import join_name
from thalweg.testing.bound import Bound, bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

S, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
STREAM = "CREATE STREAM {n} (k {t}, x {u}, at TIMESTAMP) WITH (format='parquet', path='{d}/{n}', time='at', watermark='0 seconds');"
TYPES = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "FLOAT": pa.float32(),
    "DECIMAL(38,0)": pa.decimal128(38),
    "DECIMAL(38,10)": pa.decimal128(38, 10),
}
W = "[RANGE 10 SECONDS]"
END = [(0, 0, 40 * S)]
PLANS = [(p, e) for p in ("LAP", "EAP10", "EAP01", "EAP11") for e in ("snapshot", "delta", "expiry")]
PLANS += [("EAP11", "wide")]

Rows = Sequence[tuple[Any, Any, int]]


def run(
    root: Path,
    types: Mapping[str, tuple[str, str]],
    query: str,
    batches: Sequence[Mapping[str, Rows]],
    config: Config,
) -> tuple[LocalEngine, Bound]:
    sql = "".join(STREAM.format(n=n, t=k, u=x, d=root) for n, (k, x) in types.items())
    bound = bind_statements(f"{sql} CREATE QUERY q AS {query};")
    engine = LocalEngine(
        root / "home", tuple(bound.streams.values()), tuple(bound.queries.values()), planner_for(config), 2
    )
    for batch in batches:
        engine.batch(
            [
                (n, str(write_batches(root / n, bound.streams[n], [table(types[n], r)])[0]))
                for n, r in batch.items()
            ]
        )
    return engine, bound


def table(types: tuple[str, str], rows: Rows) -> pa.Table:
    columns = [pa.array([_typed(r[i], t) for r in rows], TYPES[t]) for i, t in enumerate(types)]
    return pa.table([*columns, pa.array([r[2] for r in rows], pa.timestamp("us"))], names=["k", "x", "at"])


def _typed(value: Any, type_: str) -> Any:
    return Decimal(value) if type_.startswith("DECIMAL") else value


def found(engine: LocalEngine, bound: Bound) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = engine.results(bound.queries["q"]).to_pylist()
    return rows


@pytest.mark.parametrize("method", ["hash", "loop"])
@pytest.mark.parametrize(
    ("a", "b", "left", "right", "equal"),
    [
        ("DECIMAL(38,0)", "DECIMAL(38,10)", ["2", "3", "9" * 38], ["1.5", "2.5", "3"], [3]),
        ("INT", "FLOAT", [16_777_217, 5], [16_777_216.0, 5.0], [5]),
        ("INT", "DECIMAL(38,10)", [1, 2], ["1.0000000001", "2"], [2]),
    ],
)
def test_only_equal_numbers_are_partners(
    tmp_path: Path, a: str, b: str, left: list[Any], right: list[Any], equal: list[int], method: str
) -> None:
    types = {"a": (a, "BIGINT"), "b": (b, "BIGINT")}
    rows = {"a": [(v, 0, S) for v in left], "b": [(v, 0, S) for v in right]}
    assert [
        r["k"]
        for r in found(
            *run(
                tmp_path, types, f"SELECT a.k FROM a {W}, b {W} WHERE a.k = b.k", [rows], Config(join=method)
            )
        )
    ] == equal


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("a.k <> b.k", [2]),
        ("a.k > b.k", [2]),
        ("a.k > 1.5", [2]),
        ("a.k NOT IN (b.k, 7)", [2]),
        ("a.x IN (b.k, a.k)", [2]),
        ("NOT a.k <=> b.k", [2, 10**38 - 1]),
        ("CASE a.k WHEN b.k THEN 1 ELSE 2 END = 2 AND NULLIF(a.k, b.k) > 0", [2, 10**38 - 1]),
    ],
)
def test_a_number_that_does_not_fit_stops_nothing(tmp_path: Path, condition: str, kept: list[int]) -> None:
    types = {"a": ("DECIMAL(38,0)", "BIGINT"), "b": ("DECIMAL(38,10)", "BIGINT")}
    rows = {"a": [("2", 2, S), ("9" * 38, 0, S)], "b": [("1.5", 0, S)]}
    query = f"SELECT a.k, a.k > b.k AS more, a.k < b.k AS less FROM a {W}, b {W} WHERE {condition}"
    given = found(*run(tmp_path, types, query, [rows], Config()))
    assert sorted(int(r["k"]) for r in given) == kept
    assert [(r["more"], r["less"]) for r in given if r["k"] == 2] == [(True, False)]


def test_a_list_of_floats_and_integers_is_compared_as_single_ones_are(tmp_path: Path) -> None:
    types = {"a": ("INT", "BIGINT"), "b": ("FLOAT", "BIGINT")}
    rows: dict[str, Any] = {"a": [(16_777_217, 0, S), (16_777_216, 0, S)], "b": [(16_777_216.0, 0, S)]}
    assert [
        r["k"]
        for r in found(
            *run(tmp_path, types, f"SELECT a.k FROM a {W}, b {W} WHERE a.k IN (b.k, 7)", [rows], Config())
        )
    ] == [16_777_216]


@pytest.mark.parametrize("evaluate", ["snapshot", "delta", "wide", "expiry"])
def test_sums_of_products_with_two_large_counts(tmp_path: Path, evaluate: str) -> None:
    query = f"SELECT SUM(a.x + b.x) AS s FROM a {W}, b {W} WHERE a.k = b.k EVERY 10 SECONDS"
    types = {"a": ("BIGINT", "INT"), "b": ("BIGINT", "INT")}
    first = {n: [(1, 1_000_000_000, S)] * 70_000 for n in "ab"} | {
        "b": [(1, 1_000_000_000, S)] * 70_000 + [(2, 0, S)]
    }
    least = {"a": [(0, -(2**31), 25 * S)], "b": [(0, 0, 25 * S)]}
    config = Config(early_aggregation="EAP11", evaluate=evaluate)
    engine, bound = run(tmp_path, types, query, [first, least, {"a": END, "b": END}], config)
    assert [r["s"] for r in found(engine, bound)] == [None, -(2**31)]


@pytest.mark.parametrize(("plan", "evaluate"), PLANS)
def test_sums_of_the_greatest_numbers(tmp_path: Path, plan: str, evaluate: str) -> None:
    query = f"SELECT SUM(a.x) AS s, AVG(a.x) AS m, SUM(a.x + b.x) AS t FROM a {W}, b {W} WHERE a.k = b.k EVERY 10 SECONDS"
    types = {"a": ("BIGINT", "BIGINT"), "b": ("BIGINT", "BIGINT")}
    first = {"a": [(1, 2**63 - 1, S), (1, -(2**63), S), (1, 7, S)], "b": [(1, -5, S)] * 3}
    engine, bound = run(
        tmp_path,
        types,
        query,
        [first, {"a": END, "b": END}],
        Config(early_aggregation=plan, evaluate=evaluate),
    )
    (row,) = found(engine, bound)
    assert (row["s"], row["m"]) == (18, 2.0)


@pytest.mark.parametrize("plan", ["LAP", "EAP10", "EAP01", "EAP11"])
def test_sums_of_floats_are_those_of_doubles(tmp_path: Path, plan: str) -> None:
    query = f"SELECT SUM(a.x) AS s, SUM(a.x + b.x) AS t FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.k EVERY 10 SECONDS"
    types = {"a": ("BIGINT", "FLOAT"), "b": ("BIGINT", "FLOAT")}
    first = {"a": [(1, 3e38, S), (2, 0.1, S)], "b": [(k, 0.0, S) for k in (1, 2)] * 3}
    engine, bound = run(
        tmp_path,
        types,
        query,
        [first, {"a": END, "b": END}],
        Config(early_aggregation=plan, evaluate="snapshot"),
    )
    small, large = sorted((r["s"], r["t"]) for r in found(engine, bound))
    assert small == pytest.approx((0.30000000447, 0.30000000447), rel=1e-9) and large == pytest.approx(
        (9e38, 9e38), rel=1e-6
    )


def test_more_pairs_than_can_be_counted(tmp_path: Path) -> None:
    inputs, equal = (
        ", ".join(f"a AS t{i} {W}" for i in range(5)),
        " AND ".join(f"t{i}.k = t{i + 1}.k" for i in range(4)),
    )
    query = f"SELECT COUNT(*) AS n, VAR_POP(t0.x) AS v, MAX(t1.x) AS m FROM {inputs} WHERE {equal} EVERY 10 SECONDS"
    batches = [{"a": [(1, i % 2, S) for i in range(10_000)]}, {"a": END}]
    (row,) = found(
        *run(
            tmp_path,
            {"a": ("BIGINT", "BIGINT")},
            query,
            batches,
            Config(early_aggregation="EAP11111", evaluate="snapshot"),
        )
    )
    assert (row["n"], row["v"], row["m"]) == (None, 0.25, 1)


@pytest.mark.parametrize("plan", ["LAP", "EAP11"])
def test_a_window_without_end_begins_with_its_query(tmp_path: Path, plan: str) -> None:
    """Also within a slot that other queries have rows of."""
    text = "SELECT COUNT(*) AS n FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k EVERY 1 HOUR"
    sql = "".join(STREAM.format(n=n, t="BIGINT", u="BIGINT", d=tmp_path) for n in "ab")
    bound = bind_statements(f"{sql} CREATE QUERY first AS {text}; CREATE QUERY q AS {text};")
    first, second = (bound.queries[n] for n in ("first", "q"))
    config = Config(early_aggregation=plan, evaluate="snapshot")
    engine = LocalEngine(tmp_path / "home", tuple(bound.streams.values()), (first,), planner_for(config), 2)
    start, kind = 10 * HOUR, ("BIGINT", "BIGINT")
    batches = [
        {"a": [(1, 1, start + 5 * MINUTE)], "b": [(1, 1, start + 5 * MINUTE)]},
        {"a": [(1, 1, start + 10 * MINUTE), (1, 1, start + 30 * MINUTE)], "b": [(1, 1, start + 20 * MINUTE)]},
        {"a": [(9, 0, start + 3 * HOUR)], "b": [(9, 0, start + 3 * HOUR)]},
    ]
    tables = [{n: table(kind, rows) for n, rows in b.items()} for b in batches]
    for number, batch in enumerate(tables):
        if number == 1:
            engine.queries = (first, second)
            engine.changed()
        engine.batch(
            [(n, str(write_batches(tmp_path / n, bound.streams[n], [t])[0])) for n, t in batch.items()]
        )
    begin = dict.fromkeys("ab", start + 5 * MINUTE + 1)
    assert isinstance(first, Query) and isinstance(second, Query)
    compare(engine.results(first), reference_join(first, bound.streams, tables))
    expected = reference_join(second, bound.streams, tables, begin=begin)
    assert [r["n"] for r in expected.to_pylist()] == [2, 2, 2]
    compare(engine.results(second), expected)


def test_a_text_that_looks_like_a_column_changes(tmp_path: Path) -> None:
    value = """IF(COUNT(*) > 1, 'the "window_end"', 'x') AS z"""
    query = f"SELECT a.k, {value} FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.k EVERY 5 SECONDS EMIT CHANGES"
    types = {"a": ("BIGINT", "BIGINT"), "b": ("BIGINT", "BIGINT")}
    batches = [{"a": [(1, 1, S)], "b": [(1, 1, S), (1, 1, 6 * S)]}, {"a": END, "b": END}]
    engine, bound = run(tmp_path, types, query, batches, Config())
    compare(engine.results(bound.queries["q"]), _expected(bound, types, batches))
    assert [r["z"] for r in found(engine, bound)][:2] == ["x", 'the "window_end"']


def test_a_time_beyond_all_calendars_is_none(tmp_path: Path) -> None:
    query = f"SELECT a.k, COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.k EVERY 10 SECONDS"
    types = {"a": ("BIGINT", "BIGINT"), "b": ("BIGINT", "BIGINT")}
    batches = [
        {"a": [(1, 1, 2**63 - 1), (1, 1, S), (1, 1, -(2**63) + 5)], "b": [(1, 1, S)] * 3},
        {"a": END, "b": END},
    ]
    engine, bound = run(tmp_path, types, query, batches, Config())
    assert [(r["k"], r["n"]) for r in found(engine, bound)] == [(1, 3)]


def _expected(
    bound: Bound, types: Mapping[str, tuple[str, str]], batches: Sequence[Mapping[str, Rows]]
) -> pa.Table:
    query = bound.queries["q"]
    assert isinstance(query, Query)
    return reference_join(
        query, bound.streams, [{n: table(types[n], r) for n, r in b.items()} for b in batches]
    )


@pytest.mark.parametrize(
    ("evaluate", "few"), [("expiry", 0), ("expiry", 10_000), ("snapshot", 0), ("materialize", 0)]
)
@pytest.mark.parametrize("plan", ["LAP", "EAP10", "EAP11"])
def test_pairs_are_made_and_merged_once_for_many_instants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str, evaluate: str, few: int
) -> None:
    """Batches of none, one and many instants; pairs that die in the batch of their birth, and that outlive several."""
    monkeypatch.setattr(expiry, "FEW_LIVES", few)
    calls = "COUNT(*) AS n, SUM(a.x) AS s, MAX(b.x) AS m, AVG(b.x) AS g, COUNT(DISTINCT b.x) AS d, MEDIAN(a.x) AS h, VAR_POP(b.x) AS v"
    query = f"SELECT a.k, {calls} FROM a [RANGE 20 SECONDS], b [RANGE 12 SECONDS] WHERE a.k = b.k GROUP BY a.k EVERY 1 SECOND"
    types = {"a": ("BIGINT", "BIGINT"), "b": ("BIGINT", "BIGINT")}
    ends = [0, 1, 9, 10, 30, 31, 60, 100]
    batches = [
        {
            n: [((i * 7 + j) % 3, (i * i + j) % 11, i * S // 3) for i in range(3 * low, 3 * high)]
            for j, n in enumerate("ab")
        }
        for low, high in pairwise(ends)
    ]
    engine, bound = run(tmp_path, types, query, batches, Config(early_aggregation=plan, evaluate=evaluate))
    compare(engine.results(bound.queries["q"]), _expected(bound, types, batches))


def test_hash_needs_equated_columns(tmp_path: Path) -> None:
    types = {"a": ("BIGINT", "BIGINT"), "b": ("BIGINT", "BIGINT")}
    with pytest.raises(UsageError, match=r"no plan with plan\.join = hash"):
        run(
            tmp_path,
            types,
            f"SELECT a.k FROM a {W}, b {W} WHERE a.k < b.k",
            [{"a": END}],
            Config(join="hash"),
        )


def test_groups_are_counted_once_however_many_partitions_have_pairs_of_them(tmp_path: Path) -> None:
    query = f"SELECT a.x, COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.x EVERY 10 SECONDS"
    types = {"a": ("BIGINT", "BIGINT"), "b": ("BIGINT", "BIGINT")}
    rows = [(k, k % 4, S) for k in range(40)]
    engine, bound = run(tmp_path, types, query, [{"a": rows, "b": rows}, {"a": END, "b": END}], Config())
    assert engine.runner.manifest.seen.keys[join_name(bound.queries["q"])] == 4
