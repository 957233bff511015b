"""The rows of a join as the scope of WHERE, ON, GROUP BY, SELECT and the arguments of aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from thalweg.logical.join import ColumnRef, Term, flat
from thalweg.sql import literals
from thalweg.sql.inference import Infer
from thalweg.sql.inputs import Input
from thalweg.sql.rows import FORMS, refuse_in_rows
from thalweg.sql.source import Source, span_of, suggestion
from thalweg.sql.using import Using
from thalweg.sql.writer import Writer

Form = Callable[[ColumnRef], str]


@dataclass(frozen=True)
class JoinedRows:
    """The inputs that are joined, under the names they have in the query."""

    source: Source
    inputs: tuple[Input, ...]
    using: Using
    infer: Infer

    @cached_property
    def types(self) -> dict[str, str]:
        """The columns of a joined row, by type."""
        return {f"{i.alias}.{name}": type_ for i in self.inputs for name, type_ in i.types.items()}

    def writer(self, place: str, read: set[ColumnRef] | None = None, aliases: Mapping[str, Term] | None = None) -> Writer:
        """What writes expressions over the joined row; `read` collects the columns, `aliases` are names of earlier results."""
        noted = set() if read is None else read

        def form(column: ColumnRef) -> str:
            noted.add(column)
            return flat(self.inputs[column.input].alias, column.name)

        def leaf(node: exp.Expr) -> str | None:
            alias = self._aliased(node, aliases or {})
            if alias is None:
                return self._leaf(node, place, form)
            noted.update(alias.columns)
            return f"({alias.sql})" if " " in alias.sql else alias.sql

        return Writer(self.source, FORMS, lambda sql: self.infer(sql, self.types), leaf)

    def own_writer(self, index: int, place: str) -> Writer:
        """What writes expressions that read one input alone, over its bare columns."""
        types = self.inputs[index].types
        return Writer(
            self.source,
            FORMS,
            lambda sql: self.infer(sql, types),
            lambda node: self._leaf(node, place, lambda column: literals.name(column.name)),
        )

    def term(self, node: exp.Expr, place: str) -> Term:
        """A typed expression over the joined row."""
        read: set[ColumnRef] = set()
        writer = self.writer(place, read)
        sql, type_ = writer.sql(node), writer.type(node)
        inputs = {c.input for c in read}
        own = self.own_writer(inputs.pop(), place).sql(node) if len(inputs) == 1 else None
        return Term(sql, type_, tuple(sorted(read)), own)

    def resolve(self, node: exp.Column) -> ColumnRef | None:
        """The column that a reference names; an error where several inputs have it."""
        qualifier, name = node.args.get("table"), node.name
        if qualifier is not None:
            index = self.index(node)
            own = self.inputs[index].column(name) if index is not None else None
            return ColumnRef(index, own) if index is not None and own is not None else None
        found = [ColumnRef(i, own) for i, input_ in enumerate(self.inputs) if (own := input_.column(name)) is not None]
        distinct = sorted({self.using.same.get(c, c) for c in found})
        if len(distinct) > 1:
            aliases = [self.inputs[c.input].alias for c in distinct]
            raise self.source.at(node, f"column {name} is in {' and '.join(aliases)}", f"write {aliases[0]}.{name}")
        return distinct[0] if distinct else None

    def index(self, node: exp.Column) -> int | None:
        """The input that the qualifier of a reference names."""
        if node.args.get("db"):
            return None
        name = node.args["table"].name.lower()
        return next((i for i, input_ in enumerate(self.inputs) if input_.alias.lower() == name), None)

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
            hint = suggestion(name, [i.alias for i in self.inputs], "the query reads")
            raise self.source.error(f"unknown input {name}", (start, end), hint)

    def unknown(self, node: exp.Column) -> Exception:
        """The error for a column that no input has."""
        index = self.index(node) if node.args.get("table") is not None else None
        inputs = self.inputs if index is None else (self.inputs[index],)
        names = dict.fromkeys(c.name for i in inputs for c in i.origin.columns)
        where = f"columns of {' and '.join(i.alias for i in inputs)} are"
        return self.source.at(node, f"unknown column {self.source.written(node)}", suggestion(node.name, names, where))

    def _aliased(self, node: exp.Expr, aliases: Mapping[str, Term]) -> Term | None:
        bare = isinstance(node, exp.Column) and node.args.get("table") is None and node.name.lower() in aliases
        return aliases[node.name.lower()] if bare and isinstance(node, exp.Column) and self.resolve(node) is None else None

    def _leaf(self, node: exp.Expr, place: str, form: Form) -> str | None:
        refuse_in_rows(self, node, place)
        if not isinstance(node, exp.Column):
            return None
        self.check_qualifier(node)
        column = self.resolve(node)
        if column is None:
            raise self.unknown(node)
        return form(column)
