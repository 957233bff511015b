"""Rows of a scan to what a fragment keeps of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thalweg.compile.cells import Lookup, cells_of
from thalweg.compile.pieces import SLOT, combined, places, together_sql
from thalweg.compile.sets import CellIndex, set_sql
from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import TIME
from thalweg.model.windows import Window
from thalweg.plan.arithmetic import HALF, floor_div
from thalweg.plan.groups import CELLED
from thalweg.plan.nodes import Fragment
from thalweg.plan.pool import SET
from thalweg.plan.rooms import Room


def lift_sql(fragment: Fragment, with_sets: bool = True) -> str:
    """Rows of `scan` to what is kept: the rows, or partial instances; a row of a hopping window goes to every instance it falls into.

    The query-sets of a pool's rows are computed before rows are chosen by them; or `scan` has them already (`set_columns`).
    """
    if fragment.window.session:
        return _sessions_sql(fragment)
    if fragment.words:
        return _cells_sql(fragment) if fragment.celled else _sets_sql(fragment)
    columns = [f'{c.sql} AS "c{i}"' for i, c in enumerate(fragment.columns)]
    columns += [f"{word} AS {word}" for word in word_columns(fragment)]
    parts = [f'{p.lift if fragment.early else p.unit} AS "{p.name}"' for p in fragment.parts]
    source, slots = _slotted(fragment)
    by = f"\nGROUP BY {places(len(columns) + len(slots))}" if columns or slots else "\nHAVING count(*) > 0"
    picked = ", ".join([*columns, *slots, *parts]) or "1 AS nothing"
    return f"{_with_sets(fragment, with_sets)}SELECT {picked}\nFROM {source}{by if fragment.early else ''}"


def _sessions_sql(fragment: Fragment) -> str:
    """Rows to pieces of sessions. Rows of one key within a slot as long as the gap are of one session, so they are aggregated by hash first,
    and only what is left of them is put in order."""
    keys = [f'{c.sql} AS "c{i}"' for i, c in enumerate(fragment.columns)]
    parts = [f'{p.lift} AS "{p.name}"' for p in fragment.parts]
    within = f'{floor_div(TIME, fragment.window.range)} AS "__within"'
    picked = ", ".join([*keys, within, f"max({TIME}) AS {SLOT}", *parts])
    where = " AND ".join(row_conditions(fragment))
    rows = f"SELECT {picked}\nFROM scan WHERE {where}\nGROUP BY {places(len(keys) + 1)}"
    return together_sql(fragment, f"({rows})")


def cells_table(fragment: Fragment) -> str:
    """The name of the table in which rows find their cells."""
    return f"cells_{fragment.id}"


def lookup_of(fragment: Fragment) -> Lookup:
    """How the rows of a fragment find their cells."""
    return cells_of(fragment.sets).lookup(cells_table(fragment))


def _cells_sql(fragment: Fragment) -> str:
    """Rows to partial instances by keys and cell; those that nobody takes are in none."""
    source, slots = _slotted(fragment)
    columns = [f'{c.sql} AS "c{i}"' for i, c in enumerate(fragment.columns)]
    picked = ", ".join([*columns, *slots, *(f'{p.lift} AS "{p.name}"' for p in fragment.parts)])
    found = f"(SELECT * FROM {source}) {lookup_of(fragment).join}"
    return (
        f"SELECT {picked}\nFROM {found}\nWHERE {CELLED.sql} IS NOT NULL GROUP BY {places(len(columns) + 1)}"
    )


def _sets_sql(fragment: Fragment) -> str:
    """Rows to partial instances by keys and query-set: first by the cell of the index that a row falls into, then cells by their sets."""
    count = len(fragment.columns) - fragment.words
    index = CellIndex.of(fragment.sets)
    keys = [f'{c.sql} AS "c{i}"' for i, c in enumerate(fragment.columns[:count])]
    source, slots = _slotted(fragment)
    parts = [f'{p.lift} AS "{p.name}"' for p in fragment.parts]
    cells = f"SELECT {', '.join([*keys, *slots, *index.columns, *parts])}\nFROM {source}\nGROUP BY ALL"
    by = [
        *(f'"c{i}"' for i in range(count)),
        *(f'{sql} AS "c{count + n}"' for n, sql in enumerate(index.words(fragment.words))),
    ]
    sets = f"SELECT {', '.join([*by, SLOT, *(identifier(p.name) for p in fragment.parts)])}\nFROM ({cells})"
    some = " OR ".join(f'"c{count + n}" <> 0' for n in range(fragment.words))
    picked = [*(f'"c{i}"' for i in range(len(fragment.columns))), SLOT, *combined(fragment.parts)]
    return f"SELECT {', '.join(picked)}\nFROM ({sets})\nWHERE {some} GROUP BY {places(len(fragment.columns) + 1)}"


def set_columns(fragments: Iterable[Fragment]) -> list[str]:
    """The query-sets of a row for each pool that it may be of."""
    return [
        f"{sql} AS {_set_column(f, name)}"
        for f in fragments
        if f.pool and not f.words
        for name, sql in _sets(f).items()
    ]


def word_columns(fragment: Fragment) -> list[str]:
    """The names of the words of query-sets that stand beside the columns of a commons' rows."""
    return [word_column(n) for n in range(fragment.common)]


def word_column(number: int) -> str:
    """The name of a word."""
    return identifier(f"{SET}{number}")


def _set_names(fragment: Fragment) -> list[str]:
    """The names that the query-sets of a pool's rows have in `scan`, or their words."""
    return [f"{SET}{n}" for n in range(fragment.common)] if fragment.common else [SET]


def _sets(fragment: Fragment) -> dict[str, str]:
    """The query-sets of a pool's rows, or their words, by their names."""
    if not fragment.common:
        return {SET: set_sql(fragment.sets)}
    words = (Room(64 * n, 64).own(fragment.sets) for n in range(fragment.common))
    return dict(zip(_set_names(fragment), map(set_sql, words), strict=True))


def _set_column(fragment: Fragment, name: str) -> str:
    return identifier(f"{name}_{fragment.id}")


def _with_sets(fragment: Fragment, computed: bool) -> str:
    """`scan` with the query-set of each row, for a pool."""
    if not fragment.pool:
        return ""
    on_time = "" if fragment.static else f" WHERE {TIME} >= $frontier"
    if not computed:
        sets = ", ".join(
            f"{_set_column(fragment, name)} AS {identifier(name)}" for name in _set_names(fragment)
        )
        return f"WITH scan AS (SELECT *, {sets} FROM scan{on_time})\n"
    sets = ", ".join(f"{sql} AS {identifier(name)}" for name, sql in _sets(fragment).items())
    return f"WITH scan AS MATERIALIZED (SELECT *, {sets} FROM scan{on_time})\n"


def _slotted(fragment: Fragment) -> tuple[str, list[str]]:
    """Where rows come from, and the slot of each; a table has none."""
    where = f" WHERE {' AND '.join(conditions)}" if (conditions := row_conditions(fragment)) else ""
    w = fragment.window
    if fragment.static:
        return f"scan{where}", []
    position = f"({TIME} - {w.offset})" if w.offset else TIME
    if w.edges:
        return f"scan{where}", [f"{_slice_sql(w, floor_div(position, w.slide))} AS {SLOT}"]
    if w.tumbling:
        return f"scan{where}", [f"{floor_div(position, w.slide)} AS {SLOT}"]
    return f"({contiguous('scan', 'scan.*, ', position, w.slide, w.range, where, '__slot')})", [
        f'"__slot" AS {SLOT}'
    ]


def _slice_sql(slices: Window, place: str) -> str:
    """The place at which the slice begins that a place is in: at the last edge of all, so as far back as the nearest of them is."""
    every = [
        (slide // slices.slide, (offset - slices.offset) // slices.slide) for slide, offset in slices.edges
    ]
    back = [f"({place} + {-(-HALF // slide) * slide - offset}) % {slide}" for slide, offset in every]
    return f"({place}) - least({', '.join(back)})"


def row_conditions(fragment: Fragment) -> list[str]:
    """Which rows are taken: those that are not late, satisfy the conditions, and may find partners."""
    found = [
        *(f"({c.sql})" for c in fragment.where),
        *(f"({fragment.columns[i].sql}) IS NOT NULL" for i in fragment.required),
    ]
    by_row = fragment.pool and not fragment.words
    found += (
        ["(" + " OR ".join(f"{identifier(name)} <> 0" for name in _set_names(fragment)) + ")"]
        if by_row
        else []
    )
    if fragment.static:
        return found
    late = [] if by_row else [f"{TIME} >= $frontier"]
    begun = [] if fragment.begin is None else [f"{TIME} >= {fragment.begin}"]
    return [*late, *found, *begun]


def contiguous(
    table: str, columns: str, position: str, step: int, count: int, keep: str, slot: str = "slot"
) -> str:
    """Instance m combines positions step*m .. step*m + count - 1; a position is in ceil(count / step) instances at most."""
    last = floor_div(position, step)
    if count == step:
        return f'SELECT {columns}{last} AS "{slot}" FROM {table}{keep}'
    overlap = -(-count // step)
    some, back = (
        (f'{table}, range({overlap}) AS __back("__back")', ' - "__back"') if overlap > 1 else (table, "")
    )
    inside = "" if count % step == 0 else f"{position} - ({last}{back}) * {step} < {count}"
    where = f"{keep}{' AND ' if keep else ' WHERE '}{inside}" if inside else keep
    return f'SELECT {columns}{last}{back} AS "{slot}" FROM {some}{where}'


def statistics_sql(fragment: Fragment, with_sets: bool = True) -> str:
    """How many rows of `scan` are taken, and about how many distinct values they have: of all that is kept, and of what is counted."""
    where = f" WHERE {' AND '.join(found)}" if (found := row_conditions(fragment)) else ""
    return f"{_with_sets(fragment, with_sets)}SELECT {', '.join(_counts(fragment))} FROM scan{where}"


def share_sql(fragments: Iterable[Fragment]) -> str:
    """The same of several fragments that have no query-sets, one after another in one row."""
    found = []
    for fragment in fragments:
        where = " AND ".join(row_conditions(fragment)) or "true"
        found += [c if c == "1" else f"{c} FILTER (WHERE {where})" for c in _counts(fragment)]
    return f"SELECT {', '.join(found)} FROM scan"


def _counts(fragment: Fragment) -> list[str]:
    every = tuple(range(len(fragment.columns)))
    columns = [", ".join(fragment.columns[i].sql for i in some) for some in (every, *fragment.counted)]
    return ["count(*)", *(f"approx_count_distinct(hash({c}))" if c else "1" for c in columns)]


MOST_HEAVY = 16
"""Values of equated columns of which is known how many rows have them: the most frequent."""
LOOKED_AT = 200_000
"""Rows of which values are counted: all of them, or of so many more every so many-th, by the hash of its time."""


def heavies_sql(asked: Iterable[tuple[Fragment, Sequence[int]]], rows: int) -> str:
    """The same as `heavy_sql` of columns of several fragments in one statement, each row after the number of what it is of."""
    each = (f"(SELECT {n}, * FROM ({heavy_sql(f, some, rows)}))" for n, (f, some) in enumerate(asked))
    return " UNION ALL ".join(each)


def heavy_sql(fragment: Fragment, some: Sequence[int], rows: int, with_sets: bool = True) -> str:
    """The most frequent values of some columns among so many rows of `scan`: hashes, how many rows have each, and how many have any."""
    every = rows // LOOKED_AT + 1
    found = [*row_conditions(fragment), *(f"({fragment.columns[i].sql}) IS NOT NULL" for i in some)]
    found += [f"hash({TIME}) % {every} = 0"] if every > 1 else []
    columns, where = ", ".join(fragment.columns[i].sql for i in some), " AND ".join(dict.fromkeys(found))
    counts = f"SELECT hash({columns}) AS h, count(*) AS n FROM scan WHERE {where} GROUP BY 1"
    total = "SELECT h, n, sum(n) OVER ()::BIGINT AS rows"
    return f"{_with_sets(fragment, with_sets)}{total} FROM ({counts}) ORDER BY n DESC, h LIMIT {MOST_HEAVY}"
