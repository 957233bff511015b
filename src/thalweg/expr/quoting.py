"""Identifiers and texts as SQL writes them: the one place that quotes."""

from __future__ import annotations


def quoted(text: str) -> str:
    """A string literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(text: str) -> str:
    """A quoted identifier.

    >>> print(identifier('a"b'))
    "a""b"
    """
    return '"' + text.replace('"', '""') + '"'
