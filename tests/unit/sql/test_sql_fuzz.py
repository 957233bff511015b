"""Whatever the text, only SqlError comes out."""
# ruff: noqa: E501

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sql_support import JOINED_STREAMS, RELATIONS, infer

from thalweg.errors import SqlError
from thalweg.sql.binder import bind
from thalweg.sql.dialect import Thalweg
from thalweg.sql.statements import CreateQuery, Explain, parse_script

SCRIPTS = [
    "CREATE STREAM bid (auction BIGINT, price DECIMAL(10,2), at TIMESTAMP) WITH (format = 'csv', path = 'data', time = 'at', "
    "watermark = INTERVAL '5' SECONDS, idle_timeout = 10 seconds, header = true, delimiter = ';');",
    "CREATE QUERY q INTO 'out' AS SELECT auction, window_id, MIN(price) AS low, SUM(price) / COUNT(*) AS r FROM bid AS b "
    "WHERE price BETWEEN 1 AND 5 AND NOT b.channel LIKE 'a\\\\_%' OR ok IS NOT TRUE GROUP BY auction, "
    "WINDOWS(TUMBLE '1 minute', TUMBLE '5 minutes' AS 'five', HOP '1 hour' BY '10 minutes' OFFSET '5 minutes') HAVING COUNT(*) > 3",
    "EXPLAIN SELECT window.start, window(at, '10 minutes', '5 minutes').end, CASE WHEN ok THEN cast(x AS int) ELSE -n END AS c, "
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY x), COUNT(DISTINCT price) FILTER (WHERE ok) "
    "FROM bid GROUP BY c, window(at, '10 minutes', '5 minutes')",
    "EXPLAIN ANALYZE SELECT System.Window().Id, System.Timestamp(), if(n > 1, 'a', \"b\") || concat(channel, 1), date_trunc('hour', at) AS h, "
    "trim(BOTH ' ' FROM url), substring(url, 1, 2), extract(hour FROM at), x IN (1, 2.5, 3e2), at + INTERVAL 1 HOUR "
    "FROM bid TIMESTAMP BY at GROUP BY h, channel, n, url, x, at, Windows(Window('a', TumblingWindow(minute, 20)), Window('b', HoppingWindow(minute, 10, 5)))",
    "EXPLAIN SELECT a.id FROM bid AS b [RANGE 1 HOUR], auction a [UNBOUNDED] JOIN p ON a.id = b.id WHERE a.id <=> b.id "
    "GROUP BY a.id, TUMBLE '1 minute' EVERY 1 MINUTE EMIT CHANGES; DROP QUERY q; SHOW PLAN; SET plan.windows = 'best'; EXPLAIN ANALYZE QUERY q",
    'EXPLAIN SELECT a.id, COUNT(b.*) AS n, MAX(price * a.start) FILTER (WHERE name <> "x"), window_end FROM bid AS b [RANGE 1 HOUR], auction a '
    "TIMESTAMP BY at [UNBOUNDED] INNER JOIN person p ON a.Seller = p.id AND p.state LIKE 'V%' WHERE b.auction = a.id AND b.x < a.start "
    "AND NOT b.url <> a.url GROUP BY 1 HAVING n > 3 AND window_end > MAX(b.at) EVERY 1 MINUTE EMIT CHANGES",
    "EXPLAIN SELECT p.*, b.price + start AS s, s * 2 AS t FROM bid b [TUMBLE 10 SECONDS] CROSS JOIN auction [TUMBLE 10 SECONDS] JOIN person p USING (id) "
    "JOIN bid c [TUMBLE 10 SECONDS] ON c.at = b.at WHERE b.at <=> auction.at AND TRUE",
    "EXPLAIN SELECT p.*, b.price FROM auction a [WINDOW 1 HOUR] JOIN person AS p USING (id), bid b [WINDOW UNTIL NOW] WHERE b.n IN (a.seller)",
]
TOKENS = [[script[t.start : t.end + 1] for t in Thalweg().tokenize(script)] for script in SCRIPTS]
WORDS = [
    *sorted({t for tokens in TOKENS for t in tokens}),
    "SELECT", "FROM", "(", ")", "[", "]", "{", "}", "<", ">", "->", "::", "||", "?", "@", "$", ":", ".", "*", "'", '"', "`", "\\", "NULL",
    "INTERVAL", "UNION", "OVER", "LATERAL", "VALUES", "PIVOT", "WITH", "DATE", "ARRAY", "MAP", "STRUCT", "IN", "IS", "NOT", "BETWEEN", "LIKE",
    "ESCAPE", "CASE", "END", "CAST", "AS", "DISTINCT", "1e999", "0x1F", "9" * 40, "1L", "1BD", "r'x'", "X'1F'", "/*", "*/", "--", "/*+", "|>", "\n", ";",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid script with tokens deleted, doubled, swapped, replaced and inserted."""
    tokens = list(draw(st.sampled_from(TOKENS)))
    for _ in range(draw(st.integers(1, 4))):
        i, j = (draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        match draw(st.sampled_from(["delete", "double", "swap", "replace", "insert", "cut", "characters"])):
            case "delete" if len(tokens) > 1:
                del tokens[i]
            case "double":
                tokens.insert(i, tokens[i])
            case "swap":
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case "replace":
                tokens[i] = draw(st.sampled_from(WORDS))
            case "insert":
                tokens.insert(i, draw(st.sampled_from(WORDS)))
            case "cut":
                tokens = tokens[: i + 1]
            case "characters":
                tokens[i] += draw(st.text(max_size=3))
    return draw(st.sampled_from([" ", " ", "\n", ""])).join(tokens)


def check(text: str) -> None:
    """Parse and bind; an error must be a SqlError whose place is in the text, and can be shown."""
    try:
        for statement in parse_script(text, "fuzz.sql"):
            select = statement.select if isinstance(statement, CreateQuery | Explain) else None
            if select is not None:
                bind(select, name="q", into=None, streams=JOINED_STREAMS, infer=infer, relations=RELATIONS)
    except SqlError as error:
        assert error.line is not None and error.column is not None and error.column >= 1
        assert 1 <= error.line <= len((text + "x").splitlines())
        assert error.message and str(error)
        assert error.message != "the statement can't be read", text


RELAXED = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(mutated())
@example("SELECT")
@example("CREATE")
@example("EXPLAIN (")
@example("EXPLAIN SELECT CASE")
@example("EXPLAIN SELECT 1::")
@example("EXPLAIN SELECT `")
@example("SET x = ")
@RELAXED
def test_mutated_script(text: str) -> None:
    check(text)


@given(st.text(max_size=60))
@RELAXED
def test_any_text(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(WORDS), max_size=15))
@RELAXED
def test_any_words(words: list[str]) -> None:
    check("EXPLAIN SELECT " + " ".join(words))
