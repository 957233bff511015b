"""Final window instances to the rows that a user sees, as SQL steps over named inputs and `$parameters`.

`all_F` are the instances of node F that the step may need (state and what this batch brought), `new_F` those that this
batch made final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thalweg.compile.cells import Cells, cells_of
from thalweg.compile.derive import derive_sql
from thalweg.compile.pieces import BEGIN, SLOT, combined, places
from thalweg.expr.quoting import identifier, quoted
from thalweg.model.aggregates import PartColumn, lowered, part_columns
from thalweg.model.query import Output, Query
from thalweg.model.windows import Window
from thalweg.plan.arithmetic import HALF
from thalweg.plan.narrowed import of_groups
from thalweg.plan.nodes import BEGUN, Derived, Emission, Fragment, Plan
from thalweg.plan.pool import MEMBER, numbered
from thalweg.plan.ranges import Range, whole_from, window_of

MOST_OVERLAP = 16
Member = tuple[Emission, Derived, Range]


@dataclass(frozen=True)
class EmissionStep:
    """The SQL that turns final instances into results of one window."""

    emission: int
    inputs: tuple[str, ...]
    parts: frozenset[str]
    sql: str


def result_sql(query: Query, emission: Emission, source: str) -> str:
    """Final instances, one row per key and instance, to the query's result columns."""
    window = window_of(emission)
    start = f'"slot" * {window.slide} + {window.offset}'
    return _lowered_sql(query, source, quoted(emission.window_id), start, f"{start} + {window.range}")


def _final_sessions(emission: Emission, number: int) -> str:
    """The sessions that an emission gives out: those whose last row is final, of which no row came before it began."""
    begun = whole_from(emission)
    since = f" AND {BEGIN} >= {begun}" if begun is not None else ""
    return f'SELECT * FROM "all_{emission.nodes[0]}" WHERE {SLOT} >= $low_{number} AND {SLOT} < $high_{number}{since}'


def _session_step(query: Query, number: int, emission: Emission) -> EmissionStep:
    end = f"{SLOT} + {window_of(emission).range}"
    source = _final_sessions(emission, number)
    parts = frozenset({BEGUN.name, *(p.name for p in query_parts(query))})
    sql = _lowered_sql(query, source, quoted(emission.window_id), BEGIN, end)
    return EmissionStep(number, (f"all_{emission.nodes[0]}",), parts, sql)


def _lowered_sql(
    query: Query, source: str, window_id: str, start: str, end: str, more: tuple[str, ...] = ()
) -> str:
    order = sorted({k.sql for k in query.keys})
    keys = [f'"c{order.index(k.sql)}" AS "k{i}"' for i, k in enumerate(query.keys)]
    aggregates = [f'{lowered(a)} AS "a{i}"' for i, a in enumerate(query.calls)]
    window = [
        f'{window_id} AS "window_id"',
        f'make_timestamp({start}) AS "window_start"',
        f'make_timestamp({end}) AS "window_end"',
    ]
    inner = f"SELECT {', '.join([*keys, *aggregates, *window, *more])}\nFROM ({source})"
    having = f"\nWHERE {query.having}" if query.having else ""
    return f"SELECT {', '.join([outputs_sql(query), *more])}\nFROM ({each_sql(query, inner)}){having}"


def each_sql(query: Query, groups: str) -> str:
    """Groups as they are shown: one by one, or each of the rows that they list."""
    if not query.unnested:
        return groups
    return f'SELECT * EXCLUDE ("a0"), unnest("a0", max_depth := 2)\nFROM ({groups})'


def outputs_sql(query: Query) -> str:
    """The columns of a result."""
    return ", ".join(output_columns(query.outputs))


def output_columns(outputs: Iterable[Output]) -> list[str]:
    """Columns of a result, each of its type."""
    return [f"CAST({o.sql} AS {o.type}) AS {identifier(o.name)}" for o in outputs]


def bundle_sql(query: Query, source: Fragment | Derived, members: Sequence[Member]) -> str:
    """Results of several windows that are computed from the same source, in one pass over it.

    With a the window's slide and b its offset, both in slots of the source, a row goes to the instances
    floor((slot - b) / a) - back, for as many backs as instances overlap.
    """
    whole = all(len(d.pieces) % _slots(d, source.window) == 0 for _, d, _ in members)
    inside = "" if whole else ' AND ("slot" - "b") % "a" + "over" < "count"'
    rows = (
        f'SELECT *, ("slot" - "b") // "a" - "less" AS "m"\nFROM "all_{source.id}", '
        f'"{bundle_name(query, source)}" WHERE "slot" >= "from" AND "slot" < "to"{inside}'
    )
    picked = [*source.keys, '"n"', '"m"', *combined(query_parts(query))]
    grouped = f"SELECT {', '.join(picked)}\nFROM ({rows})\nGROUP BY {places(len(source.keys) + 2)}"
    windows = [window_of(e) for e, _, _ in members]
    start = f'"m" * {_nth(w.slide for w in windows)} + {_nth(w.offset for w in windows)}'
    ids = _nth(quoted(e.window_id) for e, _, _ in members)
    return _lowered_sql(query, grouped, ids, start, f"{start} + {_nth(w.range for w in windows)}")


def _nth(values: Iterable[object]) -> str:
    """The value of the n-th window."""
    found = [str(v) for v in values]
    return found[0] if len(set(found)) == 1 else f'[{", ".join(found)}]["n" + 1]'


def bundle_name(query: Query, source: Fragment | Derived) -> str:
    """The table with a bundle's windows."""
    return f"windows_{query.name}_{source.id}"


def bundle_facts(source: Window, members: Sequence[Member]) -> dict[str, list[int]]:
    """The windows of a bundle as columns, a row per overlap; positions are shifted up so that division rounds down."""
    names = ("n", "a", "b", "less", "over", "count", "from", "to")
    rows = [row for n, member in enumerate(members) for row in _bundled(n, source, *member)]
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _bundled(
    number: int, source: Window, emission: Emission, derived: Derived, instances: Range
) -> Iterable[tuple[int, ...]]:
    w, a, count = window_of(emission), _slots(derived, source), len(derived.pieces)
    b, up = (w.offset - source.offset) // source.slide, -(-HALF // a)
    for back in range(-(-count // a)):
        first, end = (min(max((m + back) * a + b, -HALF), HALF) for m in instances)
        yield number, a, b - up * a, up + back, back * a, count, first, end


def _slots(derived: Derived, source: Window) -> int:
    return derived.window.slide // source.slide


def bundled(plan: Plan, inlined: frozenset[str]) -> dict[int, tuple[str, str]]:
    """The emissions that may run in one pass with others, each with what it shares with them: query and source."""
    found: dict[int, tuple[str, str]] = {}
    for i, e in _window_emissions(plan):
        if e.nodes[0] not in inlined:
            continue
        node = plan.node(e.nodes[0])
        if not isinstance(node, Derived) or not node.pieces.contiguous:
            continue
        if -(-len(node.pieces) // _slots(node, plan.node(node.parent).window)) <= MOST_OVERLAP:
            found[i] = (e.query, node.parent)
    return found


@dataclass(frozen=True)
class WindowCrew:
    """Queries of a pool whose results of one window are one statement over `inputs`: they make the same of its instances, of other rows.

    `given` are the parts that each input gives. `words` are the columns that say whose rows are whose: the words of the query-set, or the
    cell, and then `cells` who takes it. `sql` makes results of the inputs and of "members"; `folded_sql` of what is "folded" already, by
    what `folds` says of each part.
    """

    pool: str
    emissions: tuple[int, ...]
    inputs: tuple[str, ...]
    given: tuple[tuple[str, ...], ...]
    keys: tuple[str, ...]
    words: tuple[str, ...]
    folds: dict[str, str | None]
    sql: str
    folded_sql: str
    cells: Cells | None = None


def window_crews(plan: Plan) -> tuple[WindowCrew, ...]:
    """The emissions of pools of windows, by what is made of them."""
    found: dict[object, list[int]] = {}
    asked: dict[str, object] = {}
    alike: dict[object, int] = {}
    for i, e in enumerate(plan.emissions):
        if e.window is not None and e.bit is not None:
            if e.query not in asked:
                query = numbered(plan.query(e.query))
                made = (tuple(k.sql for k in query.keys), query.calls, query.outputs, query.having)
                asked[e.query] = alike.setdefault(made, len(alike))
            found.setdefault((e.nodes, e.window_id, e.window, e.parts, asked[e.query]), []).append(i)
    return tuple(_window_crew(plan, tuple(some)) for some in found.values())


def _window_crew(plan: Plan, numbers: tuple[int, ...]) -> WindowCrew:
    first = plan.emissions[numbers[0]]
    query, node = numbered(plan.query(first.query)), plan.node(first.nodes[0])
    lifted = plan.fragment(node.base) if isinstance(node, Derived) else node
    inputs = tuple(f"{'new' if isinstance(plan.node(id), Derived) else 'all'}_{id}" for id in first.nodes)
    count = len(node.keys) - node.words
    keys, words, wanted = node.keys[:count], node.keys[count:], query_parts(query)
    given = [", ".join([*node.keys, SLOT, *(f'"{p}"' for p in names)]) for names in first.parts]
    stacked = "\nUNION ALL BY NAME ".join(
        f'SELECT {g} FROM "{i}"' for g, i in zip(given, inputs, strict=True)
    )
    on = " AND ".join([*(f"s.{w} = m.{w}" for w in words), f's.{SLOT} >= m."low"', f's.{SLOT} < m."high"'])
    picked = [*keys, SLOT, f'm."member" AS "{MEMBER}"', *combined(wanted)]
    rows = f'SELECT {", ".join(picked)}\nFROM ({stacked}) AS s JOIN "members" AS m ON {on}\nGROUP BY {places(count + 2)}'
    start = f'"slot" * {window_of(first).slide} + {window_of(first).offset}'
    sql, folded_sql = (
        _lowered_sql(
            query,
            source,
            quoted(first.window_id),
            start,
            f"{start} + {window_of(first).range}",
            (f'"{MEMBER}"',),
        )
        for source in (rows, 'SELECT * FROM "folded"')
    )
    return WindowCrew(
        pool=lifted.pool,
        emissions=numbers,
        inputs=inputs,
        given=first.parts,
        keys=node.names[:count],
        words=node.names[count:],
        folds={p.name: p.part.fold for p in wanted},
        sql=sql,
        folded_sql=folded_sql,
        cells=cells_of(lifted.sets) if lifted.celled else None,
    )


def query_parts(query: Query) -> tuple[PartColumn, ...]:
    """The partial-aggregate columns that a query's results are lowered from."""
    return tuple({p.name: p for a in query.calls for p in part_columns(a)}.values())


def _stacked(
    number: int,
    inputs: tuple[str, ...],
    emission: Emission,
    node: Fragment | Derived,
    parts: tuple[PartColumn, ...],
) -> str:
    """Nodes of several kinds of aggregates as one: a part that a node does not give is NULL there, and combining ignores it."""
    bounds = f'"slot" >= $low_{number} AND "slot" < $high_{number}'
    if len(inputs) == 1 and isinstance(node, Derived):
        return f'SELECT * FROM "{inputs[0]}" WHERE {bounds}'
    given = [", ".join([*node.keys, SLOT, *(f'"{p}"' for p in names)]) for names in emission.parts]
    stacked = " UNION ALL BY NAME ".join(
        f'SELECT {g} FROM "{i}" WHERE {bounds}' for g, i in zip(given, inputs, strict=True)
    )
    return f"SELECT {', '.join([*node.keys, SLOT, *combined(parts)])}\nFROM ({stacked})\nGROUP BY {places(len(node.keys) + 1)}"


def emission_steps(plan: Plan) -> dict[int, EmissionStep]:
    """The SQL of every emission of a window. A derived node that serves one emission alone is computed inside it."""
    inlined = inline(plan)
    return {i: _emission_step(plan, i, e, inlined) for i, e in _window_emissions(plan)}


def _window_emissions(plan: Plan) -> Iterable[tuple[int, Emission]]:
    """What is emitted of windows, once for all queries that are alike."""
    return (
        (i, e)
        for i, e in enumerate(plan.emissions)
        if e.window is not None and e.bit is None and e.query in plan.alike
    )


def inline(plan: Plan) -> frozenset[str]:
    """The derived nodes whose instances no one but one emission reads."""
    emissions = [e for _, e in _window_emissions(plan)]
    uses = Counter(id for e in emissions for id in e.nodes)
    uses.update(d.parent for d in plan.derived)
    uses.update(id for e in plan.emissions if e.bit is not None for id in e.nodes)
    alone = {e.nodes[0] for e in emissions if len(e.nodes) == 1}
    return frozenset(d.id for d in plan.derived if d.id in alone and uses[d.id] == 1)


def _emission_step(plan: Plan, number: int, emission: Emission, inlined: frozenset[str]) -> EmissionStep:
    query, nodes = of_groups(plan, emission.query), tuple(plan.node(id) for id in emission.nodes)
    if window_of(emission).session:
        return _session_step(query, number, emission)
    wanted = query_parts(query)
    parts, first = frozenset(p.name for p in wanted), nodes[0]
    if first.id in inlined and isinstance(first, Derived):
        derived = derive_sql(first, plan.node(first.parent).window, f"_{number}")
        return EmissionStep(number, (f"all_{first.parent}",), parts, result_sql(query, emission, derived))
    inputs = tuple(f"{'new' if isinstance(n, Derived) else 'all'}_{n.id}" for n in nodes)
    return EmissionStep(
        number, inputs, parts, result_sql(query, emission, _stacked(number, inputs, emission, first, wanted))
    )
