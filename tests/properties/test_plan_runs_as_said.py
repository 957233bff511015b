"""A plan that is forced is what DuckDB runs: operators, order of inputs, and which side of a join is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.evaluations.base import Moment
from thalweg.engine.kernel import joins
from thalweg.engine.kernel.connection import connection
from thalweg.engine.kernel.connection import query as query_database
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.optimizer.workload import build
from thalweg.plan.shape import shape_of
from thalweg.testing.bound import bind_statements
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine

ROWS = {"small": 200, "middle": 1_000, "large": 5_000}
STREAM = "CREATE STREAM {n} (k BIGINT, j BIGINT, x BIGINT, at TIMESTAMP) WITH (format='parquet', path='{d}/{n}', time='at', watermark='0 s');"
AGGREGATE = "CREATE QUERY q AS SELECT {g}, COUNT(*) AS n, SUM(large.x) AS s FROM {f} WHERE {w} GROUP BY {g} EVERY 10 SECONDS;"
LINKS = {("small", "large"): "small.k = large.k", ("middle", "large"): "middle.j = large.j"}
TWO, THREE = ("small", "large"), ("small", "middle", "large")

Node = dict[str, Any]


def rows(name: str, batch: int) -> pa.Table:
    return duckdb.sql(
        f"""SELECT (i % 97)::BIGINT AS k, (i % 89)::BIGINT AS j, i::BIGINT AS x,
            make_timestamp(({batch} * 10_000_000 + i * 10_000_000 // {ROWS[name]})::BIGINT) AS at FROM range({ROWS[name]}) AS r(i)"""
    ).to_arrow_table()


def text(names: tuple[str, ...], window: str = "[TUMBLE 10 SECONDS]") -> str:
    links = " AND ".join(sql for both, sql in LINKS.items() if set(both) <= set(names))
    return AGGREGATE.format(g="small.j", f=", ".join(f"{n} {window}" for n in names), w=links)


def plans_run(monkeypatch: pytest.MonkeyPatch, root: Path, query: str, config: Config) -> list[Node]:
    """What DuckDB makes of every statement with a join, in three batches."""
    found: list[Node] = []
    original = query_database

    def looked_at(sql: str) -> pa.Table:
        if " JOIN " in sql:
            found.append(json.loads(connection().execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchall()[0][1])[0])
        return original(sql)

    monkeypatch.setattr(joins, "query", looked_at)
    bound = bind_statements("".join(STREAM.format(n=n, d=root) for n in ROWS if n in query) + query)
    engine = LocalEngine(
        root / "home", tuple(bound.streams.values()), tuple(bound.queries.values()), planner_for(config), 1
    )
    for batch in range(3):
        engine.batch(
            [(n, str(write_batches(root / n, bound.streams[n], [rows(n, batch)])[0])) for n in bound.streams]
        )
    return found


def below(node: Node) -> Iterator[Node]:
    yield node
    for child in node["children"]:
        yield from below(child)


def named(node: Node, *names: str) -> list[Node]:
    return [n for n in below(node) if n["name"] in names]


def named_conditions(join: Node) -> list[str]:
    found = join["extra_info"]["Conditions"]
    return [found] if isinstance(found, str) else found


def scanned(node: Node) -> int:
    """The rows of the largest table under a node, as DuckDB knows them."""
    return max(int(n["extra_info"].get("Estimated Cardinality", 0)) for n in below(node))


@pytest.mark.parametrize("evaluate", ["snapshot", "delta", "expiry", "materialize"])
@pytest.mark.parametrize("names", [TWO, TWO[::-1], THREE, ("large", "small", "middle")], ids="-".join)
def test_of_two_inputs_the_smaller_is_kept_and_linked_ones_meet_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, ...], evaluate: str
) -> None:
    window = "[TUMBLE 10 SECONDS]" if evaluate == "snapshot" else "[RANGE 20 SECONDS]"
    config = Config(early_aggregation="LAP", evaluate=evaluate, join="hash")
    plans = plans_run(monkeypatch, tmp_path, text(names, window), config)
    assert plans
    for plan in plans:
        assert not named(plan, "CROSS_PRODUCT")
        for join in named(plan, "HASH_JOIN") if evaluate == "snapshot" else []:
            probe, build = join["children"]
            assert scanned(probe) > scanned(build)


@pytest.mark.parametrize("evaluate", ["expiry", "delta"])
def test_new_rows_of_a_large_input_are_kept_and_the_old_ones_of_a_small_one_stream_past(
    evaluate: str,
) -> None:
    bound = bind_statements("".join(STREAM.format(n=n, d="d") for n in TWO) + text(TWO, "[RANGE 20 SECONDS]"))
    plan = build(
        bound.streams.values(),
        bound.queries.values(),
        planner_for(Config(early_aggregation="LAP", evaluate=evaluate, join="hash")),
    )
    shape = shape_of(plan, plan.joins[0])
    small, large = (s.id for s in shape.sides)
    sizes = {
        ("all", small): 200,
        ("old", small): 200,
        ("new", large): 20,
        ("all", large): 5_000,
        ("new", small): 1,
        ("old", large): 5_000,
    }
    moment = Moment(final=(11, 21), alive=(12,), shown=(12,), slots=((), (15,)), fresh=(1,), sizes=sizes)
    sql = next(s.sql for s in EVALUATIONS[evaluate].steps(shape, moment) if s.name in ("born", "changes"))
    assert sql.rindex(f"side_{small}") < sql.rindex(f"side_{large}"), "what is kept stands right of the other"


@pytest.mark.parametrize(("plan", "early"), [("LAP", 0), ("EAP10", 1), ("EAP01", 1), ("EAP11", 2)])
@pytest.mark.parametrize("method", ["hash", "loop"])
def test_inputs_are_aggregated_before_the_join_where_the_plan_says_so_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan: str, early: int, method: str
) -> None:
    plans = plans_run(
        monkeypatch, tmp_path, text(TWO), Config(early_aggregation=plan, evaluate="snapshot", join=method)
    )
    assert plans
    for found in plans:
        (top,) = named(found, "HASH_JOIN")
        assert len([n for n in below(top) if n["name"].endswith("GROUP_BY")]) == early
        keys = [c for c in named_conditions(top) if "c0" in c]
        assert len(keys) == 1 and keys[0].startswith("COALESCE") == (method == "loop"), (
            "nested loops look at every pair"
        )
