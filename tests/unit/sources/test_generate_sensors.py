"""Sensors: devices, values that are sometimes missing, statuses, pace."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from thalweg.generate import GENERATORS, Nexmark, Sensors

EVENTS = 200_000


@pytest.fixture(scope="module")
def reading() -> pa.Table:
    return next(Sensors(EVENTS, rate=50, keys=40, seed=5).chunks(EVENTS))["reading"]


def test_schema(reading: pa.Table) -> None:
    assert reading.schema == pa.schema(
        [("k", pa.int64()), ("at", pa.timestamp("us")), ("v", pa.float64()), ("status", pa.string())]
    )
    reading.validate(full=True)


def test_every_device_reports_equally_often(reading: pa.Table) -> None:
    devices, counts = np.unique(reading["k"].to_numpy(), return_counts=True)
    assert devices.tolist() == list(range(40))
    assert abs(counts / EVENTS - 1 / 40).max() < 0.002


def test_pace_is_constant(reading: pa.Table) -> None:
    assert (np.diff(reading["at"].cast(pa.int64()).to_numpy()) == 20_000).all()


def test_values_are_temperatures_and_missing_where_there_is_a_fault(reading: pa.Table) -> None:
    assert pc.min(reading["v"]).as_py() > 0 and pc.max(reading["v"]).as_py() < 35
    assert pc.is_null(reading["v"]) == pc.equal(reading["status"], "fault")
    assert abs(reading["v"].null_count / EVENTS - 0.01) < 0.002


def test_statuses_are_few(reading: pa.Table) -> None:
    shares = {row["values"]: row["counts"] / EVENTS for row in reading["status"].value_counts().to_pylist()}
    assert shares == pytest.approx(
        {"ok": 0.95, "low battery": 0.03, "calibrating": 0.01, "fault": 0.01}, abs=0.003
    )


def test_devices_differ_in_their_usual_value(reading: pa.Table) -> None:
    means = reading.group_by("k").aggregate([("v", "mean")])["v_mean"].to_numpy()
    assert means.std() > 2


def test_start_moves_all_times() -> None:
    assert Sensors(5, rate=1, start=0).times(np.arange(5)).tolist() == [
        0,
        1_000_000,
        2_000_000,
        3_000_000,
        4_000_000,
    ]


def test_generators_by_name() -> None:
    assert {"nexmark": Nexmark, "sensors": Sensors} == GENERATORS


def test_ddl() -> None:
    assert Sensors(1, disorder=2.5).ddl("data/it's", format="csv") == (
        "CREATE STREAM reading (k BIGINT, at TIMESTAMP, v DOUBLE, status STRING)\n"
        "  WITH (format = 'csv', path = 'data/it''s/reading', time = 'at', watermark = '2500 milliseconds');\n"
    )


def test_ddl_without_disorder() -> None:
    assert "watermark = '0 seconds'" in Sensors(1).ddl("data")


def test_ddl_has_a_statement_per_stream() -> None:
    text = Nexmark(1, disorder=5).ddl("data")
    assert [line.split()[2] for line in text.splitlines() if line.startswith("CREATE")] == [
        "person",
        "auction",
        "bid",
    ]
    assert text.count("watermark = '5 seconds'") == 3
