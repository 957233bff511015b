"""Literals: how a number is written, and which texts stand for values of a type."""

from __future__ import annotations

import re
from datetime import datetime

from thalweg.expr.nested import is_nested
from thalweg.expr.types import INTEGERS, is_numeric

_DATE = r"\d{4}-\d{2}-\d{2}"
_FORMS = {
    "DATE": re.compile(_DATE, re.ASCII),
    "TIMESTAMP": re.compile(_DATE + r"([ T]\d{2}:\d{2}(:\d{2}(\.\d{3}|\.\d{6})?)?)?", re.ASCII),
}
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?(e[+-]?\d{1,2})?", re.ASCII | re.IGNORECASE)


def number(text: str) -> str:
    """A number literal, written one way.

    >>> number("007"), number("1.50"), number("2E3")
    ('7', '1.50', '2e3')
    """
    if text.isascii() and text.isdigit():
        return text.lstrip("0") or "0"
    return text.lower()


def fits(text: str, type_: str) -> bool:
    """Whether a string is a literal of a type, so that the engine's conversion of it can't fail on a row.

    >>> fits("2024-02-30", "DATE"), fits("2024-02-29 10:00", "TIMESTAMP"), fits("1.5", "BIGINT")
    (False, True, False)
    """
    if type_ in _FORMS:
        return bool(_FORMS[type_].fullmatch(text)) and _is_date(text)
    if type_ in INTEGERS:
        return bool(_INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63
    if is_numeric(type_):
        return bool(_NUMBER.fullmatch(text))
    if type_ == "BOOLEAN":
        return text.lower() in ("true", "false")
    return type_ != "INTERVAL" and not is_nested(type_)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
