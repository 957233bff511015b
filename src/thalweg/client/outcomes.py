"""Outcomes of statements that were carried out elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from html import escape
from typing import Any

from thalweg.api.outcomes import Assigned, Created, Declared, Dropped, Listing, Outcome, Outcomes
from thalweg.explain.explanation import html_of


@dataclass(frozen=True)
class RemotelyExplained(Outcome):
    """What EXPLAIN or SHOW PLAN says: words, the plan as plain values, and, where it was asked for, drawn."""

    statement: str
    text: str
    plan: dict[str, Any] = field(repr=False)
    svg: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.text

    @property
    def data(self) -> dict[str, Any]:
        """The plan as plain values."""
        return self.plan

    def _repr_html_(self) -> str:
        return html_of(self.svg, self.text) if self.svg else f"<pre>{escape(self.text)}</pre>"


KINDS: dict[str, type[Outcome]] = {k.__name__.lower(): k for k in (Declared, Created, Dropped, Assigned)}


def outcomes_of(data: list[dict[str, Any]]) -> Outcomes:
    """The outcomes of a script, as a service tells them."""
    return Outcomes(map(_outcome, data))


def _outcome(data: dict[str, Any]) -> Outcome:
    kind = data["outcome"]
    if kind == "explained":
        return RemotelyExplained(
            data["statement"], data["text"], {k: v for k, v in data.items() if k != "text"}
        )
    if kind == "listing":
        return Listing(data["what"], tuple(data["header"]), tuple(map(tuple, data["rows"])))
    made = KINDS[kind]
    return made(**{f.name: data[f.name] for f in fields(made) if f.name in data})  # type: ignore[arg-type]
