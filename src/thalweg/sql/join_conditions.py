"""WHERE, ON and USING of a join, taken apart by what each condition reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from thalweg.logical.join import ColumnRef, Equality, Term
from thalweg.logical.query import Expr
from thalweg.sql.conditions import as_equality, conjuncts
from thalweg.sql.inference import UNLIKE, InferenceError, one_line
from thalweg.sql.joined import JoinedRows
from thalweg.sql.types import comparable_type


@dataclass(frozen=True)
class JoinConditions:
    """What must hold: of the rows of each input alone, of columns of two inputs that are equal, and all else."""

    where: tuple[tuple[Expr, ...], ...]
    equalities: tuple[Equality, ...]
    residue: tuple[Term, ...]


def bind_conditions(rows: JoinedRows, select: exp.Select) -> JoinConditions:
    """The conditions of a join, each where it belongs, in normal order."""
    own: dict[int, set[str]] = defaultdict(set)
    equalities: set[Equality] = set()
    residue: set[Term] = set()
    for node, place in _conjuncts(rows, select):
        equality = _equality(rows, node, place)
        if equality is not None:
            equalities.add(equality)
            continue
        condition = _condition(rows, node, place)
        if condition.own is not None:
            own[condition.columns[0].input].add(condition.own)
        else:
            residue.add(condition)
    where = (sorted(own[i] - {"TRUE"}) for i in range(len(rows.inputs)))
    return JoinConditions(
        tuple(tuple(Expr(sql, "BOOLEAN") for sql in conditions) for conditions in where),
        tuple(sorted(equalities, key=lambda e: (e.left.inputs, e.right.inputs, e.left.sql, e.right.sql))),
        tuple(sorted((t for t in residue if t.sql != "TRUE"), key=lambda t: t.sql)),
    )


def _conjuncts(rows: JoinedRows, select: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    for node in rows.using.conditions:
        yield node, "USING"
    for join in select.args.get("joins") or []:
        on = join.args.get("on")
        yield from ((c, "ON") for c in conjuncts(on)) if on is not None else ()
    where = select.args.get("where")
    yield from ((c, "WHERE") for c in conjuncts(where.this)) if where is not None else ()


def _condition(rows: JoinedRows, node: exp.Expr, place: str) -> Term:
    read: set[ColumnRef] = set()
    sql = rows.writer(place, read).condition(node).sql
    inputs = {c.input for c in read}
    own = rows.own_writer(inputs.pop(), place).condition(node).sql if len(inputs) == 1 else None
    return Term(sql, "BOOLEAN", tuple(sorted(read)), own)


def _equality(rows: JoinedRows, node: exp.Expr, place: str) -> Equality | None:
    """A condition that equates what two inputs have; the first of them stands left."""
    equation = as_equality(node)
    if equation is None:
        return None
    left, right = rows.term(equation.this, place), rows.term(equation.expression, place)
    if not len(left.inputs) == len(right.inputs) == 1 or left.inputs == right.inputs:
        return None
    rows.writer(place).alike((equation.this, equation.expression), "compare")
    common = _common_type(rows, node, left, right)
    first, second = sorted((left, right), key=lambda t: t.inputs)
    return Equality(_cast(first, common), _cast(second, common))


def _common_type(rows: JoinedRows, node: exp.Expr, left: Term, right: Term) -> str:
    if left.type == right.type:
        return left.type
    exact = comparable_type(left.type, right.type)
    if exact is not None:
        return exact
    try:
        return rows.infer(f"CASE WHEN TRUE THEN {left.sql} ELSE {right.sql} END", rows.types)
    except InferenceError as error:
        raise rows.source.at(node, one_line(error), UNLIKE) from None


def _cast(term: Term, to: str) -> Term:
    """A term of another type; a value that the type can't hold equals none of it, so it is NULL."""
    if term.type == to:
        return term
    return replace(term, sql=f"TRY_CAST({term.sql} AS {to})", own=f"TRY_CAST({term.own} AS {to})", type=to)
