"""Runs and outcomes."""

from benchmarks.spec import Batch, Outcome, Run, dumps, outcome_of, run_of, tumbling

RUN = Run(
    "spark_union",
    "/nowhere",
    tumbling(2),
    batch_files=2,
    file_events=500,
    warmup=2,
    measured=3,
    settings={"a": "b"},
)


def outcome(*ms: float) -> Outcome:
    return Outcome(RUN, tuple(Batch(i, t, {"addBatch": t - 1}, {"lift": 1.0}) for i, t in enumerate(ms)), 1.5)


def test_a_run_counts_its_files_and_events():
    assert (RUN.batch_events, RUN.files, RUN.events) == (1_000, 10, 5_000)


def test_the_warm_up_counts_for_nothing_and_the_median_of_the_rest_counts():
    found = outcome(900, 800, 10, 30, 20)
    assert found.batch_ms == 20
    assert found.events_per_second == 50_000


def test_both_travel_as_json():
    assert run_of(dumps(RUN)) == RUN
    assert outcome_of(dumps(outcome(1, 2, 3, 4, 5))) == outcome(1, 2, 3, 4, 5)
