"""Rows of results to the files of the queries that asked for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext

import numpy as np
import pyarrow as pa

from thalweg.connectors.base import sink_at
from thalweg.connectors.shared import Part, chosen, counted, labelled, places
from thalweg.engine.blame import blaming_sink
from thalweg.engine.faults import reach
from thalweg.engine.task import Notes, Result, Task
from thalweg.model.nesting import is_nested
from thalweg.plan.nodes import Plan

POOL = "pool:"
"""Stands before the name of a pool where the name of a query could stand."""
FEW = 8
"""Queries up to which each has files of its own."""


def show(task: Task, report: Notes, queries: Iterable[str], table: pa.Table, stage_name: str) -> int:
    """Stage a result for every query that it is of; those of nested queries go on."""
    for name in queries if table.num_rows else ():
        if is_nested(name):
            report.passed.setdefault(name, []).append(table)
            continue
        staged = _staged(task, report, name, table, stage_name)
        report.results.append(Result(name, staged, table.num_rows))
    return int(table.num_rows)


def show_shared(
    task: Task,
    report: Notes,
    plan: Plan,
    pool: str,
    table: pa.Table,
    parts: Mapping[str, Part],
    stage_name: str,
) -> int:
    """Stage a result with query-sets: as one file for many queries that have no place of their own, else for each its rows."""
    own = {q: p for q, p in parts.items() if plan.query(q).into is not None or is_nested(q)}
    own = dict(parts) if len(parts) - len(own) <= FEW else own
    for query, part in own.items() if table.num_rows else ():
        show(task, report, [query], chosen(table, part), stage_name)
    rest = {q: p for q, p in parts.items() if q not in own}
    if table.num_rows and own:
        some = [places(table, bit) for bit in {p.bit for p in rest.values()}]
        table = table.take(pa.array(np.unique(np.concatenate(some)) if some else np.zeros(0, np.int64)))
    members = counted(table, rest) if table.num_rows else {}
    if members:
        name = f"{POOL}{pool}"
        staged = _staged(
            task, report, name, labelled(table, {q: p for q, p in rest.items() if q in members}), stage_name
        )
        report.results.append(Result(name, staged, table.num_rows, members))
    return int(table.num_rows)


def _staged(task: Task, report: Notes, name: str, table: pa.Table, stage_name: str) -> str:
    reach(f"{stage_name}:before-results", task.fault)
    with nullcontext() if name.startswith(POOL) else blaming_sink(name, task.outputs[name], task.state):
        staged = sink_at(task.outputs[name]).stage(table, task.batch, report.part)
    reach(f"{stage_name}:after-results", task.fault)
    return staged
