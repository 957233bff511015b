"""Subqueries in FROM and WITH: what filters and projects becomes part of the query around it, what has groups is a query whose results
are read, and all else is refused by name."""
# ruff: noqa: E501

import pytest
from sql_support import join_failure, joined, marked

from thalweg.model.windows import Window
from thalweg.testing.bound import bind_text

HOUR = 3_600_000_000
HOURLY = "TUMBLE '1 hour'"

SAME = [
    ("SELECT a, twice FROM (SELECT auction AS a, price * 2 AS twice FROM bid WHERE price > 3) x WHERE twice > 10",
     "SELECT x.auction AS a, x.price * 2 AS twice FROM bid x WHERE price > 3 AND price * 2 > 10"),
    ("WITH x AS (SELECT auction AS a, price FROM bid), y AS (SELECT a, price + 1 AS p FROM x WHERE a < 9) SELECT y.*, p * 2 FROM y",
     "SELECT auction AS a, price + 1 AS p, (price + 1) * 2 AS `p * 2` FROM bid y WHERE auction < 9"),
    ("SELECT UPPER(c) AS channel, COUNT(*) AS n FROM (SELECT channel AS c, at AS t FROM bid) GROUP BY channel, window(t, '9 seconds')",
     "SELECT UPPER(channel) AS big, COUNT(*) AS n FROM bid GROUP BY UPPER(channel), TUMBLE '9 seconds'"),
    ("SELECT auction, MAX(p) AS price FROM (SELECT auction, price / 2 AS p FROM bid) GROUP BY 1, TUMBLE '9 seconds' HAVING price > 3",
     "SELECT auction, MAX(price / 2) AS price FROM bid GROUP BY 1, TUMBLE '9 seconds' HAVING MAX(price / 2) > 3"),
    ("SELECT a.seller, b.d FROM (SELECT auction, price * 2 AS d FROM bid WHERE ok) AS b [RANGE 1 HOUR] JOIN auction a [UNBOUNDED] ON b.auction = a.id",
     "SELECT a.seller, b.price * 2 AS d FROM bid AS b [RANGE 1 HOUR] JOIN auction a [UNBOUNDED] ON b.auction = a.id WHERE b.ok"),
    ("WITH b AS (SELECT * FROM bid) SELECT b.auction, COUNT(b.*) AS n FROM b [RANGE 1 HOUR], auction a [RANGE 1 DAY] WHERE auction = id GROUP BY b.auction",
     "SELECT b.auction, COUNT(*) AS n FROM bid b [RANGE 1 HOUR], auction a [RANGE 1 DAY] WHERE b.auction = a.id GROUP BY b.auction"),
    ("SELECT v.name, more FROM (SELECT b.price + 1 AS more, p.name, p.state FROM bid b, person p WHERE b.auction = p.id) v WHERE state = 'VT'",
     "SELECT v_p.name, v_b.price + 1 AS more FROM bid v_b, person v_p WHERE v_b.auction = v_p.id AND v_p.state = 'VT'"),
    ("SELECT x.auction, p.name FROM (SELECT auction, id FROM (SELECT auction, price AS id FROM bid) q) x JOIN person p ON x.id = p.id",
     "SELECT x.auction, p.name FROM bid x JOIN person p ON x.price = p.id"),
    ("SELECT auction, d + 1 AS e FROM (SELECT auction, price * 2 AS d, d * 3 AS unused FROM bid) x", "SELECT auction, price * 2 + 1 AS e FROM bid x"),
    ("WITH v AS (SELECT at AS t FROM bid) SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE v, DESCRIPTOR(t), INTERVAL '9' SECOND) GROUP BY window_start",
     "SELECT window_start, COUNT(*) AS n FROM bid GROUP BY TUMBLE '9 seconds'"),
    ("SELECT s FROM (SELECT window_start AS s, at FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(at), INTERVAL '9' SECOND)) b) b",
     "SELECT window_start AS s FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(at), INTERVAL '9' SECOND)) b"),
]  # fmt: skip


@pytest.mark.parametrize(("nested", "flat"), SAME, ids=[s[0] for s in SAME])
def test_nested_is_flat(nested: str, flat: str) -> None:
    found, expected = joined(nested), joined(flat)
    if "AS big" in flat:
        assert [o.expr for o in found.outputs] == [o.expr for o in expected.outputs] and found.outputs[
            0
        ].name == "channel"
        assert (found.inputs, found.keys, found.windows) == (expected.inputs, expected.keys, expected.windows)
    else:
        assert found.meaning == expected.meaning


TUMBLING = "SELECT auction, COUNT(*) AS n, window_start, window_end FROM bid GROUP BY auction, {}"
READS = [
    ("SELECT MAX(n) AS m FROM ({}) GROUP BY TUMBLE '1 day'", "TUMBLE '1 hour'", Window(24 * HOUR, 24 * HOUR)),
    ("WITH x AS ({}) SELECT window_end, MAX(n) AS m FROM x GROUP BY window_end", "TUMBLE '1 hour'", Window(HOUR, HOUR)),
    ("WITH x AS ({}) SELECT MAX(n) AS m FROM x GROUP BY x.window_start", "HOP '3 hours' BY '2 hours'", Window(2 * HOUR, 2 * HOUR, HOUR)),
    ("WITH x AS ({}) SELECT 1 + n AS o, MAX(auction) AS m, window_start FROM x GROUP BY 1, 3", "HOP '3 hours' BY '2 hours' OFFSET '90 minutes'", Window(2 * HOUR, 2 * HOUR, HOUR // 2)),
    ("WITH x AS ({}) SELECT window_end, MAX(n) AS m FROM TABLE(TUMBLE(TABLE x, DESCRIPTOR(window_time), INTERVAL '1' DAY)) GROUP BY window_start, window_end", "TUMBLE '1 hour'", Window(24 * HOUR, 24 * HOUR)),
    ("WITH x AS ({}) SELECT window.end, MAX(n) AS m FROM x GROUP BY window(window_end, '1 day')", "TUMBLE '1 hour'", Window(24 * HOUR, 24 * HOUR)),
]  # fmt: skip


@pytest.mark.parametrize(("outer", "window", "found"), READS, ids=[f"{r[0]} {r[1]}" for r in READS])
def test_windows_over_results(outer: str, window: str, found: Window) -> None:
    query = joined(outer.format(TUMBLING.format(window)))
    assert [w.window for w in query.windows] == [found]
    (inner,) = query.nested
    alone = joined(TUMBLING.format(window))
    assert query.streams == (inner.name,) and query.sources == ("bid",)
    assert (inner.keys, inner.windows, inner.aggregates) == (alone.keys, alone.windows, alone.aggregates)


def test_a_window_of_its_own_is_meant_unless_another_is_named() -> None:
    query = joined(
        f"SELECT window_end, MAX(x.window_end) AS last FROM ({TUMBLING.format(HOURLY)}) x GROUP BY TUMBLE '1 day'"
    )
    assert [o.sql for o in query.outputs] == ['"window_end"', '"a0"']
    assert [a.call.args[0].sql for a in query.aggregates] == ['"inner_window_end"']


def test_results_whose_ends_are_equated_need_no_window() -> None:
    query = joined(
        f"WITH x AS ({TUMBLING.format(HOURLY)}), m AS (SELECT window_end AS e, MAX(n) AS top FROM x GROUP BY window_end)"
        " SELECT x.auction FROM x, m WHERE x.n = m.top AND x.window_end = m.e"
    )
    assert [(i.kind, i.length) for i in query.inputs] == [("range", 1), ("range", 1)]


def test_equal_inner_queries_are_one() -> None:
    first = joined(f"SELECT n FROM ({TUMBLING.format(HOURLY)}) x")
    second = joined(
        f"WITH y AS ({TUMBLING.format(HOURLY)}) SELECT MAX(n) AS m FROM y GROUP BY TUMBLE '1 day'"
    )
    assert first.nested == second.nested


def test_a_union_is_a_stream_of_its_parts() -> None:
    union = "SELECT auction, at FROM bid WHERE price > 3 UNION ALL (SELECT Seller, at FROM auction UNION ALL SELECT NULL, at FROM bid)"
    found = joined(
        f"SELECT u.auction, COUNT(*) AS n FROM ({union}) AS u GROUP BY auction, window(at, '1 day')"
    )
    (union_of_three,) = found.nested
    assert found.stream == union_of_three.name and union_of_three.unites
    assert [i.source for i in union_of_three.inputs] == ["bid", "auction", "bid"]
    assert [[o.type for o in i.shown] for i in union_of_three.inputs] == [["BIGINT", "TIMESTAMP"]] * 3
    assert [o.name for o in union_of_three.outputs] == ["auction", "event_time"]
    assert joined(union).nested == found.nested, "whoever reads it"


def test_inner_queries_that_never_forget_are_their_own() -> None:
    counts = "SELECT auction, COUNT(*) AS n FROM bid [UNBOUNDED] GROUP BY auction EVERY 1 HOUR"
    first = joined(f"SELECT n FROM ({counts}) x")
    second = joined(f"SELECT n FROM ({counts}) x WHERE n > 3")
    assert first.streams != second.streams and joined(first.text).meaning == first.meaning


BAD = [
    ("SELECT a FROM (SELECT auction AS a, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 day' LIMIT 3) x", "LIMIT is not supported", "LIMIT 3", "results are a stream"),
    ("SELECT a FROM (SELECT MAX(auction) AS a FROM bid) x", "a query over changes is not supported", "(SELECT", "give what is read a window"),
    ("SELECT at FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 day') x", "unknown column at", "at", "columns of x are: auction, n"),
    ("SELECT event_time FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 day') x", "unknown column event_time", "event_time", "columns of x are: auction, n"),
    ("SELECT MAX(n) AS m FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 day') x GROUP BY window(auction, '1 day')", "auction is not the event time of x", "auction", "write TUMBLE"),
    ("SELECT window_end, n FROM (SELECT window_end, COUNT(*) AS n FROM bid GROUP BY WINDOWS(TUMBLE '1 day', TUMBLE '2 days')) x GROUP BY window_end, n", "the groups are of several windows", "GROUP BY window_end, n", "add a window to GROUP BY"),
    ("WITH x AS (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 day') SELECT x.n FROM x JOIN x AS y ON x.n = y.n", "x has no window in this join", "x", "write [RANGE 1 HOUR]"),
    ("SELECT n FROM (SELECT auction, COUNT(*) AS n FROM bid [RANGE 1 DAY] GROUP BY auction EVERY 1 HOUR EMIT CHANGES) x", "a query over changes is not supported", "(SELECT", "give what is read a window"),
    ("SELECT COUNT(*) AS c FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 day' EMIT CHANGES) x", "a query over changes is not supported", "(SELECT", "give what is read a window"),
    ("SELECT n FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction) x", "a query over changes is not supported but for groups of them alone", "(SELECT", "give what is read a window"),
    ("SELECT COUNT(*) AS c FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction) x GROUP BY TUMBLE '1 day'", "a query over changes is not supported but for groups of them alone", "(SELECT", "give what is read a window"),
    ("SELECT COUNT(*) AS c FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction) x JOIN bid b [UNBOUNDED] ON b.auction = x.auction", "a query over changes is not supported but for groups of them alone", "(SELECT", "give what is read a window"),
    ("SELECT MAX(n) AS most FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction) x", "MAX(n) of results that change is not supported", "MAX(n)", "use COUNT, SUM or AVG"),
    ("SELECT SUM(m) AS s FROM (SELECT auction, AVG(price) AS m FROM bid GROUP BY auction) x", "SUM(m) of results that change would not be exact", "SUM(m)", "CAST the argument"),
    ("SELECT window_end, COUNT(*) AS c FROM (SELECT auction, window_end AS e, COUNT(*) AS n FROM bid GROUP BY auction) x GROUP BY e", "unknown column e", "e", "columns of x are"),
    ("SELECT auction FROM (SELECT DISTINCT auction FROM bid) x", "SELECT DISTINCT in FROM is not supported", "DISTINCT", "group by the columns"),
    ("SELECT auction FROM (SELECT auction FROM bid LIMIT 3) x", "LIMIT in FROM is not supported", "LIMIT 3", "results are a stream"),
    ("SELECT auction FROM (SELECT auction FROM bid UNION SELECT id FROM auction) x", "UNION is not supported", "UNION", "write UNION ALL"),
    ("SELECT auction FROM (SELECT auction FROM bid UNION ALL SELECT id FROM person) x", "person is a table, not a stream", "person", "join a stream"),
    ("SELECT x.auction FROM (SELECT auction, at FROM bid UNION ALL SELECT id, TIMESTAMP '2024-01-01 00:00:00' FROM auction) x GROUP BY x.auction, window(at, '1 day')", "at is not the event time of x, which is that of what is united", "at", "write TUMBLE"),
    ("SELECT auction FROM (SELECT auction, COUNT(*) AS n FROM bid [RANGE 1 DAY] GROUP BY auction EVERY 1 HOUR EMIT CHANGES UNION ALL SELECT id, 1 FROM auction) x", "a union of changes is not supported", "auction, COUNT(*)", "give its groups a window"),
    ("SELECT auctin FROM (SELECT auction FROM bid) x", "unknown column auctin", "auctin", "did you mean auction?"),
    ("SELECT price FROM (SELECT auction FROM bid) x", "unknown column price", "price", "columns of x are: auction"),
    ("SELECT auction FROM (SELECT auction FROM bid) x WHERE x.price > 3", "unknown column x.price", "x.price", "columns of x are: auction"),
    ("SELECT y.auction FROM (SELECT auction FROM bid) x", "unknown input y", "y", "the query reads: x"),
    ("SELECT z FROM (SELECT pric AS z FROM bid) x", "unknown column pric", "pric", "did you mean price?"),
    ("SELECT z FROM (SELECT price AS z, auction AS z FROM bid) x", "two results are named z", "auction AS z", "rename one with AS"),
    ("SELECT z FROM (SELECT price + url AS z FROM bid) x", "no function matches the given name and argument types '+(", "price + url", "CAST"),
    ("SELECT id FROM (SELECT id FROM auction) x [RANGE 1 DAY], person p", "column id is in x and p", "id", "write x.id"),
    ("WITH RECURSIVE v AS (SELECT at FROM bid) SELECT at FROM v", "WITH RECURSIVE is not supported", "WITH RECURSIVE v AS (SELECT at FROM bid)", "write the steps"),
    ("WITH v(a) AS (SELECT at FROM bid) SELECT a FROM v", "renaming columns in WITH is not supported", "v(a) AS", "use AS"),
    ("SELECT b FROM (SELECT auction FROM bid) AS x(b)", "renaming columns in FROM is not supported", "(SELECT auction FROM bid) AS x(b)", "use AS"),
    ("SELECT auction FROM (bid)", "parentheses in FROM hold a SELECT", "(bid)", "write the names without them"),
    ("SELECT x.auction FROM (SELECT auction FROM bid) x JOIN person p USING (id)", "USING with a subquery or a view is not supported", "JOIN person p USING (id)", "write ON"),
    ("SELECT x.auction FROM (SELECT auction FROM bid [RANGE 1 DAY]) x [RANGE 1 DAY], person", "the stream has a window inside already", "[RANGE 1 DAY]", "keep one"),
    ("SELECT x.price FROM (SELECT b.price FROM bid b [RANGE 1 DAY], auction a [RANGE 1 DAY]) x, bid c [RANGE 1 DAY]", "x has no window in this join", "(SELECT", "write [RANGE 1 HOUR]"),
    ("SELECT x.price FROM (SELECT price FROM bidd) x", "unknown stream or table bidd", "bidd", "did you mean bid?"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "mark", "hint"), BAD, ids=[b[0] for b in BAD])
def test_what_is_refused(text: str, message: str, mark: str, hint: str) -> None:
    error = join_failure(text)
    assert error.message.startswith(message) and marked(error).startswith(mark)
    assert error.hint and error.hint.startswith(hint)


def test_what_is_nested_stays_small() -> None:
    """Columns are replaced by what they are: where each level uses them twice, that is not to fill the memory."""
    text, others = "SELECT price FROM bid", []
    for _ in range(20):
        others.append(f"{text} WHERE price > 0")
        text = f"SELECT price + price AS price FROM ({text}) x"
    assert joined(others[4]).outputs[0].type == "BIGINT"
    error = join_failure(text)
    assert error.message == "what is nested here is too large" and error.hint == "take it apart"


def test_a_column_may_be_named_as_the_event_time_of_results_is() -> None:
    streams = "CREATE STREAM e (k BIGINT, event_time TIMESTAMP) WITH (time = 'event_time');"
    asked = "SELECT y.event_time, y.k FROM (SELECT k, event_time FROM e WHERE k > 1) y WHERE y.event_time IS NOT NULL"
    query = bind_text(f"{streams} CREATE QUERY q AS {asked}").queries["q"]
    assert [o.name for o in query.outputs] == ["event_time", "k"]
