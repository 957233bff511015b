"""What columns mean where a SELECT reads others: those of a nested SELECT are its expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from thalweg.sql.builder import is_star
from thalweg.sql.inner import Inner
from thalweg.sql.rows import is_window_reference
from thalweg.sql.source import Source, Span, placed, span_of, suggestion

Outputs = Mapping[str, tuple[str, exp.Expr]]


@dataclass(frozen=True)
class Part:
    """What FROM has under one name: a stream or a table with its columns, the results of an `inner` query, or a nested SELECT with what
    it reads (`bases`), its results by name, and its conditions. Where there is OVER in it, `chosen` are the conditions on what that gives.
    Of a hidden one only conditions on partners know."""

    node: exp.Expr
    alias: str
    columns: tuple[str, ...] = ()
    is_stream: bool = False
    bases: tuple[Part, ...] = ()
    outputs: Outputs = field(default_factory=dict)
    conditions: tuple[exp.Expr, ...] = ()
    is_view: bool = False
    inner: Inner | None = None
    has_over: bool = False
    chosen: tuple[exp.Expr, ...] = ()
    is_hidden: bool = False

    @property
    def nested(self) -> bool:
        """Whether it is a SELECT."""
        return bool(self.bases)

    @property
    def names(self) -> list[str]:
        """Its columns in order."""
        return [name for name, _ in self.outputs.values()] if self.nested else list(self.columns)

    def find(self, name: str) -> str | None:
        """A column, in the case of its declaration."""
        return next((n for n in self.names if n.lower() == name.lower()), None)

    def value(self, name: str) -> exp.Expr:
        """What a column is, as an expression over streams and tables."""
        if self.nested:
            return exp.Paren(this=self.outputs[name.lower()][1].copy())
        stored = name if self.inner is None else self.inner.columns[name]
        return exp.column(stored, table=self.alias, quoted=True)

    def with_names(self, names: Sequence[str]) -> Part:
        """With other names for what it reads."""
        if not self.nested:
            return self
        new = {b.alias.lower(): n for b, n in zip(self.bases, names, strict=True)}
        for tree in (*self.conditions, *self.chosen, *(e for _, e in self.outputs.values())):
            for column in tree.find_all(exp.Column):
                if column.table.lower() in new:
                    column.set("table", exp.to_identifier(new[column.table.lower()], quoted=True))
        for base, name in zip(self.bases, names, strict=True):
            base.node.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        return replace(self, bases=tuple(replace(b, alias=n) for b, n in zip(self.bases, names, strict=True)))


@dataclass(frozen=True)
class Scope:
    """The names that a SELECT sees. Where it has a window, columns of windows are those of its own unless they are qualified."""

    source: Source
    parts: tuple[Part, ...]
    has_window: bool = False

    def replace_columns(self, select: exp.Select) -> None:
        """Columns of a SELECT by what they are over streams and tables; stars by the columns that they stand for."""
        aliases: dict[str, exp.Expr] = {}
        items: list[exp.Expr] = []
        for written in select.expressions:
            for item in self._shown(written, aliases):
                items.append(item)
                if isinstance(item, exp.Alias):
                    aliases.setdefault(item.alias.lower(), item.this)
        select.set("expressions", items)
        for clause in ("where", "group", "qualify"):
            if (node := select.args.get(clause)) is not None:
                self._replace(node, {} if clause == "where" else aliases)
        if (having := select.args.get("having")) is not None:
            self._replace(having, {}, kept=frozenset(aliases))
        for join in select.args.get("joins") or ():
            if join.args.get("on") is not None:
                self._replace(join, {})

    def outputs(self, select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
        """The results of a SELECT by name."""
        seen: set[str] = set()
        for item in select.expressions:
            name = item.alias if isinstance(item, exp.Alias) else self._name(item)
            if name.lower() in seen:
                raise self.source.at(item, f"two results are named {name}", "rename one with AS")
            seen.add(name.lower())
            yield name, item.this if isinstance(item, exp.Alias) else item

    def _name(self, item: exp.Expr) -> str:
        return item.name if isinstance(item, exp.Column | exp.Dot) else self.source.written(item)

    def _shown(self, item: exp.Expr, aliases: Mapping[str, exp.Expr]) -> Iterator[exp.Expr]:
        """An item of SELECT, with what its columns are, under the name that it has as written."""
        if is_star(item):
            for part, name in self._starred(item):
                yield _named(name, placed(part.value(name), item), item)
        elif isinstance(item, exp.Column):
            found, value = self._found(item), self._value(item, aliases, frozenset())
            yield item if value is None else _named(item.name if found is None else found[1], value, item)
        else:
            self._replace(item, aliases)
            yield item

    def _starred(self, star: exp.Expr) -> Iterator[tuple[Part, str]]:
        qualifier = star.table.lower() if isinstance(star, exp.Column) else ""
        parts = [p for p in self.parts if qualifier in ("", p.alias.lower()) and not p.is_hidden]
        if not parts:
            raise self._unknown_input(star)
        yield from ((p, n) for p in parts for n in p.names)

    def _replace(
        self, tree: exp.Expr, aliases: Mapping[str, exp.Expr], kept: frozenset[str] = frozenset()
    ) -> None:
        for column in [n for n in tree.walk(prune=_is_query) if isinstance(n, exp.Column)]:
            value = self._value(column, aliases, kept)
            if value is not None:
                column.replace(value)

    def _value(
        self, column: exp.Column, aliases: Mapping[str, exp.Expr], kept: frozenset[str]
    ) -> exp.Expr | None:
        """What stands for a column; None where it stays as it is."""
        if is_star(column):
            return placed(exp.Star(), column)
        name = column.name.lower()
        if not column.table and name in kept:
            return None
        found = self._found(column)
        if found is None:
            if not column.table and name in aliases:
                return placed(exp.Paren(this=aliases[name].copy()), column)
            if is_window_reference(column):
                return None
            raise self._unknown(column)
        part, declared = found
        value = placed(part.value(declared), column)
        if part.is_view and (place := span_of(column)) is not None:
            spread(place, value)
        return value

    def _found(self, column: exp.Column) -> tuple[Part, str] | None:
        """Where a column is, and its name there; an error where it is in several."""
        qualifier = column.table.lower()
        if self.has_window and not qualifier and is_window_reference(column):
            return None
        if qualifier and qualifier != "window" and all(p.alias.lower() != qualifier for p in self.parts):
            raise self._unknown_input(column)
        parts = [p for p in self.parts if qualifier in ("", p.alias.lower())]
        found = [(p, n) for p in parts if (n := p.find(column.name)) is not None]
        found = [(p, n) for p, n in found if not p.is_hidden] or found
        if len(found) > 1:
            named = [p.alias for p, _ in found]
            raise self.source.at(
                column, f"column {column.name} is in {' and '.join(named)}", f"write {named[0]}.{column.name}"
            )
        return found[0] if found else None

    def _unknown(self, column: exp.Column) -> Exception:
        parts = [p for p in self.parts if column.table.lower() in ("", p.alias.lower())]
        names = dict.fromkeys(n for p in parts for n in p.names)
        where = f"columns of {' and '.join(p.alias for p in parts)} are"
        return self.source.at(
            column, f"unknown column {self.source.written(column)}", suggestion(column.name, names, where)
        )

    def _unknown_input(self, column: exp.Expr) -> Exception:
        qualifier = column.args["table"]
        hint = suggestion(qualifier.name, [p.alias for p in self.parts], "the query reads")
        return self.source.error(
            f"unknown input {qualifier.name}", span_of(qualifier) or span_of(column) or (0, 1), hint
        )


def spread(place: Span, *trees: exp.Expr) -> None:
    """Trees of another text, all at one place of this one."""
    for node in (n for tree in trees for n in tree.walk()):
        node.meta.pop("start", None)
        node.meta["span"] = place


def _named(name: str, value: exp.Expr, origin: exp.Expr) -> exp.Expr:
    return placed(exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True)), origin)


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)
