"""Subqueries in FROM and WITH: what filters and projects becomes part of the query around it, and all else is refused by name."""
# ruff: noqa: E501

import pytest
from sql_support import join_failure, joined, marked

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


BAD = [
    ("SELECT a FROM (SELECT auction AS a, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 day') x", "an aggregate in FROM is not supported", "GROUP BY auction, TUMBLE '1 day'", "create it as a query INTO 'dir'"),
    ("SELECT a FROM (SELECT MAX(auction) AS a FROM bid) x", "an aggregate in FROM is not supported", "MAX(auction) AS a", "create it as a query"),
    ("SELECT auction FROM (SELECT DISTINCT auction FROM bid) x", "SELECT DISTINCT in FROM is not supported", "DISTINCT", "group by the columns"),
    ("SELECT auction FROM (SELECT auction FROM bid LIMIT 3) x", "LIMIT in FROM is not supported", "LIMIT 3", "results are a stream"),
    ("SELECT auction FROM (SELECT auction FROM bid UNION ALL SELECT id FROM auction) x", "UNION in FROM is not supported", "UNION", "write a query for each part"),
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
    ("SELECT auction FROM bid WHERE price IN (SELECT id FROM person)", "a subquery in IN is not supported", "price IN (SELECT id FROM person)", "join what it reads"),
    ("SELECT x.auction FROM (SELECT auction FROM bid) x JOIN person p USING (id)", "USING with a subquery or a view is not supported", "JOIN person p USING (id)", "write ON"),
    ("SELECT x.auction FROM (SELECT auction FROM bid [RANGE 1 DAY]) x [RANGE 1 DAY], person", "the stream has a window inside already", "[RANGE 1 DAY]", "keep one"),
    ("SELECT x.price FROM (SELECT b.price FROM bid b [RANGE 1 DAY], auction a [RANGE 1 DAY]) x, bid c [RANGE 1 DAY]", "joined rows can't be joined with another stream", "(SELECT", "write one join"),
    ("SELECT x.price FROM (SELECT b.price FROM bid b [RANGE 1 DAY], auction a [RANGE 1 DAY]) x [RANGE 1 DAY], person", "a window of joined rows is not supported", "[RANGE 1 DAY]", "write a window after each"),
    ("SELECT x.price FROM (SELECT b.price FROM bid b LEFT JOIN person p ON p.id = b.auction) x", "LEFT JOIN is not supported", "LEFT JOIN", "only inner joins are"),
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
