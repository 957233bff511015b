from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from thalweg.api.console import print_results
from thalweg.cli.screen import Screen
from thalweg.cli.tables import by_time, draw, draw_results
from thalweg.cli.values import column_texts
from thalweg.model.windowed import windowed
from thalweg.model.windows import NamedWindow, Window
from thalweg.testing.texts import Text, output

AT = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1234567, -5, None], ["1,234,567", "-5", "NULL"]),
        ([1.0, 20000.0], ["1.0", "20,000.0"]),
        ([1.25, 940_981.5], ["1.25", "940,981.50"]),
        ([1 / 3, 1234.5], ["0.33", "1,234.50"]),
        ([1 / 3, 0.5], ["0.333333", "0.500000"]),
        ([1e-9, 0.0], ["1e-09", "0"]),
        ([1e18], ["1e+18"]),
        ([float("nan"), float("inf"), 1.5], ["nan", "inf", "1.5"]),
        ([Decimal("1234.50")], ["1,234.50"]),
        ([True, False], ["true", "false"]),
        ([AT, AT + timedelta(milliseconds=5)], ["2023-11-14 22:13:20.000", "2023-11-14 22:13:20.005"]),
        ([AT.astimezone(timezone(timedelta(hours=9)))], ["2023-11-14 22:13:20"]),
        ([date(2023, 11, 14)], ["2023-11-14"]),
        (["a\x1b[31m\n", "[bold]"], ["a\\x1b[31m\\n", "[bold]"]),
        ([None, None], ["NULL", "NULL"]),
        ([], []),
    ],
)
def test_the_values_of_a_column_have_one_form(values, texts):
    assert column_texts(values) == texts


def test_numbers_that_are_names_have_no_separators():
    assert column_texts([12345], plain=True) == ["12345"]


def test_numbers_stand_at_the_right(capsys):
    Screen().table(draw(("name", "count"), [("a", 1), ("bb", 12345)]))
    assert capsys.readouterr().out.splitlines() == [
        "name    count",
        "─────────────",
        "a           1",
        "bb     12,345",
    ]


def test_grouping_keys_are_names(capsys):
    outputs = (
        output("auction", 'CAST("k0" AS BIGINT)', "BIGINT"),
        output("n", 'CAST("a0" AS BIGINT)', "BIGINT"),
    )
    query = windowed(
        "q", "bid", (), (Text('"auction"', "BIGINT"),), (NamedWindow("w", Window(1, 1)),), (), outputs
    )
    Screen().table(draw_results(query, pa.table({"auction": [12345], "n": [67890]})))
    assert capsys.readouterr().out.splitlines()[-1].split() == ["12345", "67,890"]


def test_results_in_the_order_of_time():
    rows = pa.table({"k": ["b", "a", "a"], "window_end": [2, 2, 1]})
    assert by_time(rows).to_pydict() == {"k": ["a", "a", "b"], "window_end": [1, 2, 2]}
    assert by_time(pa.table({"k": ["b", "a"]}))["k"].to_pylist() == ["a", "b"]


def test_times_that_python_has_no_value_for(capsys):
    at = pa.array([253_402_300_800_000_000, -62_135_596_800_000_001, 0, None], pa.timestamp("us", "UTC"))
    window = pa.StructArray.from_arrays([at, at], ["start", "end"])
    results = pa.table({"at": at, "window": window, "day": pa.array([3_000_000, 0, None, 1], pa.date32())})
    query = windowed("q", "bid", (), (), (NamedWindow("w", Window(1, 1)),), (), ())
    Screen().table(draw_results(query, results))
    print_results("q", 1, results)
    shown = capsys.readouterr().out
    assert (
        shown.count("10000-01-01 00:00:00") == 6
        and shown.count("0000-12-31 23:59:59.999999") == 6
        and "10183-" in shown
    )
