"""Thirds, growth, verdict and figures of the steady run."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from benchmarks.report import write_json
from benchmarks.spec import Batch
from benchmarks.steady import FILE_EVENTS, FILL, Arrivals, Moment, Ran, growths, moments_of, thirds
from rich.console import Console

from benchmarks import steady
from thalweg.api.status import FragmentStatus
from thalweg.engine.progress import BatchProgress

BID = FragmentStatus("bid_1", "bid", "rows", ("auction",), 3, 500, 2048)


def ran(last_ms: float = 100, last_rows: int = 500, size: int = FILL) -> Ran:
    """Every part of the run has `size` batches; the first is slow and still fills."""
    kinds = [(900.0, 100)] * size + [(100.0, 500)] * size + [(last_ms, last_rows)] * size
    return Ran(
        tuple(Moment(i, ms, (i + 1) * FILE_EVENTS, rows, rows * 10, 0) for i, (ms, rows) in enumerate(kinds)),
        (BID,),
        {"states": 7},
        {},
    )


def test_the_last_third_is_compared_with_the_middle_one():
    parts = thirds(ran(110, 550).moments)
    assert [(p.name, p.batches, p.ms, p.state_rows) for p in parts] == [
        ("first", FILL, 900, 100), ("middle", FILL, 100, 500), ("last", FILL, 110, 550)]  # fmt: skip
    assert [g.factor for g in growths(parts)] == pytest.approx([1.1, 1.1, 1.1])
    split = [replace(ran().moments[0], read=FILE_EVENTS // 2), *ran().moments]
    assert [p.batches for p in thirds(split)] == [FILL + 1, FILL, FILL]


def test_one_slow_batch_is_noise_and_one_large_state_is_not():
    moments = ran().moments
    assert replace(ran(), moments=(*moments[:-1], replace(moments[-1], ms=9_000))).steady
    assert not replace(ran(), moments=(*moments[:-1], replace(moments[-1], state_rows=9_000))).steady


@pytest.mark.parametrize(
    ("found", "steady_run"),
    [(ran(), True), (ran(last_ms=130), False), (ran(last_rows=700), False), (ran(50, 400), True)],
)
def test_steady_is_what_does_not_grow(found: Ran, steady_run: bool):
    assert found.steady is steady_run


def test_a_run_too_short_for_its_windows_says_nothing():
    short, out = ran(size=FILL - 1), StringIO()
    steady.show(short, Console(file=out, width=200))
    assert (
        not short.full
        and not short.steady
        and "windows were not full" in out.getvalue()
        and "not steady" in out.getvalue()
    )


def test_tables_and_json_show_the_figures(tmp_path: Path):
    out = StringIO()
    steady.show(
        replace(ran(), wrong={"states": "results differ: 6 rows, expected 7"}), Console(file=out, width=200)
    )
    assert (
        "bid: rows" in out.getvalue() and "they differ" in out.getvalue() and "expected 7" in out.getvalue()
    )
    write_json(tmp_path / "steady.json", steady.as_data(ran()))
    data = json.loads((tmp_path / "steady.json").read_text())
    assert (
        data["steady"]
        and len(data["batches"]) == 3 * FILL
        and [t["state_bytes"] for t in data["thirds"]] == [1000, 5000, 5000]
    )


def test_a_batch_has_the_time_that_spark_tells_and_the_state_that_the_engine_tells():
    first = BatchProgress(0, FILE_EVENTS, 0.1, {}, 0, 7, 70, {}, {})
    part = replace(first, batch=1, rows=FILE_EVENTS // 2, state_rows=8)
    found = moments_of([Batch(0, 250.0), Batch(1, 1.0), Batch(2, 9.0)], {0: (first, 3), 1: (part, 4)})
    assert found == (Moment(0, 250.0, FILE_EVENTS, 7, 70, 2), Moment(1, 1.0, FILE_EVENTS * 3 // 2, 8, 70, 3))


def test_files_arrive_together_and_in_order(tmp_path: Path):
    for stream in steady.STREAMS:
        (tmp_path / "in" / stream).mkdir(parents=True)
        (tmp_path / "ready" / stream).mkdir(parents=True)
        for i in range(3):
            (tmp_path / "ready" / stream / f"{i}.parquet").touch()
    arrivals = Arrivals(tmp_path / "ready", tmp_path / "in", 0.0)
    arrivals.run()
    assert arrivals.placed == 3 and sorted(p.name for p in (tmp_path / "in" / "bid").iterdir()) == [
        "0.parquet",
        "1.parquet",
        "2.parquet",
    ]
