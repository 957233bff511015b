"""OVER: each row once the frontier has passed it, with what its calls give by the rows of its key before it, or after it.

What is needed of rows before the batch is either in the side, where they are told by their event time alone, or kept: of each key the last
rows, each with what all rows up to it make (`"u0_0"`, ...) and, where rows wait for later ones, with what else it gives (`"s0"`, ...).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from thalweg.compile.evaluations.base import KEPT, SHOWN, Evaluation, Meetings, Moment, Statements, Step, Work
from thalweg.expr.nodes import Expr
from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import AGGREGATES, PartColumn, part_columns
from thalweg.model.query import Aggregate, Query, joined_name
from thalweg.model.running import LEAD, ROWS, Running, RunningCall
from thalweg.once import cached_property
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin
from thalweg.plan.nodes import Fragment
from thalweg.plan.ranges import LOWEST, Frontiers, Range
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics

ORDERED = "ordered"
"""The table of rows in their places, with what calls give."""
PLACE = '"n"'
LAST_FIRST = '"slot" DESC, "m" DESC'


@dataclass(frozen=True)
class _Rows:
    """The rows of a query with OVER, as columns of its side."""

    shape: Shape

    @property
    def query(self) -> Query:
        """What is asked."""
        return self.shape.query

    @property
    def side(self) -> Fragment:
        """What is kept of the stream."""
        return self.shape.sides[0]

    @cached_property
    def running(self) -> Running:
        """What is asked of the rows; calls read columns of the side."""
        assert self.query.running is not None
        return replace(
            self.query.running, calls=tuple(replace(c, call=self._call(c)) for c in self.query.running.calls)
        )

    @cached_property
    def calls(self) -> list[tuple[int, RunningCall]]:
        """The calls with their numbers."""
        return list(enumerate(self.running.calls))

    @property
    def keys(self) -> list[str]:
        """The columns that make up the key."""
        return [f'"c{self.side.place_of((k.bare or k.expr).sql)}"' for k in self.query.keys]

    @property
    def ties(self) -> list[str]:
        """What rows of one event time are in order by."""
        return [f'"c{self.side.place_of(identifier(t))}" NULLS FIRST' for t in self.running.ties]

    @property
    def columns(self) -> list[str]:
        """What the side has of a row."""
        return [*self.side.keys, '"slot"']

    def shown(self, expr: Expr) -> str:
        """A result, or a condition on one."""
        given = self.query.inputs[0].alias
        names = {joined_name(given, c.name): c.name for c in self.query.columns}
        return expr.renamed(lambda n: self._column(names[n]) if n in names else n).sql

    def over(self, order: str) -> str:
        """A window over the rows of a key."""
        return f"(PARTITION BY {', '.join(self.keys)} ORDER BY {order})"

    def framed(self, call: RunningCall) -> str:
        """The window of the rows of a frame."""
        length = "UNBOUNDED" if call.frame.length is None else str(call.frame.length)
        order = '"n" ROWS' if call.frame.kind == ROWS else '"slot" RANGE'
        return self.over(f"{order} {length} PRECEDING")

    def stored(self) -> list[tuple[int, RunningCall]]:
        """The calls of which a row that waits remembers what they gave."""
        return [(i, c) for i, c in self.calls if c.call.function != LEAD] if self.running.ahead else []

    def totals(self) -> list[str]:
        """The parts of calls over all rows so far."""
        return [f"{i}_{j}" for i, c in self.calls if c.of_all for j, _ in enumerate(part_columns(c.call))]

    def recent(self, frontier: int) -> str:
        """Which of the rows that are kept later rows need, by their places from the last one."""
        near = f' OR "slot" >= {frontier - self.running.length}' if self.running.length else ""
        return f'("back" <= {self.running.rows}{near})'

    def _column(self, name: str) -> str:
        return f"c{self.side.place_of(identifier(name))}"

    def _call(self, call: RunningCall) -> Aggregate:
        args = tuple(a.renamed(self._column) for a in call.call.args)
        where = None if call.call.where is None else call.call.where.renamed(self._column)
        return replace(call.call, args=args, where=where)


def final_slots(shape: Shape, waited: tuple[Frontiers, Frontiers]) -> Range:
    """The event times [low, high) that the frontier passes."""
    (stream,) = shape.query.streams
    before, after = (f.get(stream) for f in waited)
    return LOWEST if before is None else before, LOWEST if after is None else after


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    """The rows that are in their places now, and of them what is shown and what is kept."""
    low, high = final_slots(shape, moment.waited)
    if low >= high:
        return
    rows = _Rows(shape)
    yield Step("in order", _ordered(rows, (low, high), moment.kept), ORDERED)
    yield Step("show", _shown(rows, moment.kept), SHOWN, pairs=True)
    if rows.running.rows:
        yield Step("keep", _kept(rows, high), KEPT)


def _ordered(rows: _Rows, final: Range, kept: bool) -> str:
    """New rows and those before them that count, each in its place, with what calls give."""
    low, high = final
    table, seen = f'"side_{rows.side.id}"', rows.shape.visible(0)
    bounds = f'"slot" >= {low} AND "slot" < {high} AND {seen}'
    context = _from_kept(rows, low) if kept else _from_side(rows, table, low, seen)
    same = " AND ".join(f"l.{k} IS NOT DISTINCT FROM f.{k}" for k in rows.keys)
    met = 'SELECT *, TRUE AS "new" FROM "fresh"'
    if context:
        met += f' UNION ALL BY NAME SELECT l.*, FALSE AS "new" FROM ({context}) AS l SEMI JOIN "fresh" AS f ON {same}'
    before = ['"m"'] if kept else []
    order = ", ".join(['"slot"', *before, *rows.ties])
    place = f"row_number() OVER {rows.over(order)} AS {PLACE}"
    shown = [*rows.columns, '"new"', '"n"', *(['"was"'] if kept else [])]
    more = [f'"s{i}"' for i, _ in rows.stored()] if kept else []
    results = [f'{sql} AS "o{i}"' for i, sql in _results(rows, kept)]
    given = ", ".join([*shown, *_totals(rows), *results])
    back = f'row_number() OVER {rows.over(f"{PLACE} DESC")} AS "back"'
    return (
        f'WITH "fresh" AS (SELECT {", ".join(rows.columns)} FROM {table} WHERE {bounds}),\n"met" AS ({met}),\n'
        f'"placed" AS (SELECT *, "slot" AS "__time", {place} FROM "met"),\n'
        f'"lifted" AS (SELECT {", ".join([*shown, *more, *_entering(rows, kept)])} FROM "placed")\n'
        f'SELECT {given}, {back}\nFROM (SELECT {", ".join([*shown, *more, *_windows(rows)])} FROM "lifted")'
    )


def _from_kept(rows: _Rows, low: int) -> str:
    """The rows that are kept, as far as they count; totals are those of the last one of a key."""
    last = [f'CASE WHEN "was" = 1 THEN "u{t}" END AS "u{t}"' for t in rows.totals()]
    place = f"row_number() OVER {rows.over(LAST_FIRST)}"
    held = f'SELECT *, {place} AS "was" FROM "{KEPT}"'
    near = rows.recent(low).replace('"back"', '"was"')
    replaced = f" REPLACE ({', '.join(last)})" if last else ""
    return f"SELECT *{replaced} FROM ({held}) WHERE {near}"


def _from_side(rows: _Rows, table: str, low: int, seen: str) -> str:
    if not rows.running.length or not rows.running.by_time_alone or low == LOWEST:
        return ""
    since = low - rows.running.length
    return (
        f'SELECT {", ".join(rows.columns)} FROM {table} WHERE "slot" >= {since} AND "slot" < {low} AND {seen}'
    )


def _parts(call: RunningCall) -> list[tuple[int, PartColumn]]:
    return list(enumerate(part_columns(call.call))) if call.is_aggregate else []


def _entering(rows: _Rows, kept: bool) -> Iterator[str]:
    """What a row adds to aggregates; in the place of a total the last row before the batch adds that."""
    for i, call in rows.calls:
        for j, part in _parts(call):
            unit = f"({part.unit})"
            if call.of_all and kept:
                unit = f'CASE WHEN "new" THEN {unit} ELSE "u{i}_{j}" END'
            yield f'{unit} AS "p{i}_{j}"'
        if not call.is_aggregate:
            yield from (f'{a.sql} AS "x{i}_{j}"' for j, a in enumerate(call.call.args))


def _windows(rows: _Rows) -> Iterator[str]:
    """Parts over their frames, and values of other rows."""
    for i, call in rows.calls:
        for j, part in _parts(call):
            combined = part.part.combine(f'"p{i}_{j}"', f" OVER {rows.framed(call)}")
            yield f'{combined} AS "w{i}_{j}"'
        if not call.is_aggregate:
            value, *other = (f'"x{i}_{j}"' for j in range(len(call.call.args)))
            args = ", ".join([value, str(call.frame.length or 0), *other])
            yield f'{call.call.function.lower()}({args}) OVER {rows.over(PLACE)} AS "w{i}_0"'


def _totals(rows: _Rows) -> list[str]:
    return [f'"w{t}" AS "u{t}"' for t in rows.totals()]


def _results(rows: _Rows, kept: bool) -> Iterator[tuple[int, str]]:
    """What each call gives; a row that waited has what it was given when it came."""
    remembered = {i for i, _ in rows.stored()} if kept else set()
    for i, call in rows.calls:
        found = f'"w{i}_0"'
        if call.is_aggregate:
            names = tuple(f'"w{i}_{j}"' for j, _ in _parts(call))
            types = tuple(a.type for a in call.call.args)
            found = AGGREGATES[call.call.function].lower(names, types, call.call.params)
        yield i, f'CASE WHEN "new" THEN {found} ELSE "s{i}" END' if i in remembered else found


def _shown(rows: _Rows, kept: bool) -> str:
    """What is shown of rows that are in their places, and wait for no other."""
    ahead = rows.running.ahead
    wanted = ['"new"'] if not ahead else [f'"back" > {ahead}']
    wanted += [f'("new" OR "was" <= {ahead})'] if ahead and kept else []
    wanted += [f"({rows.shown(t.expr)})" for t in rows.query.kept]
    outputs = ", ".join(f"{rows.shown(o.expr)} AS {identifier(o.name)}" for o in rows.query.outputs)
    return f'SELECT {outputs}\nFROM "{ORDERED}" WHERE {" AND ".join(wanted)}'


def _kept(rows: _Rows, frontier: int) -> str:
    """Of the new rows those that later ones need."""
    more = [f'"u{t}"' for t in rows.totals()] + [f'"o{i}" AS "s{i}"' for i, _ in rows.stored()]
    columns = ", ".join([*rows.columns, '"n" AS "m"', *more])
    return f'SELECT {columns} FROM "{ORDERED}" WHERE "new" AND {rows.recent(frontier)}'


def trimmed_sql(shape: Shape, table: str, frontier: int) -> str:
    """Of rows that are kept those that later ones need."""
    rows = _Rows(shape)
    place = f'row_number() OVER {rows.over(LAST_FIRST)} AS "back"'
    return f'SELECT * EXCLUDE ("back") FROM (SELECT *, {place} FROM "{table}") WHERE {rows.recent(frontier)}'


def _meetings(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    return {0: [h.rate * statistics.batch / SECOND for h in join.held]}


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    """Each row is put in order with what counts of those before it; of each key some rows are kept."""
    running, c = join.query.running, join.constants
    assert running is not None
    kept, held = statistics.groups * running.rows, join.held[0]
    read = (kept + held.window) / max(statistics.batch / SECOND, 1e-6)
    return [("windows", read * c.copy), ("in order", held.rate * c.group)], kept, held.rate


RUNNING = Evaluation(
    name="running",
    words="rows that the watermark has passed are put in order, each key by itself, and become results",
    statements=Statements(3),
    steps=_steps,
    meetings=_meetings,
    work=_work,
    serves=lambda query: query.running is not None,
    keeps=0,
    merges=True,
    takes="rows in order",
    row_bytes=lambda widths: widths.sides[0, False],
)
