"""The text of a script and the places in it that errors point at."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from thalweg.errors import SqlError, StatementError, UsageError

Span = tuple[int, int]
"""A half-open interval of characters of the text."""
UNLIKE = "CAST values to the types that are meant"


@dataclass(frozen=True)
class Source:
    """A script: its whole text and where it came from (a file name, or nothing)."""

    text: str
    origin: str = ""

    def error(self, message: str, span: Span, hint: str | None = None) -> SqlError:
        """An error at a place of the text."""
        line, column, length = place(self.text, span)
        return SqlError(
            " ".join(message.split()),
            hint,
            text=self.text,
            line=line,
            column=column,
            length=length,
            origin=self.origin,
        )

    def refused(self, error: UsageError, span: Span) -> StatementError:
        """An error of carrying a statement out, at its place."""
        line, column, length = place(self.text, span)
        return StatementError(
            error.message,
            error.hint,
            text=self.text,
            line=line,
            column=column,
            length=length,
            origin=self.origin,
        )

    def at(self, node: exp.Expr, message: str, hint: str | None = None) -> SqlError:
        """An error at a node of the syntax tree."""
        return self.error(message, span_of(node) or (0, 1), hint)

    def written(self, node: exp.Expr) -> str:
        """The text of a node as the user wrote it, on one line."""
        span = span_of(node)
        return " ".join(self.text[span[0] : span[1]].split()) if span else node.key


def place(text: str, span: Span) -> tuple[int, int, int]:
    """Line, column (both from 1) and length of a span, which is cut at the end of its first line.

    >>> place("SELECT a,\\n  b + c", (12, 17))
    (2, 3, 5)
    """
    before = (text[: span[0]] + "x").splitlines()
    marked = text[span[0] : span[1]].splitlines()
    return len(before), len(before[-1]), max(1, len(marked[0]) if marked else 1)


def span_of(node: exp.Expr) -> Span | None:
    """The characters that a node was parsed from: what the parser noted, else all that its parts cover."""
    noted = node.meta.get("span")
    if noted:
        return (int(noted[0]), int(noted[1]))
    spans = [s for s in map(span_of, node.iter_expressions()) if s]
    if node.meta.get("start") is not None:
        spans.append((node.meta["start"], node.meta["end"] + 1))
    return (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None


def placed(node: exp.Expr, origin: exp.Expr) -> exp.Expr:
    """A node that stands for another at its place in the text."""
    node.meta["span"] = span_of(origin)
    return node


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known name nearest to a word, in the case it is known by.

    >>> did_you_mean("pirce", ["auction", "Price"])
    'Price'
    """
    names = {k.lower(): k for k in known}
    near = get_close_matches(word.lower(), list(names), n=1, cutoff=0.7)
    return names[near[0]] if near else None


def suggestion(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names the nearest known name, or lists all of them."""
    names = list(known)
    near = did_you_mean(word, names)
    return f"did you mean {near}?" if near else f"{otherwise}: {', '.join(names)}" if names else otherwise


_DECLARED = {"VARCHAR": "STRING", "STRING_LITERAL": "STRING", "INTEGER": "INT", "INTEGER_LITERAL": "INT"}
"""Types as they are declared, by the engine's names."""
_ENGINE_S = re.compile(rf"\b({'|'.join(_DECLARED)})\b")


def one_line(error: Exception) -> str:
    """The engine's message without its heading, its listing of candidates and its drawing of the place.

    >>> one_line(ValueError("Binder Error: No function matches '+(VARCHAR, INTEGER)'. Add casts.\\n\\tCandidates: ..."))
    "no function matches '+(STRING, INT)'"
    """
    line = (str(error).strip().splitlines() or ["can't be typed"])[0]
    head, colon, rest = line.partition(" Error: ")
    text = rest if colon and head.replace(" ", "").isalpha() else line
    sentence = text.partition(". ")[0]
    declared = _ENGINE_S.sub(lambda found: _DECLARED[found[0]], sentence)
    return (declared[:1].lower() + declared[1:]).rstrip(".! ")
