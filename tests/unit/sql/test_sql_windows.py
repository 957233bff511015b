"""All notations of windows give the same values."""
# ruff: noqa: E501

import pytest
from sql_support import bound, failure, marked, meaning

from thalweg.model.windows import SECOND, NamedWindow, Window, session
from thalweg.testing.bound import bind_text

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
WINDOWS = [
    ("TUMBLE '1 minute'", NamedWindow("1 minute", Window(MINUTE, MINUTE))),
    ("tumble 60 seconds", NamedWindow("1 minute", Window(MINUTE, MINUTE))),
    ("TUMBLE('1 minute')", NamedWindow("1 minute", Window(MINUTE, MINUTE))),
    ("TUMBLE(INTERVAL 1 MINUTE)", NamedWindow("1 minute", Window(MINUTE, MINUTE))),
    ("TUMBLE '1 minute' AS 'one'", NamedWindow("one", Window(MINUTE, MINUTE))),
    (
        "TUMBLE '1 minute' OFFSET '10 seconds'",
        NamedWindow("1 minute offset 10 seconds", Window(MINUTE, MINUTE, 10 * SECOND)),
    ),
    (
        "TUMBLE('1 minute', '10 seconds')",
        NamedWindow("1 minute offset 10 seconds", Window(MINUTE, MINUTE, 10 * SECOND)),
    ),
    (
        "TUMBLE '1 minute' OFFSET -50 SECONDS",
        NamedWindow("1 minute offset 10 seconds", Window(MINUTE, MINUTE, 10 * SECOND)),
    ),
    ("HOP '1 hour' BY '10 minutes'", NamedWindow("1 hour by 10 minutes", Window(HOUR, 10 * MINUTE))),
    ("HOP('1 hour', '10 minutes')", NamedWindow("1 hour by 10 minutes", Window(HOUR, 10 * MINUTE))),
    (
        "HOP(1 HOUR, 10 MINUTES, 5 MINUTES)",
        NamedWindow("1 hour by 10 minutes offset 5 minutes", Window(HOUR, 10 * MINUTE, 5 * MINUTE)),
    ),
    (
        "HOP '1 hour' BY '10 minutes' OFFSET '5 minutes' AS h",
        NamedWindow("h", Window(HOUR, 10 * MINUTE, 5 * MINUTE)),
    ),
    ("HOP '1 minute' BY '1 hour'", NamedWindow("1 minute by 1 hour", Window(MINUTE, HOUR))),
    ("HOP '1 minute' BY '1 minute'", NamedWindow("1 minute", Window(MINUTE, MINUTE))),
    ("window(at, '10 minutes')", NamedWindow("10 minutes", Window(10 * MINUTE, 10 * MINUTE))),
    (
        "WINDOW(AT, '10 minutes', '5 minutes')",
        NamedWindow("10 minutes by 5 minutes", Window(10 * MINUTE, 5 * MINUTE)),
    ),
    (
        "window(b.at, '10 minutes', '5 minutes', '1 minute')",
        NamedWindow("10 minutes by 5 minutes offset 1 minute", Window(10 * MINUTE, 5 * MINUTE, MINUTE)),
    ),
    (
        "HoppingWindow(Hop(minute, 5), Duration(minute, 10))",
        NamedWindow("10 minutes by 5 minutes", Window(10 * MINUTE, 5 * MINUTE)),
    ),
    (
        "TumblingWindow(Offset(second, -50), Duration(mi, 1))",
        NamedWindow("1 minute offset 10 seconds", Window(MINUTE, MINUTE, 10 * SECOND)),
    ),
    ("SESSION '10 minutes'", NamedWindow("session 10 minutes", session(10 * MINUTE))),
    ("session(INTERVAL 600 SECONDS) AS visit", NamedWindow("visit", session(10 * MINUTE))),
    ("session_window(at, '10 minutes')", NamedWindow("session 10 minutes", session(10 * MINUTE))),
    ("SESSION(b.at, INTERVAL '10' MINUTE)", NamedWindow("session 10 minutes", session(10 * MINUTE))),
    ("TUMBLE(at, INTERVAL '1' HOUR)", NamedWindow("1 hour", Window(HOUR, HOUR))),
    (
        "HOP(at, INTERVAL 5 MINUTES, INTERVAL 10 MINUTES)",
        NamedWindow("10 minutes by 5 minutes", Window(10 * MINUTE, 5 * MINUTE)),
    ),
    ("TumblingWindow(hh, 1)", NamedWindow("1 hour", Window(HOUR, HOUR))),
    ("TumblingWindow(minute, 20)", NamedWindow("20 minutes", Window(20 * MINUTE, 20 * MINUTE))),
    ("HoppingWindow(minute, 10, 5)", NamedWindow("10 minutes by 5 minutes", Window(10 * MINUTE, 5 * MINUTE))),
    (
        "TumblingWindow(Duration(hour, 1), Offset(minute, 5))",
        NamedWindow("1 hour offset 5 minutes", Window(HOUR, HOUR, 5 * MINUTE)),
    ),
    (
        "HoppingWindow(Duration(hour, 1), Hop(minute, 10))",
        NamedWindow("1 hour by 10 minutes", Window(HOUR, 10 * MINUTE)),
    ),
    (
        "Windows(Window('20 min', TumblingWindow(minute, 20)))",
        NamedWindow("20 min", Window(20 * MINUTE, 20 * MINUTE)),
    ),
    ("Window('20 min', TumblingWindow(minute, 20))", NamedWindow("20 min", Window(20 * MINUTE, 20 * MINUTE))),
    ("WINDOWS(TUMBLE '1 minute')", NamedWindow("1 minute", Window(MINUTE, MINUTE))),
]
EQUAL = [
    (
        "SELECT auction, window_id, window_end, COUNT(*) AS n FROM bid GROUP BY auction, WINDOWS(TUMBLE '20 min' AS 'a', HOP '10 min' BY '5 min' AS 'b')",
        "SELECT auction, System.Window().Id AS window_id, System.Timestamp() AS window_end, COUNT(*) AS n FROM bid TIMESTAMP BY at "
        "GROUP BY auction, Windows(Window('a', TumblingWindow(minute, 20)), Window('b', HoppingWindow(minute, 10, 5)))",
    ),
    (
        "SELECT window_start AS s, window_end AS e, MAX(price) AS m FROM bid GROUP BY TUMBLE '10 minutes'",
        "SELECT window.start AS s, window.end AS e, max(price) m FROM bid b GROUP BY window(at, '10 minutes')",
    ),
    (
        "SELECT window_start AS s, window_end AS e, MAX(price) AS m FROM bid GROUP BY TUMBLE '10 minutes'",
        "SELECT window(at, '10 minutes').start AS s, window(at, '10 minutes').end AS e, max(price) m FROM bid GROUP BY window(at, '10 minutes')",
    ),
    (
        "SELECT window AS w, COUNT(*) AS n FROM bid GROUP BY TUMBLE '10 minutes'",
        "SELECT window(at, '10 minutes') AS w, COUNT(*) AS n FROM bid GROUP BY w",
    ),
    (
        "SELECT window AS w, COUNT(*) AS n FROM bid GROUP BY TUMBLE '10 minutes'",
        "SELECT window(at, '10 minutes') AS w, COUNT(*) AS n FROM bid GROUP BY 1",
    ),
    (
        "SELECT auction, window_end, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 minute'",
        "SELECT auction, window_end, COUNT(*) AS n FROM bid GROUP BY TUMBLE '1 minute', window_start, auction, window_end",
    ),
    (
        "SELECT COUNT(*) AS n FROM bid GROUP BY WINDOWS(TUMBLE '1 minute', TUMBLE '5 minutes')",
        "SELECT COUNT(*) AS n FROM bid GROUP BY TUMBLE '1 minute', TUMBLE '5 minutes'",
    ),
]


@pytest.mark.parametrize(("written", "window"), WINDOWS)
def test_notation(written: str, window: NamedWindow) -> None:
    assert bound(f"SELECT COUNT(*) FROM bid AS b GROUP BY {written}").windows == (window,)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_notations(one: str, other: str) -> None:
    assert meaning(one) == meaning(other)


def test_many_windows_keep_their_order() -> None:
    query = bound(
        "SELECT COUNT(*) FROM bid GROUP BY WINDOWS(TUMBLE '5 minutes' AS 'five', HOP '1 hour' BY '10 minutes', TUMBLE '1 minute')"
    )
    assert [w.id for w in query.windows] == ["five", "1 hour by 10 minutes", "1 minute"]


def test_one_window_under_two_ids() -> None:
    query = bound(
        "SELECT COUNT(*) FROM bid GROUP BY WINDOWS(TUMBLE '1 minute' AS 'a', TUMBLE '60 seconds' AS 'b')"
    )
    assert [w.id for w in query.windows] == ["a", "b"]
    assert query.windows[0].window == query.windows[1].window


def test_an_unnamed_window_is_called_window() -> None:
    stream = "CREATE STREAM s (v BIGINT, at TIMESTAMP) WITH (time = 'at');"
    made = bind_text(
        f"{stream} CREATE QUERY q AS SELECT window(at, '1 minute'), COUNT(*) AS n FROM s GROUP BY window(at, '1 minute')"
    )
    assert [o.name for o in made.queries["q"].outputs] == ["window", "n"]


ENDS = "SELECT auction, {} AS a, {} AS b, COUNT(*) AS n FROM bid GROUP BY auction, {}"
ENDED = [
    ("session_window.start", "session_window.end", "session_window(at, '1 minute')"),
    ("session_window(at, '1 minute').start", "session_window(at, '1 minute').end", "session_window(at, '1 minute')"),
    ("SESSION_START(at, INTERVAL '1' MINUTE)", "SESSION_END(at, INTERVAL '1' MINUTE)", "SESSION(at, INTERVAL '1' MINUTE)"),
    ("window_start", "window_end", "SESSION 1 MINUTE"),
]  # fmt: skip


@pytest.mark.parametrize("parts", ENDED)
def test_sessions_have_ends_in_all_notations(parts: tuple[str, str, str]) -> None:
    assert bound(ENDS.format(*parts)).meaning == bound(ENDS.format(*ENDED[-1])).meaning


def test_tumbling_windows_have_ends_as_flink_had_them() -> None:
    old = ENDS.format("TUMBLE_START(at, 1 MINUTE)", "TUMBLE_END(at, 1 MINUTE)", "TUMBLE(at, 1 MINUTE)")
    assert bound(old).meaning == bound(ENDS.format("window_start", "window_end", "TUMBLE '1 minute'")).meaning


@pytest.mark.parametrize(
    ("text", "message", "mark"),
    [
        (ENDS.format(1, 2, "SESSION '0 seconds'"), "the gap of a session must be above zero", "'0 seconds'"),
        (ENDS.format(1, 2, "SESSION '1 month'"), "months and years have no fixed length", "'1 month'"),
        (ENDS.format(1, 2, "SESSION(at)"), "expected a duration, not at", "at"),
        (ENDS.format(1, 2, "session_window(price, '1 minute')"), "windows are of the event time at, not of price", "price"),
        (ENDS.format("session_window.start", 2, "TUMBLE '1 minute'"), "the query has no session window", "session_window.start"),
        (ENDS.format("SESSION_END(at, 2 MINUTES)", 2, "SESSION 1 MINUTE"), "this window is not in GROUP BY", "at, 2 MINUTES"),
        (ENDS.format(1, 2, "SessionWindow(minute, 5, 10)"), "SessionWindow windows are not supported", "SessionWindow"),
    ],
)  # fmt: skip
def test_sessions_are_refused_at_their_place(text: str, message: str, mark: str) -> None:
    error = failure(text)
    assert error.message == message and marked(error).startswith(mark) and error.hint
