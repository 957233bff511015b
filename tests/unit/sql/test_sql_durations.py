"""Durations in every form that they may be written in."""

import pytest
from sql_support import bound

from thalweg.model.durations import DurationError, Length, parse_duration

SECOND = 1_000_000
TEXTS = [
    ("10 seconds", 10 * SECOND),
    ("10 second", 10 * SECOND),
    ("  10   SECONDS ", 10 * SECOND),
    ("1 microsecond", 1),
    ("1 us", 1),
    ("250 milliseconds", 250_000),
    ("250ms", 250_000),
    ("1.5 seconds", 1_500_000),
    (".5 seconds", 500_000),
    ("20 min", 1200 * SECOND),
    ("20 mins", 1200 * SECOND),
    ("2 hours", 7200 * SECOND),
    ("2 hrs", 7200 * SECOND),
    ("1 day", 86_400 * SECOND),
    ("1 week", 7 * 86_400 * SECOND),
    ("1 hour 30 minutes", 5400 * SECOND),
    ("1 hour -30 minutes", 1800 * SECOND),
    ("-5 minutes", -300 * SECOND),
    ("0 seconds", 0),
]
BAD = [
    ("", "'' is not a duration"),
    ("10", "'10' is not a duration"),
    ("seconds", "'seconds' is not a duration"),
    ("10 fortnights", "'fortnights' is not a unit of time"),
    ("ten seconds", "'ten seconds' is not a duration"),
    ("1 hour,", "'1 hour,' is not a duration"),
    ("0.1 microseconds", "'0.1 microseconds' is not a whole number of microseconds"),
    ("101 years", "'101 years' is too long a duration"),
    ("99999999999999999999 seconds", "'99999999999999999999 seconds' is too long a duration"),
]
FORMS = [
    "'90 seconds'",
    "90 SECONDS",
    "INTERVAL 90 SECONDS",
    "INTERVAL '90' SECONDS",
    "INTERVAL '90 seconds'",
    "INTERVAL '1' MINUTE '30' SECOND",
]
FORMS += [
    "1 MINUTE 30 SECONDS",
    "'1 minute 30 seconds'",
    "1.5 minutes",
    "interval 1.5 minutes",
    '"90 seconds"',
    "90000 milliseconds",
]


@pytest.mark.parametrize(("text", "micros"), TEXTS)
def test_text(text: str, micros: int) -> None:
    assert parse_duration(text) == Length(micros)


def test_months_have_no_fixed_length() -> None:
    assert parse_duration("1 year 2 months") == Length(0, 14)


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


def test_misspelt_unit() -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration("10 secnds")
    assert caught.value.hint == "did you mean second?"


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_equal(form: str) -> None:
    (window,) = bound(f"SELECT COUNT(*) FROM bid GROUP BY TUMBLE {form}").windows
    assert (window.id, window.window.range) == ("90 seconds", 90 * SECOND)
