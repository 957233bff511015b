"""Scalar expressions as frozen trees of a few kinds of nodes, each with its type.

A tree says what is meant, not how the engine computes it: `Call("PMOD", ...)`, with Spark's meaning and DuckDB's names of types.
How it is written is the matter of `expr.writer` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from thalweg.once import cached_property

NULL = '"NULL"'
"""The type of NULL where nothing gives it another."""
PYTHON = "PYTHON"
"""The function of a call of a user's Python function; its parameters are the name and the digest of that."""


class Expr:
    """An expression. Equal trees have equal meaning."""

    type: str

    @property
    def children(self) -> tuple[Expr, ...]:
        """The expressions that it is made of."""
        return ()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The same of other expressions."""
        return self

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of the columns that it reads."""
        return frozenset().union(*(c.columns for c in self.children))

    @cached_property
    def functions(self) -> frozenset[tuple[str, str]]:
        """The Python functions that it calls, by name and digest."""
        found = frozenset[tuple[str, str]]().union(*(c.functions for c in self.children))
        if not isinstance(self, Call) or self.function != PYTHON:
            return found
        name, digest = self.params
        return found | {(name, digest)}

    @cached_property
    def size(self) -> int:
        """How many expressions it is when written out, without constants: one that stands in several places counts in each."""
        return (not isinstance(self, Literal)) + sum(c.size for c in self.children)

    @cached_property
    def sql(self) -> str:
        """What the engine runs."""
        from thalweg.expr.writer import write

        return write(self).sql

    @cached_property
    def operand(self) -> str:
        """The same as an operand: in parentheses where it needs them."""
        from thalweg.expr.writer import write

        return write(self).operand

    def walk(self) -> Iterator[Expr]:
        """This expression and all within it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def mapped(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """The expression with others in the place of those that `change` gives one for."""
        changed = change(self)
        return (
            changed
            if changed is not None
            else self.with_children(tuple(c.mapped(change) for c in self.children))
        )

    def renamed(self, names: Callable[[str], str]) -> Expr:
        """The same over columns of other names."""
        return self.mapped(lambda e: Column(names(e.name), e.type) if isinstance(e, Column) else None)

    def substituted(self, given: Mapping[str, Expr]) -> Expr:
        """The same with expressions in the place of columns."""
        return self.mapped(lambda e: given.get(e.name, e) if isinstance(e, Column) else None)

    def __str__(self) -> str:
        return self.sql


@dataclass(frozen=True)
class Column(Expr):
    """A column by its name."""

    name: str
    type: str

    @cached_property
    def columns(self) -> frozenset[str]:
        """Itself."""
        return frozenset((self.name,))


@dataclass(frozen=True)
class Literal(Expr):
    """A constant as its text; NULL has none.

    A number is written one way, a BOOLEAN `TRUE` or `FALSE`, an INTERVAL as `90 minutes`.
    """

    value: str | None
    type: str


@dataclass(frozen=True)
class Variable(Expr):
    """What a lambda is a function of, by a name that no other around it has: `x1`; an `i1` is the place of an element, from 0 on."""

    name: str
    type: str

    @property
    def named(self) -> str:
        """The name that the engine knows it by."""
        return f'"__{self.name}"'


@dataclass(frozen=True)
class Call(Expr):
    """A function or operator of arguments; `params` are constants of the function itself, such as the unit of DATE_TRUNC."""

    function: str
    args: tuple[Expr, ...]
    type: str
    params: tuple[str, ...] = ()

    @property
    def children(self) -> tuple[Expr, ...]:
        """The arguments."""
        return self.args

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The call of other arguments."""
        return replace(self, args=children)


@dataclass(frozen=True)
class Cast(Expr):
    """A value as one of another type; NULL where it is none."""

    arg: Expr
    type: str

    @property
    def children(self) -> tuple[Expr, ...]:
        """The value."""
        return (self.arg,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The cast of another value."""
        return replace(self, arg=children[0])


@dataclass(frozen=True)
class Case(Expr):
    """The value of the first branch whose condition holds, or equals the subject where there is one; else `otherwise`, or NULL."""

    branches: tuple[tuple[Expr, Expr], ...]
    type: str
    otherwise: Expr | None = None
    subject: Expr | None = None

    @property
    def children(self) -> tuple[Expr, ...]:
        """Conditions and values of all branches, then the rest."""
        rest = (e for e in (self.otherwise, self.subject) if e is not None)
        return (*(e for branch in self.branches for e in branch), *rest)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The same choice between other values."""
        count = 2 * len(self.branches)
        rest = iter(children[count:])
        return replace(
            self,
            branches=tuple(zip(children[:count:2], children[1:count:2], strict=True)),
            otherwise=None if self.otherwise is None else next(rest),
            subject=None if self.subject is None else next(rest),
        )

    @property
    def values(self) -> tuple[Expr, ...]:
        """What it may give."""
        return (
            *(value for _, value in self.branches),
            *(() if self.otherwise is None else (self.otherwise,)),
        )


TRUE, FALSE = Literal("TRUE", "BOOLEAN"), Literal("FALSE", "BOOLEAN")


def is_constant(expr: Expr) -> bool:
    """Whether an expression is a literal, perhaps cast."""
    return isinstance(expr, Literal) or (isinstance(expr, Cast) and is_constant(expr.arg))


def is_text(expr: Expr) -> bool:
    """Whether an expression is a string literal, which may stand for a value of another type."""
    return isinstance(expr, Literal) and expr.type == "VARCHAR"
