"""Flink's windows in FROM: each asks what the same window in GROUP BY asks, or says why not."""

import pytest
from sql_support import ENGINE, bound, failure, joined, marked

S = "INTERVAL '{}' SECOND"
TEN, FIVE = S.format(10), S.format(5)
SAME = [
    (f"TABLE(TUMBLE(TABLE bid, DESCRIPTOR(at), {TEN}))", "TUMBLE '10 seconds'"),
    (
        f"TUMBLE(TABLE bid, DESCRIPTOR(`at`), {TEN}, INTERVAL 3 SECONDS)",
        "TUMBLE '10 seconds' OFFSET '3 seconds'",
    ),
    (f"TABLE(HOP(TABLE bid, DESCRIPTOR(at), {FIVE}, {TEN}))", "HOP '10 seconds' BY '5 seconds'"),
    (
        f"TABLE(CUMULATE(TABLE bid, DESCRIPTOR(at), {FIVE}, {TEN}))",
        "WINDOWS(HOP '5 seconds' BY '10 seconds', TUMBLE '10 seconds')",
    ),
    (f"TABLE(SESSION(TABLE bid PARTITION BY auction, DESCRIPTOR(at), {TEN}))", "SESSION '10 seconds'"),
]


@pytest.mark.parametrize(("table", "windows"), SAME)
def test_a_window_in_from_is_one_in_group_by(table: str, windows: str) -> None:
    plain = "SELECT auction, window_start, window_end, COUNT(*) AS n FROM {} WHERE price > 1 GROUP BY auction, window_start, window_end{}"
    expected = bound(plain.format("bid", f", {windows}"))
    assert bound(plain.format(table, "")).meaning == expected.meaning
    assert (
        bound(
            plain.replace("auction,", "b.auction,").replace("window_", "b.window_").format(f"{table} b", "")
        ).meaning
        == expected.meaning
    )
    assert (
        bound(plain.replace("BY auction, window_start, window_end", "BY 1, 2, 3").format(table, "")).meaning
        == expected.meaning
    )


def test_window_time_is_the_last_millisecond() -> None:
    query = bound(
        f"SELECT window_time, COUNT(*) AS n FROM {SAME[0][0]} GROUP BY window_start, window_end, window_time"
    )
    assert query.outputs[0].sql == """TRY("window_end" - INTERVAL '1 millisecond')""" and query.keys == ()


def test_rows_know_their_tumbling_window() -> None:
    query = joined(
        f"SELECT *, b.window_start AS s FROM {SAME[1][0]} b WHERE window_end > TIMESTAMP '1970-01-01 00:00:00'"
    )
    names = [o.name for o in query.outputs]
    assert names[-4:] == ["window_start", "window_end", "window_time", "s"] and query.passes
    for at, start in (
        ("1969-12-31 23:59:51", 53 - 70),
        ("1970-01-01 00:00:12", 3),
        ("1970-01-01 00:00:13", 13),
    ):
        sql = {o.name: o.sql for o in query.outputs}
        text = f"""SELECT epoch({sql["s"]}), epoch({sql["window_end"]}) FROM (SELECT TIMESTAMP '{at}' AS "b.at")"""
        assert ENGINE.execute(text).fetchall() == [(start, start + 10)]


BAD = [
    ("SELECT auction FROM {hop}", "HOP without GROUP BY would give every row several times", "HOP(", "group by window_start, window_end"),
    ("SELECT COUNT(*) AS n FROM {hop}", "the groups have no window", "HOP(", "add window_start, window_end to GROUP BY"),
    ("SELECT auction FROM {hop} GROUP BY auction", "the groups have no window", "GROUP BY auction", "add window_start, window_end"),
    ("SELECT 1 AS one FROM {cumulate} GROUP BY window_start", "the groups have no window", "GROUP BY window_start", "add window_start"),
    ("SELECT 1 AS one FROM {hop} GROUP BY window_end, TUMBLE '1 day'", "the table has a window already", "TUMBLE '1 day'", "keep one"),
    ("SELECT 1 AS one FROM {hop} WHERE window_end > at GROUP BY window_end", "window_end is not known of a row of HOP", "HOP(", "use it in"),
    ("SELECT price FROM TUMBLE(TABLE bid, DESCRIPTOR(day), INTERVAL 1 DAY)", "day is not the event time of bid", "day", "the event time"),
    ("SELECT price FROM TUMBLE(TABLE bid, DESCRIPTOR(at))", "TUMBLE takes the size, and perhaps an offset", "TUMBLE(", "write TUMBLE(TABLE"),
    ("SELECT price FROM TABLE(SESSION(TABLE bid, DESCRIPTOR(at), 1 DAY))", "the session of a row is not known before it is over", "SESS", "gr"),
    ("SELECT 1 AS one FROM {session} GROUP BY price, window_end", "the sessions are not of what rows are grouped by", "SESS", "write"),
    ("SELECT 1 AS one FROM {session} GROUP BY window_end", "the sessions are not of what rows are grouped by", "SESS", "leave"),
    ("SELECT 1 AS one FROM SESSION(TABLE bid, DESCRIPTOR(at), 1 DAY, 1 DAY) GROUP BY window_end", "SESSION takes the gap", "SES", "write S"),
    ("SELECT 1 AS one FROM SESSION(TABLE bid PARTITION BY, DESCRIPTOR(at), 1 DAY)", "expected a column, not ,", ",", "as in"),
    ("SELECT price FROM TABLE(bid)", "expected TUMBLE, HOP, CUMULATE or SESSION, not bid", "bid", "as in"),
    ("SELECT price FROM HOP(bid, DESCRIPTOR(at), 1 DAY)", "expected TABLE and the name of a stream, not bid", "bid", "as in"),
    ("SELECT price FROM HOP(TABLE bid, at, 1 DAY)", "expected DESCRIPTOR and the time column, not at", "at", "as in"),
    ("SELECT b.price FROM {hop} b, bid c [RANGE 1 DAY]", "HOP in a join is not supported", "HOP(", "write the window after the stream"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "mark", "hint"), BAD, ids=[b[0] for b in BAD])
def test_what_is_refused(text: str, message: str, mark: str, hint: str) -> None:
    error = failure(text.format(hop=SAME[2][0], cumulate=SAME[3][0], session=SAME[4][0]))
    assert error.message == message and marked(error).startswith(mark)
    assert error.hint and error.hint.startswith(hint)


def test_cumulate_takes_whole_steps() -> None:
    text = "SELECT 1 AS one FROM CUMULATE(TABLE bid, DESCRIPTOR(at), {}, {}) GROUP BY window_end"
    for step, size in ((S.format(3), TEN), (S.format(1), "INTERVAL 1 DAY")):
        assert "a whole number of steps" in failure(text.format(step, size)).message
