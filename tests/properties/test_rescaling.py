"""Another number of partitions in mid-run: results are those of the definition, and SHOW CHANGES says what was done."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_change_schedules import BATCHES, STREAM, rows

from thalweg.engine.scaling import LONG
from thalweg.model.settings import with_setting
from thalweg.testing.crowd import check_lives
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

QUERIES = (
    "SELECT k, window_end, SUM(v) AS x, MEDIAN(v) AS m FROM s GROUP BY k, WINDOWS(TUMBLE '3 seconds', HOP '6 seconds' BY '2 seconds')",
    "SELECT a.v, b.v AS w FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 2 SECONDS] WHERE a.k = b.k",
    "SELECT a.k, SUM(b.v) AS x FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 6 SECONDS] WHERE a.k = b.k GROUP BY a.k EVERY 2 SECONDS",
    "SELECT a.k, COUNT(*) AS n FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 4 SECONDS] WHERE a.k = b.k "
    "GROUP BY a.k EVERY 1 SECOND EMIT CHANGES",
)


@pytest.fixture
def session(tmp_path: Path) -> LocalSession:
    made = LocalSession(tmp_path / "run", 2)
    made.sql("SET plan.exchange = 'always';" + "".join(STREAM.format(n, tmp_path) for n in "sr"))
    for n, text in enumerate(QUERIES):
        made.query(text, name=f"q{n}")
    return made


@pytest.mark.parametrize("evaluate", ["best", "delta", "wide", "expiry"])
def test_results_whatever_the_number_is(evaluate: str, session: LocalSession, tmp_path: Path) -> None:
    fed = [{n: rows(b, 5 * i) for i, n in enumerate("sr")} for b in range(BATCHES)]
    files = {n: write_batches(tmp_path / n, session.catalog.streams[n], [b[n] for b in fed]) for n in "sr"}
    session.sql(f"SET plan.evaluate = '{evaluate}'")
    numbers = [2, 2, 3, 3, 1, 4, 4, 7, 7, 2, 1, 5, 5, 2]
    for batch in range(BATCHES):
        if batch:
            session.sql(f"SET partitions = {numbers[batch]}")
        session.batch([(n, str(paths[batch])) for n, paths in files.items()])
        parts = {f.parts for f in session.latest_manifest().files}
        assert parts == {numbers[batch]}
    assert check_lives(list(session.queries.values()), session.catalog.streams, fed) > 0
    told = [(s.batch, s.scaled) for s in session.changes if s.scaled]
    assert told[:3] == [
        (2, "2 to 3 partitions (set)"),
        (4, "3 to 1 partition (set)"),
        (5, "1 to 4 partitions (set)"),
    ]
    session.close()


def test_batches_that_take_too_long_get_more(session: LocalSession, tmp_path: Path) -> None:
    """By default there are as many as cores; here the limits let them be more."""
    session.sql("SET partitions = 'auto'; SET scale.partitions = '1..4'; SET scale.latency = '1 millisecond'")
    files = {
        n: write_batches(tmp_path / n, session.catalog.streams[n], [rows(b, 5 * i) for b in range(BATCHES)])
        for i, n in enumerate("sr")
    }
    for batch in range(LONG + 2):
        session.batch([(n, str(paths[batch])) for n, paths in files.items()])
    (found,) = [s for s in session.changes if s.scaled]
    assert found.batch == LONG + 1 and found.scaled.startswith("2 to 4 partitions (batches took ")
    assert "2 to 4 partitions" in str(session.sql("SHOW CHANGES")[0].data)
    assert session.runner.partitions == 4 == max(f.parts for f in session.latest_manifest().files)
    session.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [("scale.latency", "5"), ("scale.latency", "1 month"), ("scale.latency", "0 s"), ("partitions", "many")]
    + [("scale.partitions", v) for v in ("4", "4..2", "0..2", "1..99999", "a..b")],
)
def test_what_can_t_be_set(session: LocalSession, key: str, value: str) -> None:
    with pytest.raises(Exception, match=f"{key} can't be '{value}'"):
        with_setting(session.catalog.config, key, value)
