"""Ratios, tables and JSON of the windows benchmark."""

from io import StringIO

import pytest
from benchmarks.check import Agreement
from benchmarks.report import Ratio
from benchmarks.spec import Batch, Outcome, Run, tumbling
from benchmarks.windows import DUCKDB, EXPLODED, THALWEG, UNION, Case, M, Results
from rich.console import Console

from benchmarks import report, windows


def measured(engine: str, n: int, batch: int, ms: float) -> tuple[Case, Outcome]:
    case = Case(engine, n, batch, 1, 2)
    run = Run(engine, "/nowhere", tumbling(n), batch // case.feed.file_events, case.feed.file_events, 1, 2)
    return case, Outcome(
        run, (Batch(0, 9_999), Batch(1, ms, {"triggerExecution": ms}, {"lift": ms / 2}), Batch(2, ms)), 10
    )


RESULTS = Results(
    dict(
        [
            measured(THALWEG, 5, M, 200),
            measured(UNION, 5, M, 2_000),
            measured(EXPLODED, 5, M, 1_000),
            measured(THALWEG, 1, 10 * M, 2_000),
            measured(DUCKDB, 1, 10 * M, 500),
            measured(THALWEG, 5, 10_000, 340),
        ]
    ),
    {(5, M): Agreement({"Thalweg": 30, "Spark union": 20}, 20, {"Thalweg": 0, "Spark union": 0})},
)


def printed(*what: object) -> str:
    out = StringIO()
    console = Console(file=out, width=200)
    for thing in what:
        console.print(thing)
    return out.getvalue()


def test_ratios_stand_beside_their_targets():
    over_union, over_exploded = RESULTS.ratio((5, M), UNION), RESULTS.ratio((5, M), EXPLODED)
    assert over_union and (over_union.value, over_union.target, over_union.reached) == (10.0, 8.0, True)
    assert over_exploded and (over_exploded.value, over_exploded.target, over_exploded.reached) == (
        5.0,
        6.0,
        False,
    )
    limit = RESULTS.ratio((1, 10 * M), DUCKDB)
    assert limit and (limit.value, limit.target) == (0.25, 0.2)
    assert RESULTS.ratio((20, M), UNION) is None


def test_a_ratio_reads_well():
    assert printed(str(Ratio("x", 3.456, 3))).strip() == "3.46x >= 3x"
    assert printed(str(Ratio("x", 29.9, 30))).strip() == "29.9x < 30x"
    assert str(Ratio("x", 2.0)) == "2.00x" and Ratio("x", 2.0).reached is None


def test_the_table_has_the_figures_of_the_run():
    text = printed(windows.throughput_table(RESULTS))
    assert "5.00 M" in text and "500.0 k" in text and "10.0x >= 8x" in text and "5.00x < 6x" in text
    assert "equal" in printed(windows.agreement_table(RESULTS))


def test_all_of_it_shows():
    out = StringIO()
    windows.show(RESULTS, Console(file=out, width=200))
    assert "340 ms <= 450 ms" in out.getvalue() and "0.25x >= 0.2x" in out.getvalue()


def test_json_holds_every_batch_and_no_place():
    data = windows.as_data(RESULTS)
    assert data["runs"][0]["ms"] == [9_999, 200, 200] and "directory" not in data["runs"][0]
    assert data["small_batch"] == {"ms": 340, "target": 450.0, "reached": True}
    assert data["checks"][0]["equal"] is True


def test_nothing_compared_is_no_agreement():
    assert not Agreement({"a": 1}, 0, {"a": 0}).holds


def test_parts_are_medians_with_the_whole_first():
    outcome = next(iter(RESULTS.outcomes.values()))
    assert list(report.parts(outcome).items()) == [("whole batch", 200), ("step lift", 100)]


@pytest.mark.parametrize("quick", [True, False])
def test_comparable_cases_follow_each_other(quick: bool):
    keys = [c.key for c in windows.cases(quick)]
    assert len(set(keys)) == sum(a != b for a, b in zip(keys, [None, *keys], strict=False))
    assert all(
        c.warmup >= 1 and c.measured >= 2 and c.batch % c.feed.file_events == 0 for c in windows.cases(quick)
    )


def test_every_target_has_its_case():
    found = {(c.windows, c.engine) for c in windows.cases(quick=False)}
    assert set(windows.TARGETS) <= found and (1, DUCKDB) in found
