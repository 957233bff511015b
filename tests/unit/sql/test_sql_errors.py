"""Bad SQL: what is said, where, and what to do."""
# ruff: noqa: E501

import ast
from pathlib import Path

import pytest
from sql_support import STREAMS, failure, infer, marked

import thalweg.sql
from thalweg.errors import SqlError
from thalweg.sql.binder import bind
from thalweg.sql.statements import CreateQuery, parse_script

W = "GROUP BY auction, TUMBLE '1 minute'"
BAD = [
    # names
    (f"SELECT pirce FROM bid {W}", "unknown column pirce", "pirce", "did you mean price?"),
    (f"SELECT zzz FROM bid {W}", "unknown column zzz", "zzz", "columns of bid are: auction, Bidder"),
    (f"SELECT auction FROM bidd {W}", "unknown stream bidd", "bidd", "did you mean bid?"),
    (f"SELECT auction FROM person {W}", "unknown stream person", "person", "streams are: bid"),
    (f"SELECT auction FROM db.bid {W}", "names of streams have no qualifier", "db.bid", "write bid"),
    (f"SELECT x.auction FROM bid b {W}", "unknown stream x", "x", "the query reads: b"),
    (f"SELECT bid.auction FROM bid b {W}", "unknown stream bid", "bid", "the query reads: b"),
    (f"SELECT summ(price) FROM bid {W}", "unknown function summ", "summ(price)", "did you mean SUM?"),
    (f"SELECT lowr(channel) FROM bid {W}", "unknown function lowr", "lowr(channel)", "did you mean LOWER?"),
    (f"SELECT left(channel) FROM bid {W}", "left takes 2 arguments, not 1", "left(channel)", None),
    (f"SELECT nvl() FROM bid {W}", "nvl takes 2 arguments, not 0", "nvl()", None),
    (f"SELECT coalesce() FROM bid {W}", "coalesce takes at least 1 arguments, not 0", "coalesce()", None),
    # grouping
    (f"SELECT price FROM bid {W}", "column price is neither grouped nor aggregated", "price", "add it to GROUP BY, or write MAX(price)"),
    (f"SELECT auction + price FROM bid {W}", "column price is neither grouped nor aggregated", "price", "add it to GROUP BY"),
    (f"SELECT auction FROM bid {W} HAVING price > 3", "column price is neither grouped nor aggregated", "price", "add it to GROUP BY"),
    (f"SELECT * FROM bid {W}", "* can't be grouped", "*", "name the grouping keys"),
    (f"SELECT b.* FROM bid b {W}", "* can't be grouped", "b.*", "name the grouping keys"),
    (f"SELECT auction, Auction FROM bid {W}", "two results are named auction", "Auction", "rename one with AS"),
    ("SELECT COUNT(*) AS n FROM bid GROUP BY window_end", "the query has no window", "GROUP BY window_end", "add a window to GROUP BY, such as TUMBLE '1 minute'"),
    ("SELECT DISTINCT * FROM bid", "SELECT DISTINCT * is not supported", "*", "name the columns"),
    ("SELECT DISTINCT auction, COUNT(*) AS n FROM bid GROUP BY auction", "SELECT DISTINCT is not supported", "DISTINCT", "group by the columns"),
    ("SELECT FIRST(price) AS f FROM bid", "FIRST without a window in GROUP BY is not supported", "FIRST(price)", "use MIN_BY(x, "),
    ("SELECT auction, window_start FROM bid GROUP BY auction", "window_start is not known without a window in GROUP BY", "window_start", "use window_end"),
    ("SELECT auction FROM bid HAVING auction > 1", "HAVING needs an aggregate or GROUP BY", "HAVING auction > 1", "put the condition into WHERE"),
    ("SELECT auction FROM bid EMIT CHANGES", "EMIT without a window in FROM is not supported", "EMIT CHANGES", "results are emitted once"),
    ("SELECT window_start FROM bid", "window_start is not known in SELECT", "window_start", "only aggregates have a window"),
    ("SELECT auction FROM bidd", "unknown stream or table bidd", "bidd", "did you mean bid?"),
    ("SELECT auction FROM bid GROUP BY 3, TUMBLE '1 minute'", "GROUP BY 3 is no position in SELECT", "3", "write a number from 1 to 1"),
    ("SELECT auction FROM bid GROUP BY 0, TUMBLE '1 minute'", "GROUP BY 0 is no position in SELECT", "0", "write a number from 1 to 1"),
    ("SELECT auction FROM bid GROUP BY zzz, TUMBLE '1 minute'", "unknown column zzz", "zzz", "columns of bid are"),
    ("SELECT auction FROM bid GROUP BY SUM(price), TUMBLE '1 minute'", "an aggregate can't stand in GROUP BY", "SUM(price)", "group by the argument"),
    ("SELECT SUM(price) AS s FROM bid GROUP BY s, TUMBLE '1 minute'", "an aggregate can't stand in GROUP BY", "SUM(price)", "group by the argument"),
    ("SELECT auction FROM bid GROUP BY ROLLUP(auction)", "a union of changes is not supported", "auction FROM bid GROUP BY ROLLUP(auction)", None),
    ("SELECT GROUPING(price) FROM bid GROUP BY ROLLUP(auction), TUMBLE '1 minute'", "GROUPING is of what is in GROUPING SETS, ROLLUP or CUBE", "price", "name one of these keys"),
    ("SELECT auction FROM bid GROUP BY CUBE(1, 2, 3, 4, 5, 6, 7), TUMBLE '1 minute'", "these are 128 sets of keys, and 64 are the most", "GROUP BY CUBE(1, 2, 3, 4, 5, 6, 7), TUMBLE '1 minute'", "write the sets that are needed"),
    ("SELECT auction FROM bid GROUP BY auction WITH CUBE", "WITH CUBE is not supported", "WITH CUBE", None),
    ("SELECT auction FROM bid GROUP BY ALL", "GROUP BY ALL is not supported", "GROUP BY ALL", "name the grouping keys"),
    ("SELECT auction FROM bid GROUP BY", "expected a grouping key or a window, but the statement ends", "", None),
    # windows
    ("SELECT 1 FROM bid GROUP BY TUMBLE '0 minutes'", "the range of a window must be above zero", "'0 minutes'", None),
    ("SELECT 1 FROM bid GROUP BY HOP '1 minute' BY -1 SECOND", "the slide of a window must be above zero", "-1 SECOND", None),
    ("SELECT 1 FROM bid GROUP BY TUMBLE '1 month'", "months and years have no fixed length", "'1 month'", "write the window in days"),
    ("SELECT 1 FROM bid GROUP BY TUMBLE '1 fortnight'", "'fortnight' is not a unit of time", "'1 fortnight'", "write one of day, hour"),
    ("SELECT 1 FROM bid GROUP BY TUMBLE 1", "'1' is not a duration", "1", "write a number and a unit, like '10 seconds'"),
    ("SELECT 1 FROM bid GROUP BY HOP '1 hour'", "expected BY and the slide of HOP, but the statement ends", "", None),
    ("SELECT 1 FROM bid GROUP BY HOP('1 hour')", "expected range and slide of the window, not )", ")", None),
    ("SELECT 1 FROM bid GROUP BY TUMBLE(at)", "expected a duration, not at", "at", "write TUMBLE '1 hour'"),
    ("SELECT 1 FROM bid GROUP BY HOP(at '1 hour', '2 hours')", "expected a duration, not at", "at", "write HOP '1 hour' BY '10 minutes'"),
    ("SELECT 1 FROM bid GROUP BY WINDOWS()", "expected a window such as TUMBLE '1 minute', not )", ")", None),
    ("SELECT 1 FROM bid GROUP BY WINDOWS(auction)", "expected a window such as TUMBLE '1 minute', not auction", "auction", None),
    ("SELECT 1 FROM bid GROUP BY TUMBLE '1 minute', TUMBLE '60 seconds'", "window id '1 minute' is given twice", "TUMBLE '60 seconds'", "give each window"),
    ("SELECT 1 FROM bid GROUP BY window(day, '1 minute')", "windows are of the event time at, not of day", "day", "write window(at, ...)"),
    ("SELECT 1 FROM bid GROUP BY window(at)", "expected range of the window, not )", ")", None),
    ("SELECT window(at, '2 minutes') FROM bid GROUP BY window(at, '1 minute')", "this window is not in GROUP BY", "window(at, '2 minutes')", "group by"),
    ("SELECT 1 FROM bid GROUP BY SessionWindow(minute, 5, 10)", "SessionWindow windows are not supported", "SessionWindow", "use TUMBLE, HOP or SESSION"),
    ("SELECT 1 FROM bid GROUP BY TumblingWindow(parsec, 5)", "expected a unit of time, not parsec", "parsec", None),
    ("SELECT 1 FROM bid TIMESTAMP BY day GROUP BY TUMBLE '1 minute'", "day is not the event time of bid", "day", "the event time of bid is: at"),
    ("SELECT COUNT(*) FROM bid WHERE window_end > at GROUP BY TUMBLE '1 minute'", "window_end is not known in WHERE", "window_end", "use it in SELECT or HAVING"),
    ("SELECT MAX(window.end) FROM bid GROUP BY TUMBLE '1 minute'", "window.end is not known in an aggregate", "window.end", "use it in SELECT"),
    # aggregates
    (f"SELECT SUM(MAX(price)) FROM bid {W}", "an aggregate can't be the argument of another", "MAX(price)", "aggregate once"),
    (f"SELECT auction FROM bid WHERE SUM(price) > 1 {W}", "an aggregate can't stand in WHERE", "SUM(price)", "put the condition into HAVING"),
    (f"SELECT SUM(channel) FROM bid {W}", "SUM takes numbers, not STRING", "channel", "CAST the argument to a number"),
    (f"SELECT avg(at) FROM bid {W}", "AVG takes numbers, not TIMESTAMP", "at", "CAST the argument"),
    (f"SELECT BOOL_AND(price) FROM bid {W}", "BOOL_AND takes a condition, not BIGINT", "price", "compare the argument"),
    (f"SELECT SUM(DISTINCT price) FROM bid {W}", "SUM(DISTINCT ...) is not supported", "SUM(DISTINCT price)", "COUNT and ARRAY_AGG take DISTINCT"),
    (f"SELECT COUNT(DISTINCT price, *) FROM bid {W}", "COUNT(DISTINCT *) has no meaning", "COUNT(DISTINCT price, *)", "name the columns"),
    (f"SELECT COUNT() FROM bid {W}", "COUNT takes 1 argument, not 0", "COUNT()", None),
    (f"SELECT COUNT(DISTINCT *) FROM bid {W}", "COUNT(*) has no meaning", "COUNT(DISTINCT *)", "name a column"),
    (f"SELECT SUM(*) FROM bid {W}", "SUM(*) has no meaning", "SUM(*)", "name a column"),
    (f"SELECT max_by(price) FROM bid {W}", "MAX_BY takes 2 arguments, not 1", "max_by(price)", None),
    (f"SELECT percentile(x, 2) FROM bid {W}", "the fraction must be a constant from 0 to 1", "2", "write a number like 0.95"),
    (f"SELECT percentile(x, n) FROM bid {W}", "the fraction must be a constant from 0 to 1", "n", "write a number like 0.95"),
    (f"SELECT percentile_cont(0.5) FROM bid {W}", "PERCENTILE_CONT takes a fraction and one order", "percentile_cont(0.5)", "write PERCENTILE_CONT"),
    (f"SELECT kurtosis(x) FROM bid {W}", "KURTOSIS is not supported", "kurtosis(x)", None),
    (f"SELECT SUM(price) FILTER (WHERE x) FROM bid {W}", "expected a condition, not DOUBLE", "x", "compare it with something"),
    # types
    (f"SELECT auction FROM bid WHERE price {W}", "expected a condition, not BIGINT", "price", "compare it with something"),
    (f"SELECT auction FROM bid WHERE ok AND price {W}", "expected a condition, not BIGINT", "price", "compare it with something"),
    (f"SELECT auction FROM bid {W} HAVING COUNT(*)", "expected a condition, not BIGINT", "COUNT(*)", "compare it with something"),
    (f"SELECT auction FROM bid WHERE channel = 1 {W}", "can't compare STRING with INT", "1", "CAST one of them"),
    (f"SELECT auction FROM bid WHERE price IN (1, at) {W}", "can't compare BIGINT with TIMESTAMP", "at", "CAST one of them"),
    (f"SELECT auction FROM bid WHERE at > 'noon' {W}", "'noon' is no TIMESTAMP", "'noon'", "write a literal of that type"),
    (f"SELECT auction FROM bid WHERE price = 'abc' {W}", "'abc' is no BIGINT", "'abc'", "write a literal of that type"),
    (f"SELECT auction FROM bid WHERE at > DATE '2024-02-30' {W}", "'2024-02-30' is no DATE", "DATE '2024-02-30'", "write a literal"),
    (f"SELECT MIN(if(ok, 1, 'a')) FROM bid {W}", "'a' is no INT", "'a'", "write a literal of that type"),
    (f"SELECT MIN(coalesce(channel, 1)) FROM bid {W}", "can't mix STRING with INT", "1", "CAST one of them"),
    (f"SELECT MIN(price + '1') FROM bid {W}", "+ takes numbers, not a string", "'1'", "write the number without quotes"),
    (f"SELECT MIN(left(channel, '1')) FROM bid {W}", "left takes a whole number here, not STRING", "'1'", None),
    (f"SELECT MIN(x div 2) FROM bid {W}", "DIV takes whole numbers", "x", "use / and CAST the result"),
    (f"SELECT MIN(cast(ok AS timestamp)) FROM bid {W}", "can't cast BOOLEAN to TIMESTAMP", "ok", "cast by way of TIMESTAMP"),
    (f"SELECT MIN(cast(x AS uuid)) FROM bid {W}", "type uuid is not supported", "uuid", "use BOOLEAN"),
    (f"SELECT MIN(x::binary) FROM bid {W}", "type BINARY is not supported", "x::binary", "use BOOLEAN"),
    (f"SELECT MIN(channel + 1) FROM bid {W}", "no function matches the given name and argument types '+(STRING, INT)'", "channel + 1", None),
    (f"SELECT MIN(date_trunc('eon', at)) FROM bid {W}", "unknown unit 'eon' of date_trunc", "'eon'", "units are: YEAR"),
    (f"SELECT MIN(extract(eon FROM at)) FROM bid {W}", "unknown field EON", "extract(eon FROM at)", "fields are: YEAR"),
    (f"SELECT MIN(date_format(at, 'QQ')) FROM bid {W}", "QQ in the format 'QQ' is not supported", "'QQ'", None),
    (f"SELECT MIN(regexp_extract(channel, '(a)', 10)) FROM bid {W}", "REGEXP_EXTRACT takes the number of a group from 0 to 9 here", "10", "write a number"),
    (f"SELECT MIN(regexp_extract(channel, '(', 0)) FROM bid {W}", "missing ): (", "'('", "write a regular expression"),
    (f"SELECT COUNT(*) FROM bid WHERE INTERVAL 1 DAY < '1 hour' {W}", "'1 hour' is no INTERVAL", "'1 hour'", "write a literal of that type"),
    (f"SELECT MIN(weekday(INTERVAL 1 DAY)) FROM bid {W}", "WEEKDAY takes a DATE or TIMESTAMP, not an INTERVAL", "weekday(INTERVAL 1 DAY)", "add the interval to a time first"),
    (f"SELECT MIN(regexp_replace(channel, '(a)', '$1')) FROM bid {W}", "group references in a replacement are not supported", "'$1'", None),
    (f"SELECT window(at, '1 minute').middle FROM bid {W}", "a window has start and end", "window(at, '1 minute').middle", "write window.start"),
    # not deterministic
    (f"SELECT auction FROM bid WHERE rand() > 0.5 {W}", "rand is not deterministic", "rand()", "a result must not depend on when"),
    (f"SELECT auction FROM bid WHERE at > now() {W}", "now is not deterministic", "now()", "a result must not depend"),
    (f"SELECT auction, current_timestamp FROM bid {W}", "current_timestamp is not deterministic", "current_timestamp", "a result must"),
    (f"SELECT auction, CURRENT_TIMESTAMP() AS t FROM bid {W}", "CURRENT_TIMESTAMP is not deterministic", "CURRENT_TIMESTAMP()", "a result"),
    (f"SELECT MAX(uuid()) FROM bid {W}", "uuid is not deterministic", "uuid()", "a result must"),
    (f"SELECT MAX(unix_timestamp()) FROM bid {W}", "unix_timestamp is not deterministic", "unix_timestamp()", "a result must"),
    (f"SELECT current_date FROM bid {W}", "current_date is not deterministic", "current_date", "a result must"),
    # not supported
    (f"SELECT auction FROM bid {W} ORDER BY auction", "ORDER BY is not supported", "ORDER BY auction", "results are a stream"),
    (f"SELECT auction FROM bid {W} LIMIT 5", "LIMIT is not supported", "LIMIT 5", "results are a stream"),
    (f"SELECT DISTINCT auction FROM bid {W}", "SELECT DISTINCT is not supported", "DISTINCT", "group by the columns instead"),
    (f"SELECT auction FROM bid b JOIN person p ON p.id = b.auction {W}", "unknown stream or table person", "person", "streams and tables are: bid"),
    (f"SELECT auction FROM bid, person {W}", "unknown stream or table person", "person", "streams and tables are: bid"),
    (f"SELECT auction FROM bid [RANGE 1 HOUR] {W}", "a window in GROUP BY is not supported in a join", "TUMBLE '1 minute'", "write [RANGE ...]"),
    (f"SELECT auction FROM bid AS b [UNBOUNDED] {W}", "a window in GROUP BY is not supported in a join", "TUMBLE '1 minute'", "write [RANGE ...]"),
    (f"SELECT auction FROM bid {W} EVERY 1 MINUTE", "EVERY without a window in FROM is not supported", "EVERY 1 MINUTE", "the windows in GROUP BY"),
    ("SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, SESSION '1 minute' EMIT CHANGES", "results of open sessions are not told: their windows are not known yet", "EMIT CHANGES", "use TUMBLE or HOP"),
    ("SELECT FIRST(price) AS f FROM bid GROUP BY TUMBLE '1 minute' EMIT CHANGES", "FIRST of windows that are told before they end is not supported", "EMIT CHANGES", "use MIN_BY(x, at)"),
    ("SELECT auction AS as_of FROM bid GROUP BY auction, TUMBLE '1 minute' EMIT CHANGES", "EMIT gives a column as_of too", "auction AS as_of", "rename this one with AS"),
    ("SELECT auction FROM bid GROUP BY auction, HOP '1 day' BY '1 minute' EMIT CHANGES", "each row would be in more than 1,000 open windows", "EMIT CHANGES", "use a longer slide"),
    (f"SELECT auction FROM bid {W} EVERY 1 MINUTE EMIT FINAL", "EVERY beside EMIT FINAL is not supported for windows in GROUP BY", "EVERY 1 MINUTE", "write EMIT EVERY"),
    (f"SELECT auction FROM bid {W} EVERY 1 MINUTE EMIT EVERY 2 MINUTES", "EVERY is given twice", "EVERY 2 MINUTES", "keep one of them"),
    (f"SELECT auction FROM bid {W} EMIT EVERY 0 SECONDS", "EVERY must be above zero", "0 SECONDS", "write a length"),
    (f"WITH a AS (SELECT 1) SELECT auction FROM a {W}", "the SELECT has no FROM", "SELECT 1", "name the stream after FROM"),
    (f"SELECT auction FROM bid {W} UNION SELECT 1 FROM bid", "UNION is not supported", "UNION", "write UNION ALL"),
    ("SELECT auction FROM bid INTERSECT SELECT auction FROM bid", "INTERSECT is not supported", "INTERSECT", "join the two"),
    ("SELECT auction FROM bid UNION ALL SELECT auction FROM bid EXCEPT SELECT 1 FROM bid", "EXCEPT is not supported", "EXCEPT", "write a condition"),
    ("SELECT auction FROM bid UNION ALL SELECT auction, price FROM bid", "the parts of this UNION ALL have 1 and 2 columns", "SELECT auction, price FROM bid", "show as many"),
    ("SELECT auction FROM bid UNION ALL SELECT auction, price FROM bid AS b", "the parts of this UNION ALL have 1 and 2 columns", "SELECT auction, price FROM bid AS b", "show as many"),
    ("SELECT auction, price FROM bid UNION ALL SELECT 1, channel FROM bid", "column 2 of this UNION ALL is BIGINT and STRING", "channel", "CAST one of them"),
    ("SELECT auction FROM bid UNION ALL SELECT price FROM bid ORDER BY 1", "ORDER BY is not supported", "ORDER BY 1", "results are a stream"),
    (f"(SELECT auction FROM bid {W})", "a subquery is not supported here", f"(SELECT auction FROM bid {W})", "write a plain SELECT"),
    (f"SELECT (SELECT 1) FROM bid {W}", "a subquery is not supported", "(SELECT 1)", None),
    (f"SELECT auction FROM bid WHERE EXISTS (SELECT 1) {W}", "the SELECT has no FROM", "SELECT 1", "name the stream"),
    (f"SELECT auction FROM bid WHERE auction IN (SELECT 1) {W}", "the SELECT has no FROM", "SELECT 1", "name the stream"),
    (f"SELECT SUM(price) OVER (PARTITION BY auction) FROM bid {W}", "OVER beside GROUP BY is not supported", W, "group in a SELECT in FROM"),
    ("SELECT auction FROM bid QUALIFY ok", "QUALIFY without OVER", "QUALIFY ok", "write the condition into WHERE"),
    (f"SELECT auction FROM bid {W} QUALIFY RANK() OVER (ORDER BY auction) = 1", "OVER beside GROUP BY is not supported", W, "group in a SELECT in FROM"),
    ("SELECT auction FROM bid WHERE RANK() OVER (ORDER BY auction) = 1", "a window function (OVER) is not supported", "RANK() OVER (ORDER BY auction)", "write it into SELECT"),
    (f"SELECT auction FROM bid TABLESAMPLE (10 PERCENT) {W}", "TABLESAMPLE is not supported", "TABLESAMPLE (10 PERCENT)", None),
    (f"SELECT auction FROM bid LATERAL VIEW explode(x) t AS y {W}", "LATERAL VIEW is not supported", "LATERAL VIEW explode(x) t AS y", None),
    (f"SELECT auction[0] FROM bid {W}", "auction is BIGINT, which has no elements", "auction[0]", None),
    (f"SELECT (auction, 1) FROM bid {W}", "a tuple is not supported", "(auction, 1)", None),
    (f"SELECT :p FROM bid {W}", "a parameter is not supported", ":p", None),
    (f"SELECT MIN(at) AT TIME ZONE 'UTC' FROM bid {W}", "AT TIME ZONE is not supported", "MIN(at) AT TIME ZONE 'UTC'", None),
    (f"SELECT MIN(transform(x, y -> y)) FROM bid {W}", "transform takes an ARRAY here, not DOUBLE", "x", None),
    # syntax
    ("SELECT auction frm bid", "unexpected bid", "bid", "did you mean FROM instead of frm?"),
    (f"SELECT auction FROM bid WHERE (price > 3 {W}", "expected ), not GROUP BY", "GROUP BY", None),
    (f"SELECT auction FROM bid WHERE price > {W}", "expected an expression, not GROUP BY", "GROUP BY", None),
    (f"SELECT auction,, price FROM bid {W}", "expected an expression, not ,", ",", None),
    (f"SELECT , auction FROM bid {W}", "expected an expression, not ,", ",", None),
    (f"SELECT auction, FROM bid {W}", "expected an expression, not FROM", "FROM", None),
    (f"SELECT auction AS , price FROM bid {W}", "expected a name, not ,", ",", None),
    (f"SELECT auction AS 10 FROM bid {W}", "expected a name, not 10", "10", None),
    (f"SELECT auction -> 'x' FROM bid {W}", "unexpected ->", "->", None),
    (f"SELECT auction FROM bid WHERE price 'x' {W}", "unexpected 'x'", "'x'", None),
    (f"FROM bid |> WHERE ok {W}", "unexpected |>", "|>", None),
    ("SELECT 1 FROM bid GROUP BY TUMBLE '1 minute' '1 minute'", "unexpected '1 minute'", "'1 minute'", None),
    (f"SELECT MIN(case when ok 1 end) FROM bid {W}", "expected THEN, not 1", "1", None),
    (f"SELECT MIN(case when ok then 1) FROM bid {W}", "expected END, not )", ")", None),
    (f"SELECT MIN(case end) FROM bid {W}", "expected END, not )", ")", None),
    (f"SELECT auction FROM bid WHERE price BETWEEN 1 5 {W}", "expected AND, not 5", "5", None),
    (f"SELECT cast(auction AS bigint FROM bid {W}", "expected ), not FROM", "FROM", None),
    (f"SELECT cast(auction bigint) FROM bid {W}", "expected AS, not bigint", "bigint", None),
    (f"SELECT auction FROM {W}", "expected the name of a stream, not GROUP BY", "GROUP BY", None),
    (f"SELECT auction FROM bid [SOON] {W}", "expected RANGE, WINDOW, TUMBLE or UNBOUNDED, not SOON", "SOON", None),
    (f"SELECT auction FROM bid {W} EMIT LATER", "expected CHANGES, FINAL or EVERY, not LATER", "LATER", None),
    ("SELECT 1", "the SELECT has no FROM", "SELECT 1", "name the stream after FROM"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "message", "mark", "hint"), BAD, ids=[b[0] for b in BAD])
def test_bad(sql: str, message: str, mark: str, hint: str | None) -> None:
    error = failure(sql)
    assert error.message == message
    assert marked(error) == mark
    assert error.hint and error.hint.startswith(hint or "")


@pytest.mark.parametrize("sql", [b[0] for b in BAD])
def test_style(sql: str) -> None:
    error = failure(sql)
    assert not error.message.endswith(".") and "\n" not in error.message
    assert not error.hint or not error.hint.endswith(".")
    assert "sqlglot" not in error.message


def test_place_in_a_longer_script() -> None:
    text = "SHOW PLAN;\n\nCREATE QUERY q AS\n  SELECT auction, MAX(pirce)\n  FROM bid GROUP BY auction, TUMBLE '1 minute'"
    (_, query) = parse_script(text, "app.sql")
    assert isinstance(query, CreateQuery)
    with pytest.raises(SqlError) as caught:
        bind(query.select, name="q", into=None, streams=STREAMS, infer=infer)
    assert (caught.value.line, caught.value.column, caught.value.length, caught.value.origin) == (
        4,
        23,
        5,
        "app.sql",
    )
    assert str(caught.value).splitlines() == [
        "unknown column pirce (at app.sql:4:23)",
        "   4 |   SELECT auction, MAX(pirce)",
        "     |                       ^^^^^",
        "  hint: did you mean price?",
    ]


@pytest.mark.parametrize("break_", ["\r\n", "\r", "\u2028", "\f\n"])
def test_place_after_odd_line_breaks(break_: str) -> None:
    error = failure(f"SELECT auction,{break_}  pirce FROM bid {W}")
    assert marked(error) == "pirce"


def test_place_after_wide_characters() -> None:
    error = failure(f"SELECT MAX('日本語 🎈'), pirce FROM bid {W}")
    assert (error.column, marked(error)) == (22, "pirce")


def test_deep_nesting_is_refused() -> None:
    error = failure(f"SELECT {'(' * 5000}auction{')' * 5000} FROM bid {W}")
    assert error.message.endswith("nested too deeply")


def test_imports_no_engine() -> None:
    for file in Path(thalweg.sql.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not [n for n in names if n.split(".")[0] in ("duckdb", "pyspark")], file
