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


def readable(name: str) -> str:
    """A name for people: bare, or quoted as Spark does where it is no word.

    >>> readable("price"), readable("net price")
    ('price', '`net price`')
    """
    return name if name.isidentifier() else "`" + name.replace("`", "``") + "`"


def spark_quoted(text: str) -> str:
    """A string literal as Spark has it, in one line.

    >>> print(spark_quoted("it's\\n"))
    'it''s\\n'
    """
    return quoted(text.replace("\\", "\\\\").replace("\n", "\\n"))
