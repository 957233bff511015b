"""Scripts to statements."""
# ruff: noqa: E501

import pytest
from sqlglot import exp

from thalweg.errors import SqlError
from thalweg.model.stream import Column, Relation, Stream
from thalweg.sql.statements import (
    CreateQuery,
    CreateStream,
    CreateTable,
    Drop,
    Explain,
    SetOption,
    Show,
    parse_script,
    parse_select,
    parse_statement,
)

SCRIPT = """\
-- bids; with a semicolon in a comment
CREATE STREAM bid (auction BIGINT, price DECIMAL(10, 2), at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'AT', watermark = '5 seconds', files_per_batch = 4);
create table person (id bigint, name string) with (format = 'csv', path = 'person.csv', header = true, delimiter = ';');
/* a query; */
CREATE QUERY q INTO 'out/q' AS
  SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 minute';;
SHOW queries
"""
SIMPLE = [
    ("DROP QUERY q", Drop("QUERY", "q")),
    ("drop stream bid;", Drop("STREAM", "bid")),
    ("DROP TABLE person", Drop("TABLE", "person")),
    ("DROP VIEW large", Drop("VIEW", "large")),
    ("SHOW QUERIES", Show("QUERIES")),
    ("show streams", Show("STREAMS")),
    ("SHOW PLAN", Show("PLAN")),
    ("SHOW STATISTICS -- now", Show("STATISTICS")),
    ("SET plan.windows = 'best'", SetOption("plan.windows", "best")),
    ("SET Plan.Early_Aggregation = EAP10", SetOption("plan.early_aggregation", "EAP10")),
    ("SET parallelism = 4", SetOption("parallelism", "4")),
    ("set a.b.c to true", SetOption("a.b.c", "true")),
    ("SET x = -1.5", SetOption("x", "-1.5")),
    ("EXPLAIN QUERY q", Explain(False, None, "q", "EXPLAIN QUERY q")),
    ("explain analyze query q ;", Explain(True, None, "q", "explain analyze query q")),
    ("EXPLAIN", Explain(False, None, None, "EXPLAIN")),
]


def test_script() -> None:
    stream, table, query, show = parse_script(SCRIPT, "app.sql")
    assert stream == CreateStream(
        Stream(
            "bid",
            (Column("auction", "BIGINT"), Column("price", "DECIMAL(10,2)"), Column("at", "TIMESTAMP")),
            time="at",
            delay=5_000_000,
            format="parquet",
            path="data/bid",
            files_per_batch=4,
        )
    )
    columns = (Column("id", "BIGINT"), Column("name", "VARCHAR"))
    assert table == CreateTable(
        Relation("person", columns, "csv", "person.csv", (("delimiter", ";"), ("header", "true")))
    )
    assert isinstance(query, CreateQuery)
    assert (query.name, query.into, query.select.origin) == ("q", "out/q", "app.sql")
    assert query.text.startswith("CREATE QUERY q") and query.text.endswith("TUMBLE '1 minute'")
    assert query.select.sql.startswith("SELECT auction") and query.select.sql.endswith("TUMBLE '1 minute'")
    assert query.select.text == SCRIPT
    assert isinstance(query.select.node, exp.Select)
    assert show == Show("QUERIES")


@pytest.mark.parametrize(("text", "statement"), SIMPLE)
def test_simple_statement(text: str, statement: object) -> None:
    assert parse_statement(text) == statement


@pytest.mark.parametrize("text", ["", "  \n", "-- nothing", ";;", "/* nothing */ ;"])
def test_empty_script(text: str) -> None:
    assert parse_script(text) == ()


def test_explain_select() -> None:
    explain = parse_statement("EXPLAIN ANALYZE SELECT 1 FROM bid")
    assert isinstance(explain, Explain) and explain.analyze and explain.query is None
    assert explain.select is not None and explain.select.sql == "SELECT 1 FROM bid"


def test_select_alone() -> None:
    with pytest.raises(SqlError) as caught:
        parse_script("SHOW PLAN;\n  SELECT 1 FROM bid")
    assert caught.value.message == "a SELECT alone has no result to keep"
    assert (caught.value.line, caught.value.column, caught.value.length) == (2, 3, 6)
    assert caught.value.hint is not None and "CREATE QUERY name AS" in caught.value.hint


def test_parse_select() -> None:
    select = parse_select(" SELECT 1 FROM bid ; ", "given")
    assert (select.sql, select.origin, select.source.origin) == ("SELECT 1 FROM bid", "given", "given")
    assert select == parse_select(" SELECT 1 FROM bid ; ", "given")


@pytest.mark.parametrize(
    "text", ["", "SHOW PLAN", "SELECT 1 FROM bid; SELECT 2 FROM bid", "CREATE QUERY q AS SELECT 1 FROM bid"]
)
def test_parse_select_of_something_else(text: str) -> None:
    with pytest.raises(SqlError, match="expected one SELECT"):
        parse_select(text)


def test_one_statement() -> None:
    with pytest.raises(SqlError, match="expected one statement, not 2"):
        parse_statement("SHOW PLAN; SHOW PLAN")


def test_clauses_of_joins_stay_in_the_tree() -> None:
    text = (
        "CREATE QUERY vt AS SELECT a.id, COUNT(*) AS n FROM bid AS b [RANGE 1 HOUR], auction a [UNBOUNDED], c [WINDOW UNTIL NOW], "
        "d [WINDOW 5 MINUTES], e [TUMBLE 10 SECONDS], person AS p WHERE a.id = b.id GROUP BY a.id HAVING COUNT(*) > 3 EVERY 1 MINUTE EMIT CHANGES"
    )
    (statement,) = parse_script(text)
    assert isinstance(statement, CreateQuery)
    node = statement.select.node
    tables = [node.args["from_"].this, *(j.this for j in node.args["joins"])]
    windows = [
        (t.args["window"].args["kind"], t.args["window"].args.get("duration"))
        if t.args.get("window")
        else None
        for t in tables
    ]
    assert [w and (w[0], w[1] and w[1].args["micros"] // 1_000_000) for w in windows] == [
        ("RANGE", 3600), ("UNBOUNDED", None), ("UNBOUNDED", None), ("RANGE", 300), ("TUMBLE", 10), None,
    ]  # fmt: skip
    assert [t.alias_or_name for t in tables] == ["b", "a", "c", "d", "e", "p"]
    assert node.args["every"].expressions[0].args["micros"] == 60_000_000
    assert node.args["emit"].name == "CHANGES"


NEW_WORDS = [
    "every",
    "emit",
    "hop",
    "tumble",
    "window_x",
    "stream",
    "query",
    "system",
    "range",
    "windows",
    "tumblingwindow",
]
OLD_WORDS = [
    "date",
    "timestamp",
    "time",
    "year",
    "month",
    "value",
    "key",
    "user",
    "type",
    "state",
    "name",
    "count",
    "max",
    "first",
    "last",
    "start",
]


@pytest.mark.parametrize("name", NEW_WORDS + OLD_WORDS)
def test_words_stay_names(name: str) -> None:
    (statement,) = parse_script(
        f"CREATE STREAM s ({name} BIGINT, at TIMESTAMP) WITH (format = 'json', path = 'p', time = 'at')"
    )
    assert isinstance(statement, CreateStream) and statement.stream.columns[0].name == name
    parse_script(
        f"EXPLAIN SELECT {name}, MAX({name}) AS {name} FROM s AS {name} WHERE {name} > 1 GROUP BY {name}, TUMBLE '1 minute'"
    )
