"""Queries: keys, aggregates, results and their names."""

import pytest
from sql_support import STREAMS, bound, infer, meaning

from thalweg.model.query import Aggregate
from thalweg.model.target import Files
from thalweg.model.windowed import windowed
from thalweg.model.windows import SECOND, NamedWindow, Window
from thalweg.sql.binder import bind
from thalweg.sql.statements import CreateQuery, parse_script
from thalweg.testing.texts import Text, output

PRICE, X = Text('"price"', "BIGINT"), Text('"x"', "DOUBLE")
W = " FROM bid GROUP BY auction, TUMBLE '1 minute'"
AGGREGATES = [
    ("COUNT(*)", Aggregate("COUNT_ROWS"), "BIGINT"),
    ("count(1)", Aggregate("COUNT_ROWS"), "BIGINT"),
    ("COUNT('x')", Aggregate("COUNT_ROWS"), "BIGINT"),
    ("COUNT(price)", Aggregate("COUNT", (PRICE,)), "BIGINT"),
    ("COUNT(ALL price)", Aggregate("COUNT", (PRICE,)), "BIGINT"),
    ("COUNT(DISTINCT price)", Aggregate("COUNT_DISTINCT", (PRICE,)), "BIGINT"),
    ("COUNT_IF(ok)", Aggregate("COUNT_ROWS", (), Text('"ok"', "BOOLEAN")), "BIGINT"),
    (
        "COUNT_IF(ok) FILTER (WHERE price > 3)",
        Aggregate("COUNT_ROWS", (), Text('"ok" AND ("price" > 3)', "BOOLEAN")),
        "BIGINT",
    ),
    ("SUM(price)", Aggregate("SUM", (PRICE,)), "BIGINT"),
    ("SUM(n)", Aggregate("SUM", (Text('"n"', "INTEGER"),)), "BIGINT"),
    ("SUM(x)", Aggregate("SUM", (X,)), "DOUBLE"),
    ("SUM(cost)", Aggregate("SUM", (Text('"cost"', "DECIMAL(10,2)"),)), "DECIMAL(38,2)"),
    (
        "SUM(price) FILTER (WHERE 3 < price)",
        Aggregate("SUM", (PRICE,), Text('"price" > 3', "BOOLEAN")),
        "BIGINT",
    ),
    ("AVG(price)", Aggregate("AVG", (PRICE,)), "DOUBLE"),
    ("mean(x)", Aggregate("AVG", (X,)), "DOUBLE"),
    ("MIN(channel)", Aggregate("MIN", (Text('"channel"', "VARCHAR"),)), "VARCHAR"),
    ("MAX(at)", Aggregate("MAX", (Text('"at"', "TIMESTAMP"),)), "TIMESTAMP"),
    ("VAR_POP(x)", Aggregate("VAR_POP", (X,)), "DOUBLE"),
    ("variance(x)", Aggregate("VAR_SAMP", (X,)), "DOUBLE"),
    ("STDDEV_POP(x)", Aggregate("STDDEV_POP", (X,)), "DOUBLE"),
    ("std(x)", Aggregate("STDDEV_SAMP", (X,)), "DOUBLE"),
    ("every(ok)", Aggregate("BOOL_AND", (Text('"ok"', "BOOLEAN"),)), "BOOLEAN"),
    ("any(ok)", Aggregate("BOOL_OR", (Text('"ok"', "BOOLEAN"),)), "BOOLEAN"),
    ("some(price > 3)", Aggregate("BOOL_OR", (Text('"price" > 3', "BOOLEAN"),)), "BOOLEAN"),
    ("max_by(channel, price)", Aggregate("MAX_BY", (Text('"channel"', "VARCHAR"), PRICE)), "VARCHAR"),
    ("arg_min(channel, x)", Aggregate("MIN_BY", (Text('"channel"', "VARCHAR"), X)), "VARCHAR"),
    ("FIRST(price)", Aggregate("FIRST", (PRICE,)), "BIGINT"),
    (
        "first_value(price) IGNORE NULLS",
        Aggregate("FIRST", (PRICE,), Text('"price" IS NOT NULL', "BOOLEAN")),
        "BIGINT",
    ),
    (
        "last(price IGNORE NULLS)",
        Aggregate("LAST", (PRICE,), Text('"price" IS NOT NULL', "BOOLEAN")),
        "BIGINT",
    ),
    ("last(price, true)", Aggregate("LAST", (PRICE,), Text('"price" IS NOT NULL', "BOOLEAN")), "BIGINT"),
    ("last_value(price, false)", Aggregate("LAST", (PRICE,)), "BIGINT"),
    ("MEDIAN(price)", Aggregate("MEDIAN", (PRICE,)), "DOUBLE"),
    ("PERCENTILE(x, 0.950)", Aggregate("PERCENTILE", (X,), None, ("0.95",)), "DOUBLE"),
    ("PERCENTILE(x, 1)", Aggregate("PERCENTILE", (X,), None, ("1",)), "DOUBLE"),
    (
        "percentile_cont(0.25) WITHIN GROUP (ORDER BY x)",
        Aggregate("PERCENTILE", (X,), None, ("0.25",)),
        "DOUBLE",
    ),
    (
        "percentile_cont(0.25) WITHIN GROUP (ORDER BY x DESC)",
        Aggregate("PERCENTILE", (X,), None, ("0.75",)),
        "DOUBLE",
    ),
]
EQUAL = [
    ("SELECT price / 100 AS p, COUNT(*) AS n FROM bid GROUP BY price / 100, TUMBLE '1 minute'",
     "SELECT (price / 100) AS p, COUNT(*) AS n FROM bid GROUP BY p, TUMBLE '1 minute'"),
    ("SELECT price / 100 AS p, COUNT(*) AS n FROM bid GROUP BY price / 100, TUMBLE '1 minute'",
     "SELECT PRICE/100 AS p, COUNT(*) AS n FROM bid AS b GROUP BY 1, TUMBLE '1 minute'"),
    ("SELECT auction, SUM(price) AS s" + W + " HAVING SUM(price) > 10 AND COUNT(*) > 1",
     "SELECT auction, SUM(price) AS s" + W + " HAVING COUNT(1) > 1 AND 10 < s"),
    ("SELECT auction, SUM(price) AS s, SUM(price) + 1 AS t" + W, "SELECT auction, SUM(price) AS s, s + 1 AS t" + W),
    ("SELECT auction, MAX(price) AS price" + W + " HAVING MAX(price) > 3", "SELECT auction, MAX(price) AS price" + W + " HAVING price > 3"),
    ("SELECT COUNT(*) AS n FROM bid WHERE price > 1 AND ok GROUP BY TUMBLE '1 minute'",
     "select count(*) n from BID x where (X.OK) and not (x.Price <= 1) and ok group by tumble 60 seconds"),
    ("SELECT lower(channel) AS c, COUNT(*) AS n FROM bid GROUP BY lower(channel), TUMBLE '1 minute'",
     "SELECT LOWER( bid.CHANNEL ) AS c, COUNT(*) AS n FROM bid GROUP BY lcase(channel), TUMBLE '1 minute'"),
    ("SELECT auction" + W, "SELECT auction FROM bid GROUP BY auction, auction, TUMBLE '1 minute'"),
]  # fmt: skip
NAMES = [
    ("auction", "auction"),
    ("AUCTION", "auction"),
    ("b.auction", "auction"),
    ("auction AS a", "a"),
    ("auction `My Name`", "My Name"),
    ("COUNT( * )", "COUNT( * )"),
    ("SUM(price) /\n   COUNT(*)", "SUM(price) / COUNT(*)"),
    ("window_end", "window_end"),
    ("WINDOW_END", "window_end"),
    ("window.end", "end"),
    ("window", "window"),
    ("System.Window().Id", "window_id"),
    ("system.timestamp()", "window_end"),
    ("System.Timestamp", "window_end"),
]


def test_whole_query() -> None:
    text = """CREATE QUERY price_range INTO 'out' AS
      SELECT auction, window_id, MIN(price) AS low, (MAX(price) - MIN(price)) / 2 AS half
      FROM bid WHERE price > 0 GROUP BY auction, WINDOWS(TUMBLE '1 minute' AS 'one') HAVING COUNT(*) >= 3"""
    (statement,) = parse_script(text)
    assert isinstance(statement, CreateQuery)
    assert bind(
        statement.select, name=statement.name, into=statement.into, streams=STREAMS, infer=infer
    ) == windowed(
        name="price_range",
        text=statement.select.sql,
        stream="bid",
        where=(Text('"price" > 0', "BOOLEAN"),),
        keys=(Text('"auction"', "BIGINT"),),
        windows=(NamedWindow("one", Window(60 * SECOND, 60 * SECOND)),),
        aggregates=(Aggregate("MIN", (PRICE,)), Aggregate("MAX", (PRICE,)), Aggregate("COUNT_ROWS")),
        outputs=(
            output("auction", '"k0"', "BIGINT"),
            output("window_id", '"window_id"', "VARCHAR"),
            output("low", '"a0"', "BIGINT"),
            output("half", 'TRY("a1" - "a0") / 2', "DOUBLE"),
        ),
        having=Text('"a2" >= 3', "BOOLEAN"),
        into=Files("out"),
    )


@pytest.mark.parametrize(("call", "aggregate", "type_"), AGGREGATES)
def test_aggregate(call: str, aggregate: Aggregate, type_: str) -> None:
    query = bound(f"SELECT {call} AS v {W}")
    assert query.calls == (aggregate,)
    assert query.outputs == (output("v", '"a0"', type_),)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_queries(one: str, other: str) -> None:
    assert meaning(one) == meaning(other)


@pytest.mark.parametrize(("item", "name"), NAMES)
def test_name(item: str, name: str) -> None:
    assert bound(f"SELECT {item} FROM bid AS b GROUP BY auction, TUMBLE '1 minute'").outputs[0].name == name


def test_keys_in_the_order_of_group_by() -> None:
    query = bound(
        "SELECT COUNT(*), channel, n + 1, auction FROM bid GROUP BY n + 1, TUMBLE '1 minute', auction, channel"
    )
    assert [k.sql for k in query.keys] == ['TRY("n" + 1)', '"auction"', '"channel"']
    assert [o.sql for o in query.outputs] == ['"a0"', '"k2"', '"k0"', '"k1"']


def test_expressions_over_keys_and_aggregates() -> None:
    query = bound(
        "SELECT n + 1 + SUM(price) AS v, upper(channel) || '!' AS w FROM bid GROUP BY n + 1, upper(channel), TUMBLE '1 minute'"
    )
    assert [o.sql for o in query.outputs] == ['TRY("a0" + "k0")', "\"k1\" || '!'"]


def test_key_inside_a_call_of_a_key() -> None:
    query = bound("SELECT lower(channel) AS l FROM bid GROUP BY channel, lower(channel), TUMBLE '1 minute'")
    assert query.outputs[0].sql == '"k1"'


def test_window_struct() -> None:
    (found,) = bound("SELECT window FROM bid GROUP BY window(at, '1 minute')").outputs
    assert found == output(
        "window",
        "{'start': \"window_start\", 'end': \"window_end\"}",
        'STRUCT("start" TIMESTAMP, "end" TIMESTAMP)',
    )


def test_having_over_windows() -> None:
    query = bound(
        f"SELECT auction {W} HAVING window_end > window_start AND window_id = '1 minute' AND hour(window.start) = 3"
    )
    assert (
        str(query.having)
        == '("window_end" > "window_start") AND ("window_id" = \'1 minute\') AND (hour("window_start") = 3)'
    )


def test_aggregates_once_each() -> None:
    query = bound(
        f"SELECT SUM(price) / COUNT(*) AS r, sum(PRICE), COUNT(1) AS n, MAX(price) {W} HAVING MAX(price) > SUM(price)"
    )
    assert [a.function for a in query.calls] == ["SUM", "COUNT_ROWS", "MAX"]
    assert str(query.having) == '"a0" < "a2"'


def test_no_aggregate() -> None:
    assert bound("SELECT DATE(at) AS d FROM bid GROUP BY d, TUMBLE '1 day'").aggregates == ()


def test_binding_twice_is_equal() -> None:
    sql = "SELECT auction, COUNT(*) FROM bid WHERE price BETWEEN 1 AND 2 GROUP BY auction, TUMBLE '1 minute' HAVING NOT COUNT(*) > 3"
    (statement,) = parse_script(f"CREATE QUERY q AS {sql}")
    assert isinstance(statement, CreateQuery)
    once, twice = (
        bind(statement.select, name="q", into=None, streams=STREAMS, infer=infer) for _ in range(2)
    )
    assert once == twice
