"""LEFT, RIGHT, FULL, SEMI and ANTI joins: which input need not have partners, and what such a join may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from thalweg.model.attaching import FOR_EVER, is_full, owner, sides_that_wait, wait
from thalweg.model.query import ANTI, FULL, LEFT, SEMI, Query
from thalweg.model.stream import Stream
from thalweg.sql.inputs import Input
from thalweg.sql.source import Source

_KINDS = {
    (): "",
    ("INNER",): "",
    ("CROSS",): "",
    ("LEFT",): LEFT,
    ("LEFT", "OUTER"): LEFT,
    ("RIGHT",): "right",
    ("RIGHT", "OUTER"): "right",
    ("FULL",): FULL,
    ("FULL", "OUTER"): FULL,
    ("OUTER",): FULL,
    ("SEMI",): SEMI,
    ("LEFT", "SEMI"): SEMI,
    ("ANTI",): ANTI,
    ("LEFT", "ANTI"): ANTI,
}
Kinds = Mapping[int, tuple[str, exp.Join]]
"""By the inputs that are attached how, and the join that says so."""


def join_kind(source: Source, join: exp.Expr) -> str:
    """What kind of join one is: nothing for an inner one, `right` for what is to be turned round."""
    words = tuple(str(w).upper() for w in map(join.args.get, ("method", "side", "kind")) if w)
    if words not in _KINDS:
        hint = "write JOIN, or LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI JOIN, with ON"
        raise source.at(join, f"{' '.join(words)} JOIN is not supported", hint)
    return _KINDS[words]


def attached_inputs(source: Source, select: exp.Select, inputs: Sequence[Input]) -> Kinds:
    """The inputs that need no partner, in the order of FROM. A RIGHT JOIN attaches what stands before it."""
    found: dict[int, tuple[str, exp.Join]] = {}
    for number, join in enumerate(select.args.get("joins") or [], 1):
        kind = join_kind(source, join)
        if kind in ("right", FULL) and number > 1:
            word = "RIGHT" if kind == "right" else "FULL"
            hint = "join what stands before it in a subquery: FROM (SELECT ...) AS x [RANGE 1 HOUR]"
            raise source.at(join, f"{word} JOIN after another join is not supported", hint)
        if kind and join.args.get("on") is None and not join.args.get("using"):
            raise source.at(join, f"{_words(kind)} JOIN needs a condition", "write ON")
        if kind in ("right", FULL) and join.args.get("using"):
            raise source.at(join, f"USING with {_words(kind)} JOIN is not supported", "write ON")
        if not kind and found:
            hint = "write the inner joins first, or the outer one in a subquery: FROM (SELECT ...) AS x"
            raise source.at(join, "an inner join after another kind of join is not supported", hint)
        if kind:
            found[0 if kind == "right" else number] = (LEFT if kind == "right" else kind, join)
    _check_sources(source, inputs, found)
    return found


def _check_sources(source: Source, inputs: Sequence[Input], kinds: Kinds) -> None:
    """Refuse rows of tables that would have to wait, and a FULL JOIN beside others."""
    if not kinds:
        return
    first, (kind, join) = next(iter(kinds.items()))
    if all(not isinstance(i.origin, Stream) for n, i in enumerate(inputs) if n not in kinds):
        name = inputs[1 if first == 0 else 0].origin.name
        hint = "rows of a table never stop waiting for partners; write the stream on the side that keeps its rows"
        raise source.at(join, f"the rows of the table {name} can't come out without a partner", hint)
    if kind == FULL and (len(inputs) > 2 or not isinstance(inputs[1].origin, Stream)):
        hint = "write LEFT JOIN, or join other inputs in a query over this one"
        raise source.at(join, "FULL JOIN is of two streams, without other inputs", hint)


def check_attached(source: Source, query: Query, inputs: Sequence[Input], kinds: Kinds) -> None:
    """Refuse what no plan could serve: rows that would wait for ever, conditions that no partition can answer alone."""
    streams = [n for n in kinds if isinstance(inputs[n].origin, Stream)]
    if query.every is None and len(streams) > 1:
        hint = "write the first of them in a subquery: FROM (SELECT ...) AS x [RANGE 1 HOUR]"
        raise source.at(kinds[streams[1]][1], "joined rows can wait for one other stream only", hint)
    if is_full(query) and not query.equalities:
        raise source.at(
            kinds[1][1], "FULL JOIN needs equal columns", "write an equality of both streams in ON"
        )
    for side in sides_that_wait(query):
        kind, join = next(iter(kinds[n] for n in streams))
        if kind != SEMI and wait(query, side) == FOR_EVER:
            alias = inputs[side[0]].alias
            hint = f"write [RANGE 1 HOUR] or [TUMBLE 1 HOUR] after {inputs[side[0]].origin.name}"
            raise source.at(
                join, f"rows of {alias} would wait for a partner for ever, as its window has no end", hint
            )
    _check_star(source, query, inputs, kinds)


def _check_star(source: Source, query: Query, inputs: Sequence[Input], kinds: Kinds) -> None:
    """Refuse a stream that is attached to another one that is attached: its partners would lie in other partitions."""
    attached = {n for n in kinds if isinstance(inputs[n].origin, Stream)}
    terms = [(e.left.inputs + e.right.inputs) for e in query.equalities]
    terms += [(a.input, *t.inputs) for a in query.attached for t in a.on]
    for read in terms:
        of = owner(query, read)
        if of is not None and of.input in attached and (other := attached & {*read} - {of.input}):
            names = inputs[of.input].alias, inputs[min(other)].alias
            hint = "name inner inputs in its conditions, or join the first two in a subquery"
            raise source.at(
                kinds[of.input][1], f"{names[0]} is joined with {names[1]}, which may have no row", hint
            )


def _words(kind: str) -> str:
    return {SEMI: "LEFT SEMI", ANTI: "LEFT ANTI"}.get(kind, kind.upper())
