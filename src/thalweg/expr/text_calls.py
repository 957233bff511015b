"""Functions of texts that the engine has under other names, or not at all, as templates."""

from __future__ import annotations

import re
from collections.abc import Callable

from thalweg.expr.nodes import Call
from thalweg.expr.pieces import shared
from thalweg.expr.quoting import quoted

_AUTHORITY = r"^[^:/?#]+://([^/?#]*)"
_URL = {
    "PROTOCOL": r"^([^:/?#]+):",
    "AUTHORITY": _AUTHORITY,
    "USERINFO": r"^[^:/?#]+://([^@/?#]*)@",
    "HOST": r"^[^:/?#]+://(?:[^@/?#]*@)?(\[[^\]]*\]|[^:/?#]*)",
    "PATH": r"^[^:/?#]+://[^/?#]*([^?#]*)",
    "FILE": r"^[^:/?#]+://[^/?#]*([^#]*)",
    "QUERY": r"^[^?#]*\?([^#]*)",
    "REF": r"^[^#]*#(.*)$",
}
URL_PARTS = tuple(_URL)
"""What PARSE_URL may be asked for."""
_MAYBE_EMPTY = ("PATH", "FILE", "QUERY", "REF")


def _url_part(call: Call) -> str:
    """A part, or the value of one key of the query."""
    part, *key = call.params
    found = f"regexp_extract({{0}}, {quoted(_URL[part])}, 1)"
    if key:
        by = quoted(f"(?:^|&){re.escape(key[0])}=([^&]*)")
        write = f"CASE WHEN regexp_matches({found}, {by}) THEN regexp_extract({found}, {by}, 1) END"
    elif part in _MAYBE_EMPTY:
        there = _AUTHORITY if part in ("PATH", "FILE") else _URL[part]
        write = f"CASE WHEN regexp_matches({{0}}, {quoted(there)}) THEN {found} END"
    else:
        write = f"nullif({found}, '')"
    return shared(lambda url: write.replace("{0}", url), call.args[0].sql)


def _capitalized() -> str:
    word = "upper(left(__w, 1)) || substring(__w, 2)"
    return f"array_to_string(list_transform(string_split(lower({{0}}), ' '), lambda __w: {word}), ' ')"


def _until(text: str, delimiter: str, count: str) -> str:
    parts = f"string_split({text}, {delimiter})"
    front = f"array_to_string(list_slice({parts}, 1, {count}), {delimiter})"
    back = f"array_to_string(list_slice({parts}, greatest(len({parts}) + {count} + 1, 1), len({parts})), {delimiter})"
    none = f"WHEN {text} IS NULL OR {delimiter} IS NULL OR {count} IS NULL THEN NULL WHEN {delimiter} = '' OR {count} = 0 THEN ''"
    return f"CASE {none} WHEN {count} > 0 THEN {front} ELSE {back} END"


def _substring_index(call: Call) -> str:
    return shared(_until, *(a.operand for a in call.args))


TEXTS: dict[str, dict[int | None, str | Callable[[Call], str]]] = {
    "INITCAP": {1: _capitalized()},
    "OCTET_LENGTH": {1: "strlen({0})"},
    "BIT_LENGTH": {1: "(strlen({0}) * 8)"},
    "HEX": {1: "hex({0})"},
    "BIN": {1: "bin(TRY_CAST({0} AS BIGINT))"},
    "BASE64": {1: "base64(encode({0}))"},
    "SHA1": {1: "sha1({0})"},
    "SHA2": {1: "sha256({0})"},
    "FIND_IN_SET": {
        2: "CASE WHEN contains({0}, ',') THEN CASE WHEN {1} IS NOT NULL THEN 0 END "
        "WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN coalesce(list_position(string_split({1}, ','), {0}), 0) END"
    },
    "SUBSTRING_INDEX": {3: _substring_index},
    "URL_ENCODE": {1: "replace(replace(replace(url_encode({0}), '%20', '+'), '~', '%7E'), '%2A', '*')"},
    "URL_DECODE": {
        1: "CASE WHEN NOT regexp_matches({0}, '%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)') THEN url_decode(replace({0}, '+', ' ')) END"
    },
    "PARSE_URL": {1: _url_part},
}
"""Templates of what never fails."""
PATTERNS: dict[str, dict[int | None, str | Callable[[Call], str]]] = {
    "REGEXP_COUNT": {2: "CAST(len(regexp_extract_all({0}, {1})) AS INTEGER)"},
    "REGEXP_SUBSTR": {2: "list_extract(regexp_extract_all({0}, {1}), 1)"},
    "REGEXP_INSTR": {
        2: "CASE WHEN regexp_matches({0}, {1}) THEN CAST(length(regexp_extract({0}, '^((?s:.*?))(?:' || {1} || ')', 1)) + 1 AS INTEGER) "
        "WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN 0 END"
    },
    "REGEXP_EXTRACT_ALL": {3: "regexp_extract_all({0}, {1}, {2})"},
    "SPLIT": {2: "regexp_split_to_array({0}, {1})"},
}
"""Templates of what a text that is no regular expression makes fail."""
