"""Joins: inputs and their windows, conditions by what they read, keys, aggregates and results."""

import itertools

import pytest
from sql_support import JOINED_STREAMS, RELATIONS, infer, joined

from thalweg.model.query import (
    PASSING,
    RANGE,
    STATIC,
    TUMBLE,
    UNBOUNDED,
    Aggregate,
    ColumnRef,
    Equality,
    Query,
    QueryAggregate,
    QueryInput,
)
from thalweg.model.windows import SECOND
from thalweg.sql.binder import bind
from thalweg.sql.statements import CreateQuery, CreateStream, CreateTable, parse_script, parse_select
from thalweg.testing.texts import Text, output, term

HOUR, MINUTE = 3600 * SECOND, 60 * SECOND
F = "FROM bid AS b [RANGE 1 HOUR], auction AS a [UNBOUNDED]"
FP = F + ", person AS p"
END = output("window_end", '"window_end"', "TIMESTAMP")
DELETED = output("deleted", '"deleted"', "BOOLEAN")
B_AUCTION = term('"b.auction"', "BIGINT", (ColumnRef(0, "auction"),), '"auction"')
A_ID = term('"a.id"', "BIGINT", (ColumnRef(1, "id"),), '"id"')


def where(condition: str, source: str = F) -> Query:
    """A join of rows under some condition."""
    return joined(f"SELECT b.price {source} WHERE {condition}")


@pytest.mark.parametrize(
    "text", ["FROM bid WHERE price > 3", "FROM bid AS b, person AS p WHERE p.id = b.bidder AND b.price > 3"]
)
def test_rows_of_one_stream_need_no_window(text: str) -> None:
    query = joined(f"SELECT auction, price + 1 AS more {text}")
    (stream, *tables) = query.inputs
    assert (stream.kind, stream.length, [c.sql for c in stream.where]) == (PASSING, None, ['"price" > 3'])
    assert (
        all(t.kind == STATIC for t in tables) and query.passes and query.every is None and not query.windows
    )
    assert [(o.name, o.type) for o in query.outputs] == [("auction", "BIGINT"), ("more", "BIGINT")]


def test_a_star_is_every_column_of_the_stream() -> None:
    assert [o.name for o in joined("SELECT * FROM bid").outputs] == [
        c.name for c in JOINED_STREAMS["bid"].columns
    ]


def test_whole_query() -> None:
    sql = (
        f"SELECT a.id, COUNT(*) AS n, SUM(price * start) / MAX(b.price) AS r {FP} WHERE a.id = b.auction AND a.seller = p.id "
        "AND p.state = 'VT' AND b.x < a.start GROUP BY a.id HAVING n > 3 EVERY 30 SECONDS EMIT CHANGES"
    )
    assert joined(sql) == Query(
        name="q",
        text=sql,
        inputs=(
            QueryInput("b", "bid", RANGE, HOUR),
            QueryInput("a", "auction", UNBOUNDED),
            QueryInput("p", "person", STATIC, None, (Text("\"state\" = 'VT'", "BOOLEAN"),)),
        ),
        equalities=(
            Equality(B_AUCTION, A_ID),
            Equality(
                term(
                    'TRY_CAST("a.Seller" AS BIGINT)',
                    "BIGINT",
                    (ColumnRef(1, "Seller"),),
                    'TRY_CAST("Seller" AS BIGINT)',
                ),
                term('"p.id"', "BIGINT", (ColumnRef(2, "id"),), '"id"'),
            ),
        ),
        residue=(term('"a.start" > "b.x"', "BOOLEAN", (ColumnRef(0, "x"), ColumnRef(1, "start"))),),
        outputs=(
            output("id", '"k0"', "BIGINT"),
            output("n", '"a0"', "BIGINT"),
            output("r", '"a1" / nullif("a2", 0)', "DOUBLE"),
            END,
            DELETED,
        ),
        keys=(A_ID,),
        aggregates=(
            QueryAggregate(Aggregate("COUNT_ROWS")),
            QueryAggregate(
                Aggregate("SUM", (Text('TRY("a.start" * "b.price")', "DECIMAL(27,2)"),)),
                None,
                (ColumnRef(0, "price"), ColumnRef(1, "start")),
            ),
            QueryAggregate(Aggregate("MAX", (Text('"price"', "BIGINT"),)), 0),
        ),
        having=Text('"a0" > 3', "BOOLEAN"),
        every=30 * SECOND,
        changes=True,
    )


DECLARED = """
CREATE STREAM ClinkPacket (id BIGINT, source STRING, destination STRING, length INT, time TIMESTAMP)
  WITH (format = 'parquet', path = 'data/c', time = 'time');
CREATE STREAM BlinkPacket (id BIGINT, source STRING, destination STRING, length INT, time TIMESTAMP)
  WITH (format = 'parquet', path = 'data/b', time = 'time');
CREATE STREAM Bid (timestamp TIMESTAMP, auctionID BIGINT, bidderID BIGINT, bidPrice DOUBLE)
  WITH (format = 'parquet', path = 'data/bid', time = 'timestamp');
CREATE STREAM Auction (timestamp TIMESTAMP, auctionID BIGINT, seller BIGINT, startPrice DOUBLE)
  WITH (format = 'parquet', path = 'data/auction', time = 'timestamp');
CREATE TABLE Person (personID BIGINT, name STRING, state STRING) WITH (format = 'csv', path = 'data/person.csv');
CREATE QUERY example_1 AS
SELECT c.source, COUNT(*)
FROM ClinkPacket AS c [WINDOW 1 HOUR],

BlinkPacket AS b [WINDOW 1 HOUR]
WHERE c.source = b.source

AND c.destination = b.destination
AND c.id = b.id

GROUP BY c.source;
CREATE QUERY example_2 AS
SELECT a.auctionID, COUNT(b.*)
FROM Bid AS b [WINDOW 1 HOUR],

Auction AS a [WINDOW UNTIL NOW],
Person AS p

WHERE a.auctionID = b.auctionID
AND a.seller = p.personID
AND p.state= "VT"

GROUP BY a.auctionID;
"""


def test_examples_of_the_early_aggregation_paper() -> None:
    statements = parse_script(DECLARED)
    streams = {s.stream.name: s.stream for s in statements if isinstance(s, CreateStream)}
    relations = {s.relation.name: s.relation for s in statements if isinstance(s, CreateTable)}
    one, two = (
        bind(s.select, name=s.name, into=s.into, streams=streams, infer=infer, relations=relations)
        for s in statements
        if isinstance(s, CreateQuery)
    )
    assert isinstance(one, Query) and isinstance(two, Query)
    assert one.inputs == (
        QueryInput("c", "ClinkPacket", RANGE, HOUR),
        QueryInput("b", "BlinkPacket", RANGE, HOUR),
    )
    assert [(e.left.own, e.right.own) for e in one.equalities] == [
        (f'"{c}"', f'"{c}"') for c in ("destination", "id", "source")
    ]
    assert [k.sql for k in one.keys] == ['"c.source"']
    assert one.outputs == (output("source", '"k0"', "VARCHAR"), output("COUNT(*)", '"a0"', "BIGINT"), END)
    assert (one.every, one.changes, one.streams, one.relations) == (
        MINUTE,
        False,
        ("ClinkPacket", "BlinkPacket"),
        (),
    )
    assert two.inputs == (
        QueryInput("b", "Bid", RANGE, HOUR),
        QueryInput("a", "Auction", UNBOUNDED),
        QueryInput("p", "Person", STATIC, None, (Text("\"state\" = 'VT'", "BOOLEAN"),)),
    )
    assert [(e.left.sql, e.right.sql) for e in two.equalities] == [
        ('"b.auctionID"', '"a.auctionID"'),
        ('"a.seller"', '"p.personID"'),
    ]
    assert two.aggregates == (QueryAggregate(Aggregate("COUNT_ROWS")),)
    assert two.outputs == (output("auctionID", '"k0"', "BIGINT"), output("COUNT(b.*)", '"a0"', "BIGINT"), END)
    assert (two.every, two.residue, two.having) == (MINUTE, (), None)


# --- inputs


def test_kinds_of_windows() -> None:
    query = joined(
        "SELECT 1 AS one FROM bid a [RANGE '1 minute'], bid b [WINDOW 2 HOURS], bid c [UNBOUNDED], bid d [WINDOW UNTIL NOW], person"
    )
    assert [(i.alias, i.kind, i.length) for i in query.inputs] == [
        ("a", RANGE, MINUTE), ("b", RANGE, 2 * HOUR), ("c", UNBOUNDED, None), ("d", UNBOUNDED, None), ("person", STATIC, None),
    ]  # fmt: skip
    assert (query.streams, query.relations) == (("bid",), ("person",))


def test_tumbling_windows() -> None:
    query = joined(
        "SELECT COUNT(*) FROM bid b [TUMBLE 10 SECONDS], auction [TUMBLE '10 seconds'], person EVERY 10 SECONDS"
    )
    assert [(i.alias, i.kind, i.length) for i in query.inputs] == [
        ("b", TUMBLE, 10 * SECOND), ("auction", TUMBLE, 10 * SECOND), ("person", STATIC, None),
    ]  # fmt: skip
    assert query.every == 10 * SECOND


def test_names_keep_their_case_of_from_and_of_the_declaration() -> None:
    query = joined(
        "SELECT B.PRICE, SELLER FROM BID AS B [RANGE 1 HOUR], Auction [UNBOUNDED] WHERE b.BIDDER = auction.ID"
    )
    assert [(i.alias, i.source) for i in query.inputs] == [("B", "bid"), ("Auction", "auction")]
    assert [(o.name, o.sql) for o in query.outputs] == [
        ("price", '"B.price"'),
        ("Seller", '"Auction.Seller"'),
    ]
    assert (query.equalities[0].left.sql, query.equalities[0].right.sql) == ('"B.Bidder"', '"Auction.id"')


def test_timestamp_by() -> None:
    query = joined(
        "SELECT COUNT(*) FROM bid TIMESTAMP BY at [RANGE 1 HOUR], auction a TIMESTAMP BY AT [UNBOUNDED]"
    )
    assert [i.alias for i in query.inputs] == ["bid", "a"]


def test_one_stream() -> None:
    query = joined(
        "SELECT auction, COUNT(*) AS n FROM bid [RANGE 1 HOUR] WHERE ok AND price > 3 GROUP BY auction EVERY 1 MINUTE"
    )
    assert query.inputs == (
        QueryInput("bid", "bid", RANGE, HOUR, (Text('"ok"', "BOOLEAN"), Text('"price" > 3', "BOOLEAN"))),
    )
    assert query.keys == (term('"bid.auction"', "BIGINT", (ColumnRef(0, "auction"),), '"auction"'),)
    assert (query.equalities, query.residue, query.every) == ((), (), MINUTE)


def test_windows_in_group_by_are_no_join() -> None:
    select = parse_select("SELECT COUNT(*) FROM bid GROUP BY TUMBLE '1 minute'")
    assert isinstance(
        bind(select, name="q", into=None, streams=JOINED_STREAMS, infer=infer, relations=RELATIONS), Query
    )


def test_odd_names() -> None:
    query = joined(
        'SELECT `a"b`.price FROM bid AS `a"b` [RANGE 1 HOUR], auction AS `x y` [UNBOUNDED] WHERE `x y`.id = auction'
    )
    assert query.outputs == (output("price", '"a""b.price"', "BIGINT"),)
    assert query.equalities[0].right.sql == '"x y.id"'


# --- conditions


@pytest.mark.parametrize(
    "source",
    [
        f"{F} WHERE a.id = b.auction AND ok",
        f"{F} WHERE b.auction = a.id AND TRUE AND (ok AND b.auction = a.id)",
        f"{F} WHERE a.id IN (b.auction) AND ok",
        "FROM bid AS b [RANGE 1 HOUR] JOIN auction AS a [UNBOUNDED] ON a.id = auction AND ok",
        "FROM bid AS b [RANGE 1 HOUR] INNER JOIN auction AS a [UNBOUNDED] ON ok WHERE id = auction",
        "FROM bid AS b [RANGE 1 HOUR] CROSS JOIN auction AS a [UNBOUNDED] WHERE (id = auction) AND b.OK",
        "FROM bid AS b [WINDOW '60 minutes'] JOIN auction AS a [WINDOW UNTIL NOW] WHERE ok AND NOT id <> auction",
    ],
)
def test_equal_meaning(source: str) -> None:
    query = joined(f"SELECT b.price {source}")
    assert (query.equalities, query.residue) == ((Equality(B_AUCTION, A_ID),), ())
    assert query.inputs == (
        QueryInput("b", "bid", RANGE, HOUR, (Text('"ok"', "BOOLEAN"),)),
        QueryInput("a", "auction", UNBOUNDED),
    )


def test_order_of_conditions_does_not_matter() -> None:
    conditions = (
        "a.id = b.auction",
        "b.url = a.url",
        "b.x < a.start",
        "b.n + a.seller > 3",
        "price > 1",
        "ok",
    )
    first = where(" AND ".join(conditions))
    for order in itertools.islice(itertools.permutations(conditions), 0, 720, 97):
        query = where(" AND ".join(order))
        assert (query.inputs, query.equalities, query.residue) == (
            first.inputs,
            first.equalities,
            first.residue,
        )


@pytest.mark.parametrize(
    ("condition", "residue"),
    [
        ("a.id <=> b.auction", '"a.id" IS NOT DISTINCT FROM "b.auction"'),
        ("a.id = b.auction OR ok", '"b.ok" OR ("a.id" = "b.auction")'),
        ("a.id = b.auction + a.seller", '"a.id" = TRY("a.Seller" + "b.auction")'),
        ("a.id + b.auction = 3", 'TRY("a.id" + "b.auction") = 3'),
        ("a.at BETWEEN b.at AND b.at + INTERVAL 1 HOUR", '"a.at" <= TRY("b.at" + INTERVAL \'1 hour\')'),
        ("1 = 2", "1 = 2"),
        ("FALSE", "FALSE"),
    ],
)
def test_residue(condition: str, residue: str) -> None:
    query = where(condition)
    assert not query.equalities and not any(i.where for i in query.inputs)
    term = query.residue[0]
    assert (term.sql, term.type, term.own) == (residue, "BOOLEAN", None)


def test_true_is_dropped() -> None:
    query = where("TRUE AND (TRUE)")
    assert (query.residue, query.inputs[0].where) == ((), ())


@pytest.mark.parametrize(
    ("condition", "left", "right", "type_"),
    [
        ("b.n = a.seller", '"b.n"', '"a.Seller"', "INTEGER"),
        ("a.seller = b.small", 'TRY_CAST("b.small" AS INTEGER)', '"a.Seller"', "INTEGER"),
        (
            "b.price = a.start",
            'TRY_CAST("b.price" AS DECIMAL(21,2))',
            'TRY_CAST("a.start" AS DECIMAL(21,2))',
            "DECIMAL(21,2)",
        ),
        ("b.x = a.id", '"b.x"', 'TRY_CAST("a.id" AS DOUBLE)', "DOUBLE"),
        ("b.day = a.at", 'TRY_CAST("b.day" AS TIMESTAMP)', '"a.at"', "TIMESTAMP"),
        ("lower(a.url) = b.channel || 'x'", "\"b.channel\" || 'x'", 'lower("a.url")', "VARCHAR"),
        ("a.id + 1 = b.price - b.n", 'TRY("b.price" - "b.n")', 'TRY("a.id" + 1)', "BIGINT"),
    ],
)
def test_sides_of_an_equality_are_of_one_type(condition: str, left: str, right: str, type_: str) -> None:
    (equality,) = where(condition).equalities
    assert (equality.left.sql, equality.right.sql) == (left, right)
    assert (equality.left.type, equality.right.type) == (type_, type_)
    assert (equality.left.own, equality.right.own) == (left.replace('"b.', '"'), right.replace('"a.', '"'))
    assert (equality.left.inputs, equality.right.inputs) == ((0,), (1,))


def test_conditions_of_a_self_join() -> None:
    query = joined(
        "SELECT x.price FROM bid x [RANGE 1 HOUR] JOIN bid y [RANGE 1 HOUR] ON x.auction = y.auction AND x.price < y.price AND y.ok"
    )
    assert [i.where for i in query.inputs] == [(), (Text('"ok"', "BOOLEAN"),)]
    assert [(e.left.sql, e.right.sql) for e in query.equalities] == [('"x.auction"', '"y.auction"')]
    assert [t.sql for t in query.residue] == ['"x.price" < "y.price"']


def test_a_unit_of_time_is_no_column() -> None:
    query = where("timestampdiff(MINUTE, b.at, b.day) > 3")
    assert len(query.inputs[0].where) == 1


# --- USING


U = "FROM auction a [RANGE 1 HOUR] JOIN person p USING (ID)"


def test_using_is_an_equality_and_one_column() -> None:
    query = joined(f"SELECT id, name {U} WHERE id > 3")
    assert [(e.left.sql, e.right.sql) for e in query.equalities] == [('"a.id"', '"p.id"')]
    assert query.outputs == (output("id", '"a.id"', "BIGINT"), output("name", '"p.name"', "VARCHAR"))
    assert query.inputs[0].where == (Text('"id" > 3', "BOOLEAN"),)


def test_star_with_using() -> None:
    names = [o.sql for o in joined(f"SELECT * {U}").outputs]
    assert names == ['"a.id"', '"a.Seller"', '"a.start"', '"a.url"', '"a.at"', '"p.name"', '"p.state"']
    query = joined(
        "SELECT x.*, name FROM auction x [RANGE 1 HOUR] JOIN auction y [RANGE 1 HOUR] USING (at, id) JOIN person USING (id)"
    )
    assert [(e.left.sql, e.right.sql) for e in query.equalities] == [
        ('"x.at"', '"y.at"'), ('"x.id"', '"y.id"'), ('"x.id"', '"person.id"'),
    ]  # fmt: skip


def test_using_sees_only_its_side_of_a_comma() -> None:
    query = joined(
        "SELECT p.name FROM auction x [RANGE 1 HOUR], auction y [RANGE 1 HOUR] JOIN person p USING (id)"
    )
    assert [(e.left.sql, e.right.sql) for e in query.equalities] == [('"y.id"', '"p.id"')]


# --- rows


def test_rows() -> None:
    query = joined(f"SELECT b.price AS p, a.start * 2, p.name, x + start AS s {FP} WHERE a.id = b.auction")
    assert query.outputs == (
        output("p", '"b.price"', "BIGINT"),
        output("a.start * 2", 'TRY("a.start" * 2)', "DECIMAL(18,2)"),
        output("name", '"p.name"', "VARCHAR"),
        output("s", '"a.start" + "b.x"', "DOUBLE"),
    )
    assert query.columns == (
        ColumnRef(0, "price"),
        ColumnRef(0, "x"),
        ColumnRef(1, "start"),
        ColumnRef(2, "name"),
    )
    assert (query.every, query.keys, query.aggregates, query.having, query.changes) == (
        None,
        (),
        (),
        None,
        False,
    )


def test_rows_of_tumbling_windows() -> None:
    assert joined("SELECT price FROM bid [TUMBLE 1 HOUR], auction [TUMBLE 1 HOUR]").every is None


def test_stars() -> None:
    query = joined("SELECT p.*, b.price FROM bid b [RANGE 1 HOUR] JOIN person p ON p.id = b.auction")
    assert [(o.name, o.sql) for o in query.outputs] == [
        ("id", '"p.id"'),
        ("name", '"p.name"'),
        ("state", '"p.state"'),
        ("price", '"b.price"'),
    ]
    star = joined("SELECT * FROM bid b [RANGE 1 HOUR], person p")
    assert [o.sql for o in star.outputs][-3:] == ['"p.id"', '"p.name"', '"p.state"']
    assert len(star.outputs) == len(star.columns) == 16


def test_names_of_earlier_results() -> None:
    query = joined(f"SELECT price + start AS s, s * 2 AS t, price AS q {F}")
    assert query.outputs[1].sql == 'TRY(TRY("a.start" + "b.price") * 2)'
    assert query.columns == (ColumnRef(0, "price"), ColumnRef(1, "start"))


# --- aggregates


@pytest.mark.parametrize(
    ("call", "aggregate"),
    [
        ("COUNT(*)", QueryAggregate(Aggregate("COUNT_ROWS"))),
        ("COUNT(1)", QueryAggregate(Aggregate("COUNT_ROWS"))),
        ("COUNT(b.*)", QueryAggregate(Aggregate("COUNT_ROWS"))),
        (
            "COUNT(*) FILTER (WHERE ok)",
            QueryAggregate(Aggregate("COUNT_ROWS", (), Text('"ok"', "BOOLEAN")), 0),
        ),
        ("COUNT(a.start)", QueryAggregate(Aggregate("COUNT", (Text('"start"', "DECIMAL(8,2)"),)), 1)),
        (
            "COUNT(DISTINCT p.state)",
            QueryAggregate(Aggregate("COUNT_DISTINCT", (Text('"state"', "VARCHAR"),)), 2),
        ),
        ("SUM(price + n)", QueryAggregate(Aggregate("SUM", (Text('TRY("n" + "price")', "BIGINT"),)), 0)),
        ("SUM(1)", QueryAggregate(Aggregate("SUM", (Text("1", "INTEGER"),)))),
        (
            "SUM(price) FILTER (WHERE name = 'x')",
            QueryAggregate(
                Aggregate("SUM", (Text('"b.price"', "BIGINT"),), Text("\"p.name\" = 'x'", "BOOLEAN")),
                None,
                (ColumnRef(0, "price"), ColumnRef(2, "name")),
            ),
        ),
        (
            "MAX_BY(b.url, a.at)",
            QueryAggregate(
                Aggregate("MAX_BY", (Text('"b.url"', "VARCHAR"), Text('"a.at"', "TIMESTAMP"))),
                None,
                (ColumnRef(0, "url"), ColumnRef(1, "at")),
            ),
        ),
    ],
)
def test_aggregate(call: str, aggregate: QueryAggregate) -> None:
    query = joined(f"SELECT {call} AS v {FP}")
    assert query.aggregates == (aggregate,)
    assert [(o.name, o.sql) for o in query.outputs] == [("v", '"a0"'), ("window_end", '"window_end"')]
    assert query.columns == ()


def test_aggregates_once_each() -> None:
    query = joined(
        f"SELECT SUM(price), SUM(b.PRICE) + COUNT(b.*) AS s, COUNT(*) AS n {F} HAVING COUNT(a.*) > 1"
    )
    assert [a.call.function for a in query.aggregates] == ["SUM", "COUNT_ROWS"]
    assert str(query.having) == '"a1" > 1'


def test_keys_by_position_alias_and_expression() -> None:
    for group in ("a.id, lower(channel)", "1, c", "id, 2", "a.id, c, 1, window_end"):
        query = joined(f"SELECT a.id, lower(channel) AS c, COUNT(*) AS n {F} GROUP BY {group}")
        assert [k.sql for k in query.keys] == ['"a.id"', 'lower("b.channel")']
        assert [k.own for k in query.keys] == ['"id"', 'lower("channel")']
        assert [o.sql for o in query.outputs] == ['"k0"', '"k1"', '"a0"', '"window_end"']


def test_key_over_several_inputs() -> None:
    (key,) = joined(f"SELECT x + start AS s {F} GROUP BY s").keys
    assert key == term('"a.start" + "b.x"', "DOUBLE", (ColumnRef(0, "x"), ColumnRef(1, "start")))


def test_having_alone_aggregates() -> None:
    query = joined(f"SELECT 1 AS one {F} HAVING COUNT(*) > 3")
    assert (str(query.having), query.every) == ('"a0" > 3', MINUTE)


def test_alias_in_having_goes_before_an_ambiguous_column() -> None:
    assert joined(f"SELECT MAX(a.at) AS at {F} HAVING at > MIN(b.at)").having == Text(
        '"a0" > "a1"', "BOOLEAN"
    )


@pytest.mark.parametrize(
    ("items", "outputs"),
    [
        ("COUNT(*) AS n", ["n", "window_end"]),
        ("window_end, COUNT(*) AS n", ["window_end", "n"]),
        ("COUNT(*) AS n, window_end AS t", ["n", "t"]),
        ("System.Timestamp() AS t, COUNT(*) AS n", ["t", "n"]),
        ("window.end, COUNT(*) AS n", ["end", "n"]),
        ("hour(window_end) AS h, COUNT(*) AS n", ["h", "n", "window_end"]),
    ],
)
def test_the_instant_is_a_result(items: str, outputs: list[str]) -> None:
    assert [o.name for o in joined(f"SELECT {items} {F}").outputs] == outputs


def test_emit() -> None:
    assert joined(f"SELECT COUNT(*) {F} EMIT FINAL") != joined(f"SELECT COUNT(*) {F} EMIT CHANGES")
    assert joined(f"SELECT COUNT(*) {F} EMIT FINAL").outputs[-1] == END
    query = joined(f"SELECT COUNT(*) {F} EMIT CHANGES EVERY 5 SECONDS")
    assert (query.changes, query.every, query.outputs[-2:]) == (True, 5 * SECOND, (END, DELETED))


@pytest.mark.parametrize(
    ("windows", "every"),
    [
        (("RANGE 1 HOUR",), MINUTE),
        (("RANGE 1 HOUR", "RANGE 90 MINUTES"), 30 * SECOND),
        (("RANGE 1 HOUR", "UNBOUNDED"), MINUTE),
        (("UNBOUNDED", "UNBOUNDED"), MINUTE),
        (("RANGE 60 MILLISECONDS",), 1000),
        (("RANGE 50 MILLISECONDS",), 5000),
        (("RANGE 7 MICROSECONDS",), 7),
        (("TUMBLE 10 SECONDS", "TUMBLE 10 SECONDS"), 10 * SECOND),
    ],
)
def test_default_of_every(windows: tuple[str, ...], every: int) -> None:
    inputs = ", ".join(f"bid b{i} [{w}]" for i, w in enumerate(windows))
    assert joined(f"SELECT COUNT(*) FROM {inputs}").every == every


def test_binding_twice_is_equal() -> None:
    select = parse_select(
        f"SELECT a.id, SUM(price * start) {FP} WHERE a.id = b.auction AND NOT a.seller <> p.id GROUP BY 1"
    )
    once, twice = (
        bind(select, name="q", into=None, streams=JOINED_STREAMS, infer=infer, relations=RELATIONS)
        for _ in range(2)
    )
    assert once == twice and hash(once) == hash(twice)
