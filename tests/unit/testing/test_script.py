"""Parsing of `.stream` scripts."""

from __future__ import annotations

import pytest

from thalweg.errors import DataError
from thalweg.testing.script import (
    Abort,
    Batch,
    Expect,
    Line,
    Restart,
    field_text,
    parse_fields,
    parse_stream_script,
)

SCRIPT = """-- a comment
CREATE STREAM s (k STRING, v BIGINT, at TIMESTAMP) WITH (time = 'at');
--- batch s
-- nothing before 5
a, 1, 00:00:05

'b, c', NULL, 00:00:06
--- abort before_commit
--- batch s
--- restart
--- expect q
'', 1
"""


def test_sections() -> None:
    script = parse_stream_script(SCRIPT, "x.stream")
    first = Batch("s", (Line(5, ("a", "1", "00:00:05")), Line(7, ("b, c", None, "00:00:06"))))
    assert script.sql.splitlines()[1].startswith("CREATE STREAM")
    assert script.steps == (first, Abort("before_commit"), Batch("s", ()), Restart())
    assert script.expects == (Expect("q", (Line(12, ("", "1")),)),)
    assert script.batches("s") == (first, Batch("s", ())) and script.batches("t") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--- bach s", "x:1: unknown mark '--- bach s'"),
        ("--- batch", "x:1: unknown mark"),
        ("--- restart\n1, 2", "x:2: rows stand below restart"),
        ("--- batch s\n1,, 2", "x:2: a field is empty"),
        ("--- batch s\n'a, 2", "x:2: a field is not closed"),
        ("--- batch s\n'a' b, 2", "x:2: a field is not closed or has text around its quotes"),
        ("--- expect q\n1\n--- expect q\n", "the result of q is stated twice"),
    ],
)
def test_mistakes_are_named_with_their_place(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_stream_script(text, "x")


@pytest.mark.parametrize("value", ["a", "", " a ", "NULL", "it's", "a, b", "--", "1.5", None])
def test_fields_survive_writing_and_reading(value: str | None) -> None:
    assert parse_fields(f"{field_text(value)}, x") == (value, "x")
