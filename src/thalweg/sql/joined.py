"""The rows of a join as the scope of WHERE, ON, GROUP BY, SELECT and the arguments of aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from thalweg.expr.nodes import Column, Expr
from thalweg.expr.typing import Typing
from thalweg.model.query import ANTI, FULL, LEFT, SEMI, ColumnRef, Term, joined_name
from thalweg.once import cached_property
from thalweg.sql.attaching import Kinds
from thalweg.sql.builder import Builder
from thalweg.sql.inputs import Input
from thalweg.sql.rows import FORMS, refuse_in_rows
from thalweg.sql.source import Source, span_of, suggestion
from thalweg.sql.using import Using


@dataclass(frozen=True)
class JoinedRows:
    """The inputs that are joined, under the names they have in the query."""

    source: Source
    inputs: tuple[Input, ...]
    using: Using
    typing: Typing
    kinds: Kinds = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()

    @cached_property
    def visible(self) -> JoinedRows:
        """The same without the inputs that only conditions on partners know."""
        return replace(self, hidden=frozenset(n for n, (k, _) in self.kinds.items() if k in (SEMI, ANTI)))

    @cached_property
    def nullable(self) -> frozenset[int]:
        """The inputs that a joined row may have NULLs of."""
        if any(kind == FULL for kind, _ in self.kinds.values()):
            return frozenset(range(len(self.inputs)))
        return frozenset(n for n, (kind, _) in self.kinds.items() if kind == LEFT)

    @cached_property
    def refs(self) -> dict[str, ColumnRef]:
        """The columns of a joined row by their names in it."""
        return {
            joined_name(i.alias, c): ColumnRef(n, c, t)
            for n, i in enumerate(self.inputs)
            for c, t in i.types.items()
        }

    def builder(self, place: str, aliases: Mapping[str, Term] | None = None) -> Builder:
        """What builds expressions over the joined row; `aliases` are names of earlier results."""

        def leaf(node: exp.Expr) -> Expr | None:
            alias = self._aliased(node, aliases or {})
            return self._leaf(node, place) if alias is None else alias.expr

        return Builder(self.source, FORMS, self.typing, leaf, self._field)

    def term(self, node: exp.Expr, place: str) -> Term:
        """An expression over the joined row."""
        return self.termed(self.builder(place).tree(node))

    def termed(self, expr: Expr) -> Term:
        """An expression with the columns that it reads, and its form over the bare columns of the only input that it reads."""
        read = self.read(expr)
        return Term(expr, read, self.bare(expr) if len({c.input for c in read}) == 1 else None)

    def read(self, *exprs: Expr) -> tuple[ColumnRef, ...]:
        """The columns that expressions read, in order."""
        return tuple(sorted({self.refs[name] for e in exprs for name in e.columns}))

    def bare(self, expr: Expr) -> Expr:
        """An expression that reads one input, over the bare columns of that."""
        return expr.renamed(lambda name: self.refs[name].name)

    def column_of(self, ref: ColumnRef) -> Expr:
        """A column of the joined row."""
        given = self.inputs[ref.input]
        return Column(joined_name(given.alias, ref.name), given.types[ref.name])

    def resolve(self, node: exp.Column) -> ColumnRef | None:
        """The column that a reference names; an error where several inputs have it."""
        qualifier, name = node.args.get("table"), node.name
        if qualifier is not None:
            index = self.index(node)
            own = self.inputs[index].column(name) if index is not None else None
            return ColumnRef(index, own) if index is not None and own is not None else None
        hidden = self.visible.hidden if node.meta.get("outside") else self.hidden
        found = [
            ColumnRef(i, own)
            for i, input_ in enumerate(self.inputs)
            if i not in hidden and (own := input_.column(name)) is not None
        ]
        distinct = sorted({self.using.same.get(c, c) for c in found})
        if len(distinct) > 1:
            aliases = [self.inputs[c.input].alias for c in distinct]
            raise self.source.at(
                node, f"column {name} is in {' and '.join(aliases)}", f"write {aliases[0]}.{name}"
            )
        return distinct[0] if distinct else None

    def index(self, node: exp.Column) -> int | None:
        """The input that the qualifier of a reference names."""
        if node.args.get("db"):
            return None
        name = node.args["table"].name.lower()
        seen = (i for i, input_ in enumerate(self.inputs) if input_.alias.lower() == name)
        return next((i for i in seen if i not in self.hidden), None)

    def column(self, node: exp.Column) -> str | None:
        """The name of the column that a reference names, in the case of its declaration."""
        found = self.resolve(node)
        return found.name if found else None

    def check_qualifier(self, node: exp.Column) -> None:
        """Refuse a reference through a name that is no input's."""
        qualifier = node.args.get("table")
        if qualifier is not None and self.index(node) is None:
            parts = [node.args[k] for k in ("catalog", "db", "table") if node.args.get(k)]
            name = ".".join(p.name for p in parts)
            (start, _), (_, end) = (span_of(p) or (0, 1) for p in (parts[0], qualifier))
            known = [i.alias for n, i in enumerate(self.inputs) if n not in self.hidden]
            hint = suggestion(name, known, "the query reads")
            if any(i.alias.lower() == name.lower() for i in self.inputs):
                hint = f"{name} stands in EXISTS, IN, or a SEMI or ANTI JOIN: only its conditions know it; use JOIN to show its columns"
            raise self.source.error(f"unknown input {name}", (start, end), hint)

    def unknown(self, node: exp.Column) -> Exception:
        """The error for a column that no input has."""
        index = self.index(node) if node.args.get("table") is not None else None
        inputs = self.inputs if index is None else (self.inputs[index],)
        names = dict.fromkeys(c.name for i in inputs for c in i.origin.columns)
        where = f"columns of {' and '.join(i.alias for i in inputs)} are"
        return self.source.at(
            node, f"unknown column {self.source.written(node)}", suggestion(node.name, names, where)
        )

    def _field(self, struct: Expr, name: str) -> Expr | None:
        ref = self.refs.get(f"{struct.name}.{name}") if isinstance(struct, Column) else None
        return None if ref is None else self.column_of(ref)

    def _aliased(self, node: exp.Expr, aliases: Mapping[str, Term]) -> Term | None:
        bare = (
            isinstance(node, exp.Column) and node.args.get("table") is None and node.name.lower() in aliases
        )
        return (
            aliases[node.name.lower()]
            if bare and isinstance(node, exp.Column) and self.resolve(node) is None
            else None
        )

    def _leaf(self, node: exp.Expr, place: str) -> Expr | None:
        refuse_in_rows(self, node, place)
        if not isinstance(node, exp.Column):
            return None
        self.check_qualifier(node)
        column = self.resolve(node)
        if column is None:
            raise self.unknown(node)
        return self.column_of(column)
