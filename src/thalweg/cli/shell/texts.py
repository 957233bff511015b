"""What is written at the prompt: whether it is whole, and what may come next."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from thalweg.cli.sites import Columns, Names
from thalweg.sql.vocabulary import CALLS, KEYWORDS

TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$))|(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`)"""
    r"""|(?P<open>['"`].*)|(?P<end>;)|(?P<space>\s+)|(?P<word>[\w.]+)|(?P<other>.)""",
    re.DOTALL,
)
UNENDED = re.compile(r"/\*(?:(?!\*/).)*$", re.DOTALL)
AFTER_SOURCE = frozenset({"FROM", "JOIN", "STREAM", "TABLE", "VIEW"})
SHOWN = ("QUERIES", "STREAMS", "VIEWS", "FUNCTIONS", "PLAN", "STATISTICS", "CHANGES")


def is_whole(text: str) -> bool:
    r"""Whether a text can be carried out: a shortcut, nothing, or statements of which the last has its semicolon.

    >>> [is_whole(t) for t in ("SELECT ';'", "SHOW QUERIES;  -- all", r"\\d bid", "DROP QUERY a; SET", "SELECT 'a;")]
    [False, True, True, False, False]
    """
    if not text.strip() or text.lstrip().startswith("\\"):
        return True
    kinds = [m.lastgroup for m in TOKEN.finditer(text) if m.lastgroup not in ("space", "comment")]
    return not kinds or (kinds[-1] == "end" and not _is_in_comment(text))


def _is_in_comment(text: str) -> bool:
    comments = [m[0] for m in TOKEN.finditer(text) if m.lastgroup == "comment"]
    return bool(comments) and comments[-1].startswith("/*") and UNENDED.match(comments[-1]) is not None


def words_of(text: str) -> list[str]:
    """The words of a statement that are in no text and no comment."""
    return [m[0] for m in TOKEN.finditer(text) if m.lastgroup == "word"]


def candidates(before: str, names: Names) -> list[str]:
    """What the word under the cursor may become, given all that stands before the cursor. Words of the language come as it is begun.

    >>> candidates("SELECT * FROM bi", Names(streams={"bid": {"price": "BIGINT"}}))
    ['bid']
    >>> candidates("SELECT b.p", Names(streams={"bid": {"price": "BIGINT"}}))
    ['b.price']
    """
    statement = before[_start(before) :]
    begun = re.search(r"[\w.\\?]*$", statement)
    word = begun[0] if begun else ""
    offered = _offered(statement[: len(statement) - len(word)], word, names)
    found = [
        o for o in dict.fromkeys(offered) if o.lower().startswith(word.lower()) and o.lower() != word.lower()
    ]
    lower = word[:1].islower()
    return [o.lower() if lower and o.isupper() else o for o in found]


def _start(text: str) -> int:
    """Where the statement begins that a text ends in."""
    ends = [m.end() for m in TOKEN.finditer(text) if m.lastgroup == "end"]
    return ends[-1] if ends else 0


def _offered(before: str, word: str, names: Names) -> Iterator[str]:
    said = [w.upper() for w in words_of(before)]
    last = said[-1] if said else ""
    if before.lstrip().startswith("\\"):
        yield from (*sorted(names.queries), *sorted(names.sources))
    elif "." in word:
        qualifier = word.rpartition(".")[0]
        yield from (f"{qualifier}.{c}" for c in _columns(names, before, qualifier))
    elif last == "SHOW":
        yield from SHOWN
    elif last == "QUERY" and ("CREATE" not in said or "REPLACE" in said):
        yield from sorted(names.queries)
    elif last == "EXPLAIN":
        yield from ("QUERY", "ANALYZE", "SELECT")
    elif last in AFTER_SOURCE:
        yield from sorted(names.sources)
    else:
        yield from (*_columns(names, before), *sorted(names.sources), *KEYWORDS, *CALLS)


def _columns(names: Names, before: str, qualifier: str | None = None) -> Collection[str]:
    """The columns of what a statement names so far; of one source where it is that which is meant; of all where none is named."""
    sources: dict[str, Columns] = names.sources
    if qualifier in sources:
        return list(sources[qualifier])
    named = [sources[w] for w in words_of(before) if w in sources] or list(sources.values())
    return sorted({column for columns in named for column in columns})
