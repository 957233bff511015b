"""The results that `.stream` scripts state, against the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import expect_table, stream_tables
from thalweg.testing.reference import late_rows, late_rows_of, reference
from thalweg.testing.script import read_script

STREAMS = Path(__file__).parents[2] / "streams"
SCRIPTS = sorted(STREAMS.glob("*.stream"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_stated_results(path: Path) -> None:
    script = read_script(path)
    bound = bind_text(script.sql, script.origin)
    assert {e.query for e in script.expects} == set(bound.queries)
    for expect in script.expects:
        query = bound.queries[expect.query]
        stream = bound.streams[query.stream]
        compare(
            reference(query, stream, stream_tables(script, stream)),
            expect_table(expect, query, script.origin),
        )


def test_late_rows() -> None:
    script = read_script(STREAMS / "late.stream")
    bound = bind_text(script.sql)
    stream = bound.streams["s"]
    batches = stream_tables(script, stream)
    #  late are 7.999999 and 4 in the second batch, 3 in the fourth, 16 in the sixth; all but the first are of b
    assert late_rows(stream, batches) == 4
    assert late_rows_of(bound.queries["only_b"], stream, batches) == 3
