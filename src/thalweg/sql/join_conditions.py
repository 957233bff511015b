"""WHERE, ON and USING of a join, taken apart by what each condition reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from thalweg.expr.nodes import Call, Cast, Expr
from thalweg.expr.normal import conjuncts
from thalweg.expr.types import comparable_type
from thalweg.expr.typing import InferenceError
from thalweg.model.query import Equality, Term
from thalweg.sql.conditions import in_order
from thalweg.sql.joined import JoinedRows
from thalweg.sql.source import UNLIKE, one_line


@dataclass(frozen=True)
class JoinConditions:
    """What must hold: of the rows of each input alone, of columns of two inputs that are equal, and all else."""

    where: tuple[tuple[Expr, ...], ...]
    equalities: tuple[Equality, ...]
    residue: tuple[Term, ...]


def bind_conditions(rows: JoinedRows, select: exp.Select) -> JoinConditions:
    """The conditions of a join, each where it belongs, in normal order."""
    own: dict[int, set[Expr]] = defaultdict(set)
    equalities: set[Equality] = set()
    residue: set[Term] = set()
    for node, place in _conditions(rows, select):
        for condition in conjuncts(rows.builder(place).condition(node)):
            equality, term = _equality(rows, node, condition), rows.termed(condition)
            if equality is not None:
                equalities.add(equality)
            elif term.bare is not None:
                own[term.columns[0].input].add(term.bare)
            else:
                residue.add(term)
    return JoinConditions(
        tuple(in_order(tuple(own[i])) for i in range(len(rows.inputs))),
        tuple(sorted(equalities, key=lambda e: (e.left.inputs, e.right.inputs, e.left.sql, e.right.sql))),
        tuple(sorted(residue, key=lambda t: t.sql)),
    )


def _conditions(rows: JoinedRows, select: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    for node in rows.using.conditions:
        yield node, "USING"
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            yield join.args["on"], "ON"
    if select.args.get("where") is not None:
        yield select.args["where"].this, "WHERE"


def _equality(rows: JoinedRows, node: exp.Expr, condition: Expr) -> Equality | None:
    """A condition that equates what two inputs have; the first of them stands left."""
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    first, second = sorted(map(rows.termed, condition.args), key=lambda t: t.inputs)
    if not len(first.inputs) == len(second.inputs) == 1 or first.inputs == second.inputs:
        return None
    common = _common_type(rows, node, first, second)
    return Equality(_cast(rows, first, common), _cast(rows, second, common))


def _common_type(rows: JoinedRows, node: exp.Expr, left: Term, right: Term) -> str:
    if left.type == right.type:
        return left.type
    try:
        return comparable_type(left.type, right.type) or rows.typing.mixed((left.expr, right.expr))
    except InferenceError as error:
        raise rows.source.at(node, one_line(error), UNLIKE) from None


def _cast(rows: JoinedRows, term: Term, to: str) -> Term:
    """A term of another type; a value that the type can't hold equals none of it, so it is NULL."""
    return term if term.type == to else rows.termed(Cast(term.expr, to))
