"""The definition of outer, semi and anti joins of windows, as SQL over all the data: DuckDB's own such joins over the rows of `input0`, ...

Their event times are `__ts0`, ... No code is shared with the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thalweg.model.query import ANTI, FULL, LEFT, RANGE, TUMBLE, Query

Ends = Mapping[str, int | None]
"""The frontier of each stream once all batches were read; None where it has none."""


def attached_rows(query: Query, ends: Ends) -> str:
    """All joined rows, those without a partner once the frontiers of the others say that none can come."""
    inner = [n for n in range(len(query.inputs)) if n not in [a.input for a in query.attached]]
    tree = f"(SELECT * FROM {_inputs(inner)} WHERE {_all([*_own(query, None), *_near(query, inner)])})"
    final = [_all([f"({t.sql})" for t in query.kept])]
    for one in query.attached:
        is_stream = query.inputs[one.input].is_stream
        near = _near(query, [*inner, one.input]) if is_stream else []
        tree = f"({tree} {one.kind} JOIN input{one.input} ON {_all([*_own(query, one.input), *near])})"
        if is_stream and one.kind in (LEFT, FULL, ANTI):
            streams = [n for n in inner if query.inputs[n].is_stream]
            known = _is_known(query, streams, [one.input], ends)
            final.append(known if one.kind == ANTI else f"__ts{one.input} IS NOT NULL OR {known}")
        if one.kind == FULL:
            final.append(f"__ts{inner[0]} IS NOT NULL OR {_is_known(query, [one.input], inner, ends)}")
    return f"SELECT * FROM {tree} WHERE {_all(final)}"


def attached_at_instants(query: Query) -> str:
    """What the windows hold at each instant `t`, joined."""
    inner = [n for n in range(len(query.inputs)) if n not in [a.input for a in query.attached]]
    first, *others = [n for n in inner if query.inputs[n].is_stream]
    same = [f"__t{n} = __t{first}" for n in others]
    views = ", ".join(f"({_at_instants(query, n)})" for n in inner)
    tree = f"(SELECT * FROM {views} WHERE {_all([*_own(query, None), *same])})"
    for one in query.attached:
        same = [f"__t{one.input} = __t{first}"] if query.inputs[one.input].is_stream else []
        view = f"({_at_instants(query, one.input)})"
        tree = f"({tree} {one.kind} JOIN {view} ON {_all([*_own(query, one.input), *same])})"
    both = [first, *(a.input for a in query.attached if a.kind == FULL)]
    t = ", ".join(f"__t{n}" for n in both)
    return f"SELECT *, coalesce({t}) AS t FROM {tree} WHERE {_all([t.sql for t in query.kept])}"


def _at_instants(query: Query, number: int) -> str:
    """The rows of an input at every instant whose window holds them."""
    given = query.inputs[number]
    if not given.is_stream:
        return f"SELECT * FROM input{number}"
    low = [f"__ts{number} >= t - {given.length}"] if given.kind in (RANGE, TUMBLE) else []
    bounds = _all([f"__ts{number} < t", *low])
    return f"SELECT input{number}.*, t AS __t{number} FROM instants, input{number} WHERE {bounds}"


def _own(query: Query, attached: int | None) -> list[str]:
    """The conditions on partners of an attached input, or of the others; an equality is of the last attached input that it reads."""
    order = [a.input for a in query.attached]
    found = []
    for e in query.equalities:
        read = [n for n in order if n in (*e.left.inputs, *e.right.inputs)]
        if (read[-1] if read else None) == attached:
            found.append(f"({e.left.sql}) = ({e.right.sql})")
    terms = query.residue if attached is None else next(a.on for a in query.attached if a.input == attached)
    return [*found, *(t.sql for t in terms)]


def _near(query: Query, numbers: Sequence[int]) -> list[str]:
    """That rows of some inputs are in each other's windows when the last of them comes."""
    streams = [n for n in numbers if query.inputs[n].is_stream]
    times = ", ".join(f"__ts{n}" for n in streams)
    bounds = [
        f"greatest({times}) - __ts{n} < {query.inputs[n].length}"
        for n in streams
        if query.inputs[n].kind == RANGE
    ]
    bounds += [
        f"floor_divide(__ts{n}, {query.inputs[n].length}) = floor_divide(greatest({times}), {query.inputs[n].length})"
        for n in streams
        if query.inputs[n].kind == TUMBLE
    ]
    return bounds


def _is_known(query: Query, mine: Sequence[int], others: Sequence[int], ends: Ends) -> str:
    """Whether no partner can come any more: the frontiers of the others have reached the end of a window."""
    reached = [ends[query.inputs[n].source] for n in others if query.inputs[n].is_stream]
    if None in reached:
        return "false"
    lasts = []
    for n in mine:
        length = query.inputs[n].length
        if query.inputs[n].kind == RANGE:
            lasts.append(f"__ts{n} + {length}")
        if query.inputs[n].kind == TUMBLE:
            lasts.append(f"(floor_divide(__ts{n}, {length}) + 1) * {length}")
    return f"least({', '.join(lasts)}) <= {min(t for t in reached if t is not None)}"


def _inputs(numbers: Sequence[int]) -> str:
    return ", ".join(f"input{n}" for n in numbers)


def _all(conditions: Sequence[str]) -> str:
    return "(" + (" AND ".join(f"({c})" for c in conditions) or "true") + ")"
