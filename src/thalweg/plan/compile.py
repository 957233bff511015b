"""A plan becomes SQL steps over named inputs and `$parameters`; EXPLAIN prints exactly these.

Inputs: `scan` is a chunk of a stream with `"__time"` in microseconds; `all_F` are the instances of fragment F that the
step may need (state and what this batch brought), `new_F` those that this batch made final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thalweg.logical.aggregates import PartColumn, lowered, part_columns
from thalweg.logical.query import Query
from thalweg.logical.windows import Window
from thalweg.plan.arithmetic import HALF, floor_div
from thalweg.plan.build import group_of
from thalweg.plan.nodes import TIME, Emission, Fragment, Plan
from thalweg.plan.ranges import Range

MOST_OVERLAP = 16
SLOT = '"slot"'
SLOT_OF_ROW = '"__slot" AS "slot"'


@dataclass(frozen=True)
class EmissionStep:
    """The SQL that turns a fragment's final instances into results of one window."""

    emission: int
    inputs: tuple[str, ...]
    parts: frozenset[str]
    sql: str


def lift_sql(fragment: Fragment) -> str:
    """Rows of a scan to partial instances; a row of a hopping window goes to every instance that it falls into."""
    keys = [f'{sql} AS "g{i}"' for i, sql in enumerate(fragment.keys)]
    parts = [f'{p.lift} AS "{p.name}"' for p in fragment.parts]
    where = " AND ".join([f"{TIME} >= $frontier", *(f"({c})" for c in fragment.where)])
    w = fragment.window
    position = f"({TIME} - {w.offset})" if w.offset else TIME
    inner = _contiguous("scan", "*, ", position, w.slide, w.range, f" WHERE {where}", "__slot")
    return f"SELECT {', '.join([*keys, SLOT_OF_ROW, *parts])} FROM ({inner}) GROUP BY {_places(len(keys) + 1)}"


def merge_sql(fragment: Fragment, source: str) -> str:
    """Partial instances to one row per key and instance."""
    parts = [f'{p.combine} AS "{p.name}"' for p in fragment.parts]
    keys = _keys(fragment)
    return (
        f'SELECT {", ".join([*keys, SLOT, *parts])} FROM {source} WHERE "slot" >= $low AND "slot" < $high GROUP BY {_places(len(keys) + 1)}'
    )


def derive_sql(fragment: Fragment, source: Window, suffix: str = "") -> str:
    """Instances of a source to instances of the fragment: `$low <= slot < $high` of its own."""
    if fragment.how == "prefix":
        return prefix_sql(fragment, source, suffix)
    keys, parts = _keys(fragment), [f'{p.combine} AS "{p.name}"' for p in fragment.parts]
    columns = ", ".join([*keys, *(f'"{p.name}"' for p in fragment.parts)])
    inner = _instances(fragment, source, columns)
    return (
        f"SELECT {', '.join([*keys, SLOT, *parts])} FROM ({inner}) "
        f'WHERE "slot" >= $low{suffix} AND "slot" < $high{suffix} GROUP BY {_places(len(keys) + 1)}'
    )


def prefix_sql(fragment: Fragment, source: Window, suffix: str = "") -> str:
    """Each instance as the difference of two running totals over the source's slots.

    Two marks per key and instance stand between slots, where it begins (-1) and where it ends (+1); one ordered pass
    over slots and marks gives the totals there. Slots are at even positions, marks at odd ones.
    """
    a, b = fragment.window.slide // source.slide, (fragment.window.offset - source.offset) // source.slide
    count, table, keys = fragment.pieces[1], f'"all_{fragment.source}"', _keys(fragment)
    by, columns = "".join(f"{k}, " for k in keys), "".join(f', "{p.name}"' for p in fragment.parts)
    none = "".join(f', NULL AS "{p.name}"' for p in fragment.parts)
    low = f"greatest($low{suffix}, {floor_div(f'(min({SLOT}) - {b + count})', a)} + 1)"
    high = f"least($high{suffix}, {floor_div(f'(max({SLOT}) - {b})', a)} + 1)"
    instances = f'SELECT unnest(range({low}, {high})) AS "m" FROM {table}'
    ends = f'(VALUES (0, -1), ({count}, 1)) AS ends("shift", "sign")'
    groups = f"(SELECT DISTINCT {', '.join(keys) or '1'} FROM {table})"
    marks = f'SELECT {by}2 * ("m" * {a} + {b} + "shift") - 1, "m", "sign"{none} FROM {groups}, ({instances}), {ends}'
    rows = f'SELECT {by}2 * {SLOT} AS "at", NULL AS "m", NULL AS "sign"{columns} FROM {table}'
    over = f'OVER (PARTITION BY {", ".join(keys) or "1"} ORDER BY "at" ROWS UNBOUNDED PRECEDING)'
    running = "".join(f', sum("{p.name}") {over} AS "{p.name}", count("{p.name}") {over} AS "n_{p.name}"' for p in fragment.parts)
    totals = f'SELECT {by}"m", "sign", count("at") FILTER (WHERE "m" IS NULL) {over} AS "n"{running} FROM ({rows} UNION ALL {marks})'
    parts = "".join(
        f', CASE WHEN sum("sign" * "n_{p.name}") > 0 THEN sum("sign" * coalesce("{p.name}", 0)) END AS "{p.name}"' for p in fragment.parts
    )
    return f'SELECT {by}"m" AS "slot"{parts} FROM ({totals}) WHERE "m" IS NOT NULL GROUP BY {by}"m" HAVING sum("sign" * "n") > 0'


def _instances(fragment: Fragment, source: Window, columns: str) -> str:
    """Each source row once per instance that it is a piece of.

    Instance m combines the source instances a*m + b + piece, so a source row at `slot` goes to (slot - b - piece) / a.
    """
    a, b = fragment.window.slide // source.slide, (fragment.window.offset - source.offset) // source.slide
    table, columns = f'"all_{fragment.source}"', f"{columns}, " if columns else ""
    count = len(fragment.pieces)
    stride = fragment.pieces[1] - fragment.pieces[0] if count > 1 else 1
    position = f'("slot" - {b})' if b else SLOT
    regular = fragment.pieces == tuple(range(0, count * stride, stride))
    if regular and a % stride == 0:
        keep = f" WHERE {position} % {stride} = 0" if stride > 1 else ""
        step = f"({position} // {stride})" if stride > 1 else position
        return _contiguous(table, columns, step, a // stride, count, keep)
    if regular and stride % a == 0:
        keep = f" WHERE {position} % {a} = 0" if a > 1 else ""
        first = f"{position} // {a}" if a > 1 else position
        every = stride // a
        return f'SELECT {columns}{first} - "back" * {every} AS "slot" FROM {table}, range({count}) AS back("back"){keep}'
    values = ", ".join(f"({p})" for p in fragment.pieces)
    rest = f'({position} - "piece")'
    return f'SELECT {columns}{rest} // {a} AS "slot" FROM {table}, (VALUES {values}) AS pieces("piece") WHERE {rest} % {a} = 0'


def _contiguous(table: str, columns: str, position: str, step: int, count: int, keep: str, slot: str = "slot") -> str:
    """Instance m combines positions step*m .. step*m + count - 1; a position is in ceil(count / step) instances at most."""
    last = floor_div(position, step)
    if count == step:
        return f'SELECT {columns}{last} AS "{slot}" FROM {table}{keep}'
    overlap = -(-count // step)
    some, back = (f'{table}, range({overlap}) AS back("back")', ' - "back"') if overlap > 1 else (table, "")
    inside = "" if count % step == 0 else f"{position} - ({last}{back}) * {step} < {count}"
    where = f"{keep}{' AND ' if keep else ' WHERE '}{inside}" if inside else keep
    return f'SELECT {columns.replace("*, ", f"{table}.*, ")}{last}{back} AS "{slot}" FROM {some}{where}'


def result_sql(query: Query, emission: Emission, source: str) -> str:
    """Final instances, one row per key and instance, to the query's result columns."""
    start = f'"slot" * {emission.window.slide} + {emission.window.offset}'
    return _lowered_sql(query, source, _quoted(emission.window_id), start, f"{start} + {emission.window.range}")


def _lowered_sql(query: Query, source: str, window_id: str, start: str, end: str) -> str:
    order = group_of(query).keys
    keys = [f'"g{order.index(k.sql)}" AS "k{i}"' for i, k in enumerate(query.keys)]
    aggregates = [f'{lowered(a, TIME)} AS "a{i}"' for i, a in enumerate(query.aggregates)]
    window = [f'{window_id} AS "window_id"', f'make_timestamp({start}) AS "window_start"', f'make_timestamp({end}) AS "window_end"']
    inner = f"SELECT {', '.join([*keys, *aggregates, *window])} FROM ({source})"
    outputs = ", ".join(f'CAST({o.sql} AS {o.type}) AS "{_escaped(o.name)}"' for o in query.outputs)
    having = f" WHERE {query.having}" if query.having else ""
    return f"SELECT {outputs} FROM ({inner}){having}"


def bundle_sql(query: Query, source: Fragment, members: Sequence[tuple[Emission, Fragment, Range]]) -> str:
    """Results of several windows that are computed from the same source, in one pass over it.

    With a the window's slide and b its offset, both in slots of the source, a row goes to the instances
    floor((slot - b) / a) - back, for as many backs as instances overlap.
    """
    keys, parts = _keys(source), query_parts(query)
    whole = all(len(f.pieces) % _slots(f, source.window) == 0 for _, f, _ in members)
    inside = "" if whole else ' AND ("slot" - "b") % "a" + "over" < "count"'
    rows = (
        f'SELECT *, ("slot" - "b") // "a" - "less" AS "m" FROM "all_{source.id}", '
        f'"{bundle_name(query, source)}" WHERE "slot" >= "from" AND "slot" < "to"{inside}'
    )
    picked = [*keys, '"n"', '"m"', *(f'{p.combine} AS "{p.name}"' for p in parts)]
    grouped = f"SELECT {', '.join(picked)} FROM ({rows}) GROUP BY {_places(len(keys) + 2)}"
    windows = [e.window for e, _, _ in members]
    start = f'"m" * {_nth(w.slide for w in windows)} + {_nth(w.offset for w in windows)}'
    ids = _nth(_quoted(e.window_id) for e, _, _ in members)
    return _lowered_sql(query, grouped, ids, start, f"{start} + {_nth(w.range for w in windows)}")


def _nth(values: Iterable[object]) -> str:
    """The value of the n-th window."""
    found = [str(v) for v in values]
    return found[0] if len(set(found)) == 1 else f'[{", ".join(found)}]["n" + 1]'


def bundle_name(query: Query, source: Fragment) -> str:
    """The table with a bundle's windows."""
    return f"windows_{query.name}_{source.id}"


def bundle_facts(source: Window, members: Sequence[tuple[Emission, Fragment, Range]]) -> dict[str, list[int]]:
    """The windows of a bundle as columns, a row per overlap; positions are shifted up so that division rounds down."""
    names = ("n", "a", "b", "less", "over", "count", "from", "to")
    rows = [row for n, member in enumerate(members) for row in _bundled(n, source, *member)]
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _bundled(number: int, source: Window, emission: Emission, fragment: Fragment, instances: Range) -> Iterable[tuple[int, ...]]:
    w, a = emission.window, _slots(fragment, source)
    b, up = (w.offset - source.offset) // source.slide, -(-HALF // a)
    for back in range(-(-len(fragment.pieces) // a)):
        first, end = (min(max((m + back) * a + b, -HALF), HALF) for m in instances)
        yield number, a, b - up * a, up + back, back * a, len(fragment.pieces), first, end


def _slots(fragment: Fragment, source: Window) -> int:
    return fragment.window.slide // source.slide


def bundled(plan: Plan, inlined: frozenset[str]) -> dict[int, tuple[str, str]]:
    """The emissions that may run in one pass with others, each with what it shares with them: query and source."""
    found: dict[int, tuple[str, str]] = {}
    for i, e in enumerate(plan.emissions):
        fragment = plan.fragment(e.fragments[0])
        if fragment.id not in inlined or fragment.source is None or fragment.pieces != tuple(range(len(fragment.pieces))):
            continue
        if -(-len(fragment.pieces) // _slots(fragment, plan.fragment(fragment.source).window)) <= MOST_OVERLAP:
            found[i] = (e.query, fragment.source)
    return found


def query_parts(query: Query) -> tuple[PartColumn, ...]:
    """The partial-aggregate columns that a query's results are lowered from."""
    return tuple({p.name: p for a in query.aggregates for p in part_columns(a, TIME)}.values())


def _stacked(number: int, inputs: tuple[str, ...], emission: Emission, fragment: Fragment, parts: tuple[PartColumn, ...]) -> str:
    """Fragments of several kinds of aggregates as one: a part that a fragment does not give is NULL there, and combining ignores it."""
    keys = _keys(fragment)
    bounds = f'"slot" >= $low_{number} AND "slot" < $high_{number}'
    if len(inputs) == 1 and fragment.source is not None:
        return f'SELECT * FROM "{inputs[0]}" WHERE {bounds}'
    given = [", ".join([*keys, SLOT, *(f'"{p}"' for p in names)]) for names in emission.parts]
    stacked = " UNION ALL BY NAME ".join(f'SELECT {g} FROM "{i}" WHERE {bounds}' for g, i in zip(given, inputs, strict=True))
    combined = [f'{p.combine} AS "{p.name}"' for p in parts]
    return f"SELECT {', '.join([*keys, SLOT, *combined])} FROM ({stacked}) GROUP BY {_places(len(keys) + 1)}"


def emission_steps(plan: Plan) -> tuple[EmissionStep, ...]:
    """The SQL of every emission of a plan. A fragment that serves one emission alone is computed inside it."""
    inlined = inline(plan)
    return tuple(_emission_step(plan, i, e, inlined) for i, e in enumerate(plan.emissions))


def inline(plan: Plan) -> frozenset[str]:
    """The derived fragments whose instances no one but one emission reads."""
    uses = Counter(id for e in plan.emissions for id in e.fragments)
    uses.update(f.source for f in plan.fragments if f.source)
    alone = {e.fragments[0] for e in plan.emissions if len(e.fragments) == 1}
    return frozenset(f.id for f in plan.fragments if f.source is not None and f.id in alone and uses[f.id] == 1)


def _emission_step(plan: Plan, number: int, emission: Emission, inlined: frozenset[str]) -> EmissionStep:
    query, fragments = plan.query(emission.query), tuple(plan.fragment(id) for id in emission.fragments)
    parts = frozenset(p.name for p in query_parts(query))
    first = fragments[0]
    if first.id in inlined and first.source is not None:
        derived = derive_sql(first, plan.fragment(first.source).window, f"_{number}")
        return EmissionStep(number, (f"all_{first.source}",), parts, result_sql(query, emission, derived))
    inputs = tuple(f"new_{f.id}" if f.source else f"all_{f.id}" for f in fragments)
    return EmissionStep(number, inputs, parts, result_sql(query, emission, _stacked(number, inputs, emission, first, query_parts(query))))


def _keys(fragment: Fragment) -> list[str]:
    return [f'"g{i}"' for i in range(len(fragment.keys))]


def _places(count: int) -> str:
    return ", ".join(str(i + 1) for i in range(count))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escaped(name: str) -> str:
    return name.replace('"', '""')
