"""Queries with Python functions, created and dropped between batches, pooled and apart: each equals the definition, which calls what SQL has."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import EVALUATIONS, PLANS, Run, rows

from thalweg.api.handle import QueryHandle
from thalweg.expr.nodes import PYTHON, Call, Expr, Literal
from thalweg.expr.typing import typing_by
from thalweg.testing.bound import infer
from thalweg.testing.crowd import check_lives

PAIRS = "FROM s [RANGE {n} SECONDS], r [RANGE 2 SECONDS] WHERE "
SELECTS = (
    "SELECT more(k) AS k, window_id, window_end, COUNT(*) AS n, SUM(times(v, {n})) AS x FROM s"
    " GROUP BY more(k), WINDOWS(TUMBLE '1 second', TUMBLE '{n} seconds')",
    "SELECT k, window_end, MAX(more(v)) AS high FROM s"
    " WHERE more(v) > {n} GROUP BY k, HOP '{n} seconds' BY '1 second' HAVING more(COUNT(*)) > 2",
    "SELECT k, window_end, COUNT(*) FILTER (WHERE times(v, k) > 9) AS n FROM r WHERE v < 15 AND more(k) < 4 GROUP BY k, TUMBLE '1 second'",
    f"SELECT s.k, COUNT(*) AS n, SUM(times(s.v, r.v)) AS x {PAIRS} more(s.k) = r.k GROUP BY s.k EVERY 1 SECOND",
    f"SELECT s.k, s.v, r.v AS w, more(r.v) AS m {PAIRS} s.k = r.k AND times(s.v, {{n}}) < r.v",
    "SELECT top, COUNT(*) AS n FROM"
    " (SELECT k, window_end, more(MAX(v)) AS top FROM s GROUP BY k, TUMBLE '1 second') GROUP BY top, TUMBLE '2 seconds'",
    "SELECT more(k) AS k, times(more(v), v) AS w, at FROM s WHERE more(v) % {n} = 1",
)


def with_functions(run: Run) -> None:
    """The functions, which give NULL for NULL, as SQL's do."""
    run.session.function("more", lambda x: pc.add(x, 1), "BIGINT -> BIGINT")
    run.session.function("times", lambda x, y: pc.multiply(x, y), "BIGINT, BIGINT -> BIGINT")


def plain(value: Any) -> Any:
    """A value of the model in which SQL's own operators stand in the place of functions."""
    if isinstance(value, Expr):
        return value.mapped(_own)
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, Mapping) or not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{f.name: plain(getattr(value, f.name)) for f in fields(value) if f.init})


def _own(expr: Expr) -> Expr | None:
    if not isinstance(expr, Call) or expr.function != PYTHON:
        return None
    args, typing = tuple(map(plain, expr.args)), typing_by(infer)
    if expr.params[0] == "more":
        return typing.call("+", args[0], Literal("1", "BIGINT"))
    return typing.call("*", *args)


class Plain(QueryHandle):
    """A query whose definition calls no function."""

    @property
    def query(self) -> Any:
        """What it asks, by operators of SQL alone."""
        return plain(super().query)


def check(run: Run) -> int:
    """Compare everything with the definition; returns how many results there are."""
    handles = [copy(q) for q in run.made.values() if q.epoch is not None]
    for handle in handles:
        handle.__class__ = Plain
    return check_lives(handles, run.session.catalog.streams, run.fed)


@given(hs.data())
def test_queries_with_functions(tmp_path_factory: pytest.TempPathFactory, data: hs.DataObject) -> None:
    run = Run(tmp_path_factory.mktemp("run"), data.draw(hs.integers(1, 3)))
    with_functions(run)
    random = Random(data.draw(hs.integers(0, 1000)))
    for batch in range(data.draw(hs.integers(2, 5))):
        for _ in range(data.draw(hs.integers(0 if batch else 1, 3))):
            text = data.draw(hs.sampled_from(SELECTS)).format(n=data.draw(hs.integers(2, 4)))
            run.create(text)
        if batch and run.live and data.draw(hs.booleans()):
            run.drop(data.draw(hs.sampled_from(run.live)))
        run.session.set("plan.sharing", data.draw(hs.sampled_from(["best", "all", "off"])))
        run.session.set("plan.evaluate", data.draw(hs.sampled_from(EVALUATIONS)))
        run.session.set("plan.early_aggregation", data.draw(hs.sampled_from(PLANS)))
        run.feed({n: rows(random, batch * 2, 30) for n in run.names})
    check(run)
    run.session.close()


def test_all_of_them_have_results(tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(5)
    with_functions(run)
    for text in SELECTS:
        run.create(text.format(n=3))
    for batch in range(6):
        run.feed({n: rows(random, batch * 2, 30) for n in run.names})
    assert check(run) > 500 and all(q.results().num_rows for q in run.made.values())
    run.session.close()
