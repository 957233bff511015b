"""WHERE, ON and USING of a join, taken apart by what each condition reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from thalweg.expr.nodes import Call, Cast, Expr
from thalweg.expr.normal import conjuncts
from thalweg.expr.types import comparable_type
from thalweg.expr.typing import InferenceError
from thalweg.model.query import FULL, Attached, Equality, Term
from thalweg.sql.attaching import Kinds
from thalweg.sql.conditions import in_order
from thalweg.sql.joined import JoinedRows
from thalweg.sql.source import UNLIKE, one_line


@dataclass(frozen=True)
class JoinConditions:
    """What must hold: of the rows of each input alone, of columns of two inputs that are equal, and all else; for partners of inputs that
    are attached, and of what they are attached to once that has been done."""

    where: tuple[tuple[Expr, ...], ...]
    equalities: tuple[Equality, ...]
    residue: tuple[Term, ...]
    attached: tuple[Attached, ...] = ()
    kept: tuple[Term, ...] = ()


def bind_conditions(rows: JoinedRows, select: exp.Select, kinds: Kinds) -> JoinConditions:
    """The conditions of a join, each where it belongs, in normal order."""
    own: dict[int, set[Expr]] = defaultdict(set)
    equalities: set[Equality] = set()
    others: dict[int | None, set[Term]] = defaultdict(set)
    for node, place, of in _conditions(rows, select, kinds):
        seen = rows if of is not None else rows.visible
        for condition in conjuncts(seen.builder(place).condition(node)):
            equality, term = _equality(rows, node, condition), rows.termed(condition)
            if equality is not None and _is_of(of, {*term.inputs}, kinds):
                equalities.add(equality)
            elif term.bare is not None and _is_alone(of, term.inputs[0], kinds):
                own[term.inputs[0]].add(term.bare)
            elif of is None and kinds and (not term.inputs or {*term.inputs} & rows.nullable):
                others[_AFTER].add(term)
            else:
                others[of].add(term)
    return JoinConditions(
        tuple(in_order(tuple(own[i])) for i in range(len(rows.inputs))),
        tuple(sorted(equalities, key=lambda e: (e.left.inputs, e.right.inputs, e.left.sql, e.right.sql))),
        _sorted(others[None]),
        tuple(Attached(n, kind, _sorted(others[n])) for n, (kind, _) in kinds.items()),
        _sorted(others[_AFTER]),
    )


_AFTER = -1
"""Stands for no input: conditions on what all joins together have made."""


def _sorted(terms: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(sorted(terms, key=lambda t: t.sql))


def _is_of(of: int | None, inputs: set[int], kinds: Kinds) -> bool:
    """Whether an equality that stands with a join is one of its input and another, or with none of them, one of inner inputs."""
    if of is None:
        return not inputs & {*kinds} and not any(kind == FULL for kind, _ in kinds.values())
    return of in inputs and all(n <= of or n not in kinds for n in inputs)


def _is_alone(of: int | None, number: int, kinds: Kinds) -> bool:
    """Whether a condition on one input chooses its rows: with ON not those of an input that comes out without partners too."""
    if any(kind == FULL for kind, _ in kinds.values()):
        return False
    return number == of if of is not None else number not in kinds


def _conditions(
    rows: JoinedRows, select: exp.Select, kinds: Kinds
) -> Iterator[tuple[exp.Expr, str, int | None]]:
    """Each condition, the clause that it stands in, and the attached input whose it is."""
    of = {id(join): n for n, (_, join) in kinds.items()}
    for join, node in rows.using.conditions:
        yield node, "USING", of.get(id(join))
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            yield join.args["on"], "ON", of.get(id(join))
    if select.args.get("where") is not None:
        yield select.args["where"].this, "WHERE", None


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
