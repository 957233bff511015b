"""What became of a statement: a frozen value for people (`str`), notebooks (`_repr_html_`) and programs (`data`, fit for JSON)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, datetime
from html import escape
from typing import Any

from thalweg.explain import Explanation


class Outcome:
    """What every outcome can do."""

    @property
    def data(self) -> dict[str, Any]:
        """Plain values, with the kind of outcome as `outcome`."""
        return {"outcome": type(self).__name__.lower(), **{k: plain(v) for k, v in asdict(self).items()}}  # type: ignore[call-overload]

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"


@dataclass(frozen=True)
class Declared(Outcome):
    """A stream or a table that queries may read."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} declared"


@dataclass(frozen=True)
class Created(Outcome):
    """A query, and where its results go; with `replaced` it took the place of another of its name. `history` says where one
    begins that asks for rows that were read before, `notice` what it keeps for ever."""

    query: str
    results: str
    replaced: bool = False
    history: str = ""
    notice: str = ""

    def __str__(self) -> str:
        more = "".join(f"; {text}" for text in (self.history, self.notice) if text)
        return f"query {self.query} {'replaced' if self.replaced else 'created'}, results in {self.results}{more}"


@dataclass(frozen=True)
class Dropped(Outcome):
    """A query, a stream or a table that is no more; results stay where they are."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} dropped"


@dataclass(frozen=True)
class Assigned(Outcome):
    """A setting and its new value."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.key} is now {self.value}"


@dataclass(frozen=True)
class Listing(Outcome):
    """Rows under a header, as SHOW gives them."""

    what: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        lines = [self.header, *(tuple(map(str, r)) for r in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        return "\n".join(
            "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(h)}</th>" for h in self.header)
        body = "".join(f"<tr>{''.join(f'<td>{escape(str(v))}</td>' for v in row)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Explained(Outcome):
    """What EXPLAIN or SHOW PLAN says: `explanation` has the plan in all its forms."""

    statement: str
    explanation: Explanation

    def __str__(self) -> str:
        return self.explanation.text

    @property
    def text(self) -> str:
        """The plan for a terminal."""
        return self.explanation.text

    @property
    def data(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {"outcome": "explained", "statement": self.statement, **self.explanation.data}

    def _repr_html_(self) -> str:
        return self.explanation._repr_html_()


class Outcomes(tuple[Outcome, ...]):
    """The outcomes of a script, one a statement."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(o._repr_html_() for o in self)


def plain(value: Any) -> Any:
    """A value as JSON can have it.

    >>> plain((1, date(2024, 12, 31), None))
    [1, '2024-12-31', None]
    """
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, datetime | date):
        return value.isoformat().replace("+00:00", "Z")
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
