"""Bad joins: what is said, where, and what to do."""
# ruff: noqa: E501

from time import process_time

import pytest
from sql_support import RELATIONS, infer, join_failure, marked

from thalweg.errors import SqlError
from thalweg.sql.binder import bind
from thalweg.sql.statements import parse_select

F = "FROM bid AS b [RANGE 1 HOUR], auction AS a [UNBOUNDED]"
FP = F + ", person AS p"
C = "SELECT COUNT(*) AS n"
BAD = [
    # inputs
    (f"{C} FROM bid b, auction a [UNBOUNDED]", "stream bid has no window in this join", "bid b", "write [RANGE 1 HOUR], [TUMBLE ...] or [UNBOUNDED] after it"),
    (f"{C} FROM bid b [RANGE 1 HOUR] JOIN auction a ON a.id = b.auction", "stream auction has no window in this join", "auction a", "write [RANGE 1 HOUR]"),
    (f"{C} FROM bid b [RANGE 1 HOUR], person [RANGE 1 HOUR]", "person is a table, which has no window", "[RANGE 1 HOUR]", "remove [RANGE 1 HOUR]"),
    (f"{C} FROM bid b [RANGE 1 HOUR], person TIMESTAMP BY id", "person is a table, which has no event time", "id", "remove TIMESTAMP BY"),
    (f"{C} FROM bid b TIMESTAMP BY day [RANGE 1 HOUR]", "day is not the event time of bid", "day", "the event time of bid is: at"),
    (f"{C} FROM person [UNBOUNDED]", "person is a table, which has no window", "[UNBOUNDED]", "remove [UNBOUNDED]"),
    (f"{C} FROM person", "person is a table, not a stream", "person", "join it with a stream"),
    (f"{C} FROM person p, person q", "the join reads no stream", "person p", "join a stream, such as bid [RANGE 1 HOUR]"),
    (f"{C} FROM bids [RANGE 1 HOUR], person", "unknown stream or table bids", "bids", "did you mean bid?"),
    (f"{C} FROM bid, zzz", "unknown stream or table zzz", "zzz", "streams and tables are: bid, auction, person"),
    (f"{C} FROM bid [RANGE 1 HOUR], BID [RANGE 1 HOUR]", "two inputs are named BID", "BID [RANGE 1 HOUR]", "give one of them another name with AS"),
    (f"{C} FROM bid a [RANGE 1 HOUR], auction A [UNBOUNDED]", "two inputs are named A", "auction A [UNBOUNDED]", "give one of them"),
    (f"{C} FROM bid AS `b.c` [RANGE 1 HOUR]", "the name b.c of an input has a dot", "bid AS `b.c` [RANGE 1 HOUR]", "give it another name with AS"),
    (f"{C} FROM {', '.join(f'bid b{i} [UNBOUNDED]' for i in range(9))}", "a join has at most 8 inputs", "bid b8 [UNBOUNDED]", "join fewer"),
    (f"{C} FROM bid [RANGE 0 SECONDS], person", "the length of a window must be above zero", "0 SECONDS", None),
    (f"{C} FROM bid [RANGE 1 MONTH], person", "months and years have no fixed length", "1 MONTH", "write the window in days"),
    (f"{C} FROM bid [TUMBLE 1 HOUR], auction [TUMBLE 2 HOURS]", "the TUMBLE windows of an aggregate over a join must be of the same length", "[TUMBLE 2 HOURS]", "write [TUMBLE 1 hour], or RANGE or UNBOUNDED"),
    (f"{C} FROM bid [RANGE 1 HOUR], auction [TUMBLE 2 HOURS] EVERY 1 HOUR", "results of TUMBLE 2 hours come every 2 hours", "EVERY 1 HOUR", "write EVERY 2 hours"),
    (f"{C} FROM db.bid [RANGE 1 HOUR], person", "names of streams have no qualifier", "db.bid [RANGE 1 HOUR]", "write bid"),
    (f"{C} FROM bid [RANGE 1 HOUR], (SELECT 1) s", "the SELECT has no FROM", "SELECT 1", "name the stream after FROM"),
    (f"{C} FROM bid [RANGE 1 HOUR], person AS p (a, b, c)", "renaming columns in FROM is not supported", "person AS p (a, b, c)", "use AS in SELECT"),
    # kinds of joins
    (f"{C} FROM bid b [RANGE 1 HOUR] NATURAL JOIN person p", "NATURAL JOIN is not supported", "NATURAL JOIN person p", "write JOIN, or LEFT"),
    (f"{C} FROM bid b [RANGE 1 HOUR] JOIN person p JOIN person q ON TRUE ON TRUE", "a join inside a join is not supported", "JOIN person q ON TRUE", "write each ON right after its JOIN"),
    # columns
    (f"SELECT at {F}", "column at is in b and a", "at", "write b.at"),
    (f"{C} {FP} WHERE id = 3", "column id is in a and p", "id", "write a.id"),
    (f"SELECT b.pirce {F}", "unknown column b.pirce", "b.pirce", "did you mean price?"),
    (f"SELECT a.price {F}", "unknown column a.price", "a.price", "columns of a are: id, Seller"),
    (f"SELECT zzz {FP}", "unknown column zzz", "zzz", "columns of b and a and p are: auction, Bidder"),
    (f"SELECT bid.price {F}", "unknown input bid", "bid", "the query reads: b, a"),
    (f"SELECT x.b.price {F}", "unknown input x.b", "x.b", "the query reads: b, a"),
    (f"SELECT c.* {F}", "unknown input c", "c", "the query reads: b, a"),
    (f"SELECT COUNT(c.*) {F}", "unknown input c", "c", "the query reads: b, a"),
    (f"{C} FROM bid [RANGE 1 HOUR] JOIN person USING (id)", "column id of USING is not on the left of the join", "id", "columns there are: auction"),
    (f"{C} FROM bid [RANGE 1 HOUR] JOIN person USING (channel)", "column channel of USING is not in person", "channel", "columns of person are: id"),
    (f"{C} FROM auction a [RANGE 1 HOUR] JOIN auction b [RANGE 1 HOUR] JOIN person USING (id)", "column id is in a and b", "id", "write ON with the column"),
    # conditions
    (f"{C} {F} WHERE a.url = b.price", "can't compare STRING with BIGINT", "b.price", "CAST one of them"),
    (f"{C} FROM bid b [RANGE 1 HOUR] JOIN auction a [UNBOUNDED] ON a.at = b.n", "can't compare TIMESTAMP with INT", "b.n", "CAST one of them"),
    (f"{C} FROM bid b [RANGE 1 HOUR] JOIN auction a [UNBOUNDED] ON b.n", "expected a condition, not INT", "b.n", "compare it with something"),
    (f"{C} FROM bid b [RANGE 1 HOUR] JOIN auction a [UNBOUNDED] ON COUNT(*) > 1", "an aggregate can't stand in ON", "COUNT(*)", "put the condition into HAVING"),
    (f"{C} {F} WHERE MAX(price) > 1", "an aggregate can't stand in WHERE", "MAX(price)", "put the condition into HAVING"),
    (f"{C} {F} WHERE window_end > b.at", "window_end is not known in WHERE", "window_end", "use it in SELECT or HAVING"),
    (f"{C} {F} WHERE b.at > now()", "now is not deterministic", "now()", "a result must"),
    # rows
    (f"SELECT b.price {F} EVERY 1 MINUTE", "EVERY needs an aggregate or GROUP BY", "EVERY 1 MINUTE", "each combination of rows is emitted once"),
    (f"SELECT b.price {F} EMIT CHANGES", "EMIT needs an aggregate or GROUP BY", "EMIT CHANGES", "each combination of rows is emitted once"),
    (f"SELECT b.price {F} HAVING b.price > 3", "HAVING needs an aggregate or GROUP BY", "HAVING b.price > 3", "put the condition into WHERE"),
    ("SELECT b.price FROM bid b JOIN auction FOR SYSTEM_TIME AS OF b.at AS a ON a.id = b.auction", "FOR SYSTEM_TIME is for tables, and auction is a stream", "FOR SYSTEM_TIME AS OF b.at", "write a window"),
    ("SELECT b.price FROM bid b JOIN person FOR SYSTEM_TIME b.at AS p ON p.id = b.auction", "expected AS OF, not b", "b", None),
    ("SELECT ROW_NUMBER() OVER (PARTITION BY auction ORDER BY at) AS n FROM bid", "ROW_NUMBER has no bound", "ROW_NUMBER() OVER (PARTITION BY auction ORDER BY at)", "add a condition such as ROW_NUMBER <= 10"),
    ("SELECT price FROM bid, auction QUALIFY RANK() OVER (ORDER BY price) = 1", "stream bid has no window in this join", "bid", "write [RANGE 1 HOUR]"),
    ("SELECT price FROM bid QUALIFY RANK() OVER (PARTITION BY window(at, '1 minute') ORDER BY price) = 1 EVERY 1 MINUTE", "EVERY without a window in FROM is not supported", "EVERY 1 MINUTE", "the windows in GROUP BY"),
    ("SELECT price AS deleted FROM bid QUALIFY RANK() OVER (ORDER BY price) = 1", "the mark of EMIT CHANGES is named deleted too", "price AS deleted", "rename"),
    ("SELECT PROCTIME() AS n FROM bid", "PROCTIME is not deterministic", "PROCTIME()", None),
    ("SELECT price FROM bid, auction", "stream bid has no window in this join", "bid", "write [RANGE 1 HOUR]"),
    ("SELECT COUNT(*) AS n FROM bid, auction", "stream bid has no window in this join", "bid", "write [RANGE 1 HOUR]"),
    ("SELECT DISTINCT bid.auction FROM bid [RANGE 1 HOUR], auction [RANGE 1 HOUR]", "SELECT DISTINCT is not supported", "DISTINCT", "group by the columns"),
    ("SELECT id FROM person", "person is a table, not a stream", "person", "join a stream"),
    ("SELECT price FROM bid [RANGE 1 HOUR]", "a stream alone with a window needs an aggregate", "bid [RANGE 1 HOUR]", "leave the window out for the rows as they come, add an aggregate"),
    (f"SELECT b.at, a.at, 1 AS A_At {F}", "two results are named at", "a.at", "rename one with AS"),
    (f"SELECT b.at, b.price AS at {F}", "two results are named at", "b.price AS at", "rename one with AS"),
    (f"SELECT * {F}", "two results are named url", "*", "name the columns instead of *"),
    ("SELECT url AS x, b.* FROM bid b [RANGE 1 HOUR], person p", "two results are named x", "b.*", "name the columns instead of *"),
    (f"SELECT window_end {F}", "window_end is not known in SELECT", "window_end", "only aggregates have a window"),
    (f"SELECT b.price + b.* {F}", "* is not supported here", "b.*", "name the columns"),
    (f"SELECT window(b.at, '1 minute') AS w {F}", "a window here is not supported", "window(b.at, '1 minute')", None),
    # aggregates
    (f"SELECT b.price, COUNT(*) {F}", "column price is neither grouped nor aggregated", "b.price", "add it to GROUP BY, or write MAX(b.price)"),
    (f"SELECT b.auction {F} WHERE a.id = b.auction GROUP BY a.id", "column auction is neither grouped nor aggregated", "b.auction", "add it to GROUP BY"),
    (f"SELECT at, COUNT(*) {F} GROUP BY a.id", "column at is in b and a", "at", "write b.at"),
    (f"SELECT *, COUNT(*) {F}", "* can't be grouped", "*", "name the grouping keys"),
    (f"SELECT FIRST(b.price) {F}", "FIRST over a join is not supported", "FIRST(b.price)", "use MIN_BY(x, b.at)"),
    ("SELECT last_value(price) IGNORE NULLS FROM person p, bid [RANGE 1 HOUR]", "LAST over a join is not supported", "last_value(price) IGNORE NULLS", "use MAX_BY(x, bid.at)"),
    (f"SELECT SUM(a.url) {F}", "SUM takes numbers, not STRING", "a.url", "CAST the argument to a number"),
    (f"SELECT MAX(b.*) {F}", "MAX(*) has no meaning", "MAX(b.*)", "name a column"),
    (f"SELECT SUM(COUNT(*)) {F}", "an aggregate can't be the argument of another", "COUNT(*)", "aggregate once"),
    (f"{C} {F} GROUP BY TUMBLE '1 minute'", "a window in GROUP BY is not supported in a join", "TUMBLE '1 minute'", "write [RANGE ...] after the stream in FROM, and EVERY at the end"),
    (f"{C} {F} GROUP BY a.id, WINDOWS(TUMBLE '1 minute', HOP '1 hour' BY '1 minute')", "a window in GROUP BY is not supported in a join", "WINDOWS(TUMBLE '1 minute', HOP '1 hour' BY '1 minute')", "write [RANGE ...]"),
    (f"SELECT window(b.at, '1 minute').end, COUNT(*) {F}", "a window here is not supported in a join", "window(b.at, '1 minute').end", "write [RANGE ...]"),
    (f"SELECT window_start, COUNT(*) {F}", "window_start is not known in a join", "window_start", "use window_end"),
    (f"SELECT window.start, COUNT(*) {F}", "window.start is not known in a join", "window.start", "use window_end"),
    (f"SELECT System.Window().Id, COUNT(*) {F}", "System.Window().Id is not known in a join", "System.Window().Id", "use window_end"),
    (f"{C} {F} GROUP BY window_start", "window_start is not known in a join", "window_start", "use window_end"),
    (f"{C} {F} GROUP BY 2", "GROUP BY 2 is no position in SELECT", "2", "write a number from 1 to 1"),
    (f"SELECT COUNT(*) AS c {F} GROUP BY c", "an aggregate can't stand in GROUP BY", "COUNT(*)", "group by the argument"),
    (f"SELECT a.id, COUNT(*) AS id {F} GROUP BY a.id", "two results are named id", "COUNT(*) AS id", "rename one with AS"),
    (f"SELECT a.id AS window_end {F} GROUP BY a.id", "the instant of a result is named window_end too", "a.id AS window_end", "rename this one with AS"),
    (f"SELECT a.id AS Deleted {F} GROUP BY a.id EMIT CHANGES", "the mark of EMIT CHANGES is named deleted too", "a.id AS Deleted", "rename this one with AS"),
    (f"{C} {F} HAVING b.price > 1", "column price is neither grouped nor aggregated", "b.price", "add it to GROUP BY"),
    # instants
    (f"{C} {F} EVERY 0 SECONDS", "EVERY must be above zero", "0 SECONDS", None),
    (f"{C} {F} EVERY 1 MONTH", "months and years have no fixed length", "1 MONTH", "write the window in days"),
    (f"{C} FROM bid [TUMBLE 1 HOUR], person EVERY 1 MINUTE", "results of TUMBLE 1 hour come every 1 hour", "EVERY 1 MINUTE", "write EVERY 1 hour, or leave it out"),
    (f"{C} {F} EVERY 1 MINUTE EVERY 2 MINUTES", "EVERY is given twice", "EVERY 2 MINUTES", "keep one of them"),
    (f"{C} {F} EMIT FINAL EMIT CHANGES", "EMIT is given twice", "EMIT CHANGES", "keep one of them"),
    # not supported
    (f"SELECT DISTINCT b.price {F}", "SELECT DISTINCT is not supported", "DISTINCT", "group by the columns instead"),
    (f"SELECT b.price {F} ORDER BY 1", "ORDER BY is not supported", "ORDER BY 1", "results are a stream"),
    (f"SELECT b.price {F} LIMIT 5", "LIMIT is not supported", "LIMIT 5", "results are a stream"),
    (f"SELECT (SELECT 1) {F}", "a subquery is not supported", "(SELECT 1)", None),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "message", "mark", "hint"), BAD, ids=[b[0] for b in BAD])
def test_bad(sql: str, message: str, mark: str, hint: str | None) -> None:
    error = join_failure(sql)
    assert error.message == message
    assert marked(error) == mark
    assert error.hint and error.hint.startswith(hint or "")
    assert not error.message.endswith(".") and not (error.hint or "").endswith(".")


def test_deep_nesting_is_refused() -> None:
    assert join_failure(f"SELECT {'(' * 5000}b.price{')' * 5000} {F}").message.endswith("nested too deeply")


def test_nothing_is_known() -> None:
    with pytest.raises(SqlError) as caught:
        bind(parse_select(f"{C} {F}"), name="q", into=None, streams={}, infer=infer)
    assert (caught.value.message, caught.value.hint) == (
        "unknown stream or table bid",
        "create it with CREATE STREAM or TABLE",
    )
    with pytest.raises(SqlError) as caught:
        bind(
            parse_select(f"{C} FROM bid GROUP BY TUMBLE '1 minute'"),
            name="q",
            into=None,
            streams={},
            infer=infer,
            relations=RELATIONS,
        )
    assert caught.value.hint == "create it with CREATE STREAM"


def test_many_joins_without_conditions_are_refused_at_once() -> None:
    """The grammar would try all ways to nest them, twice as many with each."""
    started = process_time()
    with pytest.raises(SqlError, match="a join has at most 8 inputs"):
        parse_select("SELECT a.k FROM a" + "".join(f" JOIN b{i}" for i in range(60)))
    assert process_time() - started < 1
    parse_select("SELECT a.k FROM a" + "".join(f" JOIN b{i} ON a.k = b{i}.k" for i in range(20)))
