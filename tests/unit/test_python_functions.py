"""Python functions in queries: what they give, where they may stand, how they fail, and what a directory keeps of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import thalweg
from thalweg.api.functions import declare_from
from thalweg.engine.functions.identity import identity_of
from thalweg.engine.functions.packing import packed, unpacked
from thalweg.errors import FunctionError, SqlError, StateError, UsageError
from thalweg.testing.local import LocalSession

SECOND = 1_000_000


def twice(v: Any) -> Any:
    return pc.multiply(v, 2)


class Fed:
    """A session that is fed two seconds a batch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "in").mkdir()
        self.rows: list[dict[str, Any]] = []
        self.opened()
        self.declare()

    def opened(self) -> LocalSession:
        """The session of the directory."""
        self.session = LocalSession(self.root / "run")
        return self.session

    def declare(self, columns: str = "") -> None:
        """The stream `s`, and the function `twice`."""
        self.session.function("twice", twice, "BIGINT -> BIGINT")
        self.session.sql(
            f"CREATE STREAM s (k BIGINT, v BIGINT, t STRING, at TIMESTAMP{columns})"
            f" WITH (format = 'parquet', path = '{self.root / 'in'}', time = 'at')"
        )

    def batch(self, count: int = 1) -> None:
        """More rows, of which some have no v."""
        for _ in range(count):
            n = self.session.latest_manifest().batch + 1
            v = [None if i == 3 else n * 10 + i for i in range(10)]
            at = [n * 2 * SECOND + i * SECOND // 5 for i in range(10)]
            found = {"k": [i % 3 for i in range(10)], "v": v, "t": [f"t{i}" for i in range(10)], "at": at}
            self.rows += [
                dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)
            ]
            path = self.root / "in" / f"{n}.parquet"
            pq.write_table(pa.table({**found, "at": pa.array(at, pa.timestamp("us"))}), path)
            self.session.batch([("s", str(path))])

    def results(self, query: str) -> list[tuple[Any, ...]]:
        """All results, without windows, in order."""
        table = self.session.handle(query).results()
        shown = [c for c in table.column_names if not c.startswith("window")]
        return sorted(zip(*(table.column(c).to_pylist() for c in shown), strict=True), key=repr)


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def expected(fed: Fed, of: Callable[[dict[str, Any]], tuple[Any, ...] | None]) -> list[tuple[Any, ...]]:
    return sorted((row for r in fed.rows if (row := of(r)) is not None), key=repr)


def test_it_is_called_wherever_an_expression_may_stand(fed: Fed) -> None:
    fed.session.sql("""
      CREATE QUERY shown AS SELECT v, TWICE(v) AS x FROM s WHERE twice(v) > 8;
      CREATE QUERY grouped AS SELECT twice(k) AS kk, SUM(twice(v)) AS x, COUNT(*) FILTER (WHERE twice(v) > 4) AS n
        FROM s GROUP BY twice(k), TUMBLE '1 second' HAVING twice(COUNT(*)) > 2;
      CREATE QUERY joined AS SELECT a.v, b.v AS w FROM s AS a [RANGE 1 SECOND], s AS b [RANGE 1 SECOND]
        WHERE twice(a.v) = b.v AND twice(a.k) > b.k;
      CREATE VIEW doubled AS SELECT k, twice(v) AS x, at FROM s;
      CREATE QUERY nested AS SELECT MAX(x) AS top FROM (SELECT k, window_end, SUM(x) AS x FROM doubled
        GROUP BY k, TUMBLE '1 second') GROUP BY window_end;
    """)
    fed.batch(3)
    over = 5 * SECOND
    assert fed.results("shown") == expected(
        fed, lambda r: (r["v"], 2 * r["v"]) if r["v"] is not None and r["v"] > 4 else None
    )
    groups: dict[tuple[int, int], list[int | None]] = {}
    for r in fed.rows:
        groups.setdefault((r["at"] // SECOND, r["k"]), []).append(r["v"])
    final = {g: [v for v in some if v is not None] for g, some in groups.items() if g[0] * SECOND < over}
    assert fed.results("grouped") == sorted(
        (
            (2 * k, 2 * sum(some) if some else None, sum(2 * v > 4 for v in some))
            for (at, k), some in final.items()
            if 2 * len(groups[at, k]) > 2
        ),
        key=repr,
    )
    pairs = [
        (a["v"], b["v"])
        for a in fed.rows
        for b in fed.rows
        if None not in (a["v"], b["v"])
        and 2 * a["v"] == b["v"]
        and 2 * a["k"] > b["k"]
        and abs(a["at"] - b["at"]) < SECOND
    ]
    assert pairs and fed.results("joined") == sorted(pairs, key=repr)
    tops = {at: max(2 * sum(final[g]) for g in final if g[0] == at) for at, _ in final}
    assert fed.results("nested") == sorted(((top,) for top in tops.values()), key=repr)


def test_several_parameters_and_other_types(fed: Fed) -> None:
    def told(t: pa.Array, v: pa.Array, d: pa.Array) -> list[str | None]:
        assert isinstance(t, pa.Array) and d.type == pa.float64()
        return [
            None if b is None else f"{a}/{b}/{c}"
            for a, b, c in zip(t.to_pylist(), v.to_pylist(), d.to_pylist(), strict=True)
        ]

    fed.session.function("told", told, "STRING, BIGINT, DOUBLE -> STRING")
    fed.session.function("half", lambda v: pc.divide(v.cast("float64"), 2), "BIGINT -> DECIMAL(10,2)")
    fed.session.function(
        "later", lambda a: pc.add(a, pa.scalar(1, pa.duration("s"))), "TIMESTAMP -> TIMESTAMP"
    )
    fed.session.sql(
        "CREATE QUERY q AS SELECT told(t, k, 1.5) AS x, half(5) AS y, later(at) > at AS z, told('a', v, NULL) AS n FROM s"
    )
    fed.batch()
    found = fed.session.handle("q").results()
    assert sorted(found.column("x").to_pylist())[:2] == ["t0/0/1.5", "t1/1/1.5"]
    assert {str(y) for y in found.column("y").to_pylist()} == {"2.50"} and set(
        found.column("z").to_pylist()
    ) == {True}
    assert set(found.column("n").to_pylist()) == {None, *(f"a/{v}/None" for v in (0, 1, 2, 4, 5, 6, 7, 8, 9))}


def read_by(fed: Fed, column: str, sql: str) -> None:
    """A batch of a stream with a computed column."""
    path = fed.root / "other" / "x.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"v": [2, 3], "at": pa.array([0, 1], pa.timestamp("us"))}), path)
    fed.session.sql(
        f"CREATE STREAM c (v BIGINT, at TIMESTAMP, {column}) WITH (format = 'parquet', path = '{path.parent}', time = 'at'); {sql}"
    )
    fed.session.batch([("c", str(path))])


def test_computed_columns(fed: Fed) -> None:
    read_by(fed, "w AS twice(v)", "CREATE QUERY q AS SELECT w FROM c WHERE w > 4")
    assert fed.results("q") == [(6,)]
    with pytest.raises(UsageError, match="called by columns of c"):
        fed.session.sql("DROP FUNCTION twice")


def test_columns_beside_the_time_are_computed_though_nobody_reads_that(fed: Fed) -> None:
    read_by(fed, "w AS v + 1", "CREATE QUERY q AS SELECT w FROM c")
    assert fed.results("q") == [(3,), (4,)]


def raises(v: pa.Array) -> pa.Array:
    if pc.max(v).as_py() > 15:
        raise ZeroDivisionError("too large\nand more")
    return v


class Silent(BaseException):
    def __str__(self) -> str:
        raise RuntimeError


def interrupts(error: BaseException) -> Callable[[pa.Array], pa.Array]:
    def function(v: pa.Array) -> pa.Array:
        raise error

    return function


FAILURES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "raises": (raises, "ZeroDivisionError: too large"),
    "short": (lambda v: v[:-1], r"ValueError: it gave \d+ values for \d+ rows"),
    "typed": (lambda v: pa.array(["a"] * len(v)), "TypeError: it gave string values, not int64"),
    "loses": (lambda v: pa.array([1.5] * len(v)), "ArrowInvalid: Float value 1.500000 was truncated"),
    "single": (lambda v: pc.max(v), "TypeError: it gave a Int64Scalar, not an array"),
    "nothing": (lambda v: None, "TypeError: it gave a NoneType"),
    "exits": (lambda v: exec("raise SystemExit(3)"), "SystemExit: 3"),
    "interrupts": (interrupts(KeyboardInterrupt()), "KeyboardInterrupt"),
    "silent": (interrupts(Silent()), "Silent: it can't say what is wrong"),
    "no text": (interrupts(ValueError("\ud800" + "x" * 5_000)), r"ValueError: \\ud800x{999}$"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_one_that_fails_fails_its_query_alone(fed: Fed, name: str) -> None:
    function, said = FAILURES[name]
    fed.session.function("f", function, "BIGINT -> BIGINT")
    fed.session.sql(
        "CREATE QUERY good AS SELECT k, SUM(twice(v)) AS x FROM s GROUP BY k, TUMBLE '1 second';"
        "CREATE QUERY bad AS SELECT k, SUM(ABS(f(v))) AS x FROM s GROUP BY k, TUMBLE '1 second';"
        "CREATE QUERY other AS SELECT v FROM s WHERE v < 100"
    )
    fed.batch(3)
    bad = fed.session.handle("bad")
    assert bad.status == "failed" and isinstance(bad.error, FunctionError)
    assert re.match(f"query bad: function f: {said}", bad.error.message)
    assert {fed.session.handle(n).status for n in ("good", "other")} == {"stopped"}
    assert len(fed.results("other")) == 27


def test_of_two_that_call_it_only_the_one_that_has_such_rows_fails(fed: Fed) -> None:
    fed.session.function("f", raises, "BIGINT -> BIGINT")
    fed.session.sql(
        "SET plan.sharing = 'off';"
        "CREATE QUERY fine AS SELECT f(k) AS x FROM s;"
        "CREATE QUERY bad AS SELECT CASE WHEN v > 10 THEN f(v) ELSE v END AS x FROM s"
    )
    fed.batch(3)
    assert fed.session.handle("bad").status == "failed" and len(fed.results("fine")) == 30


def test_what_it_gives_is_no_value_that_could_not_be_computed(fed: Fed) -> None:
    """TRY around a call would make NULL of an error."""
    fed.session.function("f", lambda v: pc.divide(v, 0), "BIGINT -> BIGINT")
    fed.session.sql("CREATE QUERY bad AS SELECT SQRT(ABS(f(v))) AS x FROM s")
    fed.batch()
    assert fed.session.handle("bad").status == "failed" and "divide by zero" in str(
        fed.session.handle("bad").error
    )


def test_a_directory_keeps_it(fed: Fed) -> None:
    fed.session.sql("CREATE QUERY q AS SELECT twice(v) AS x FROM s WHERE v IS NOT NULL")
    fed.batch()
    fed.session.stop()
    fed.opened()
    fed.batch()
    assert len(fed.results("q")) == 18 and set(fed.session.catalog.functions) == {"twice"}
    assert "BIGINT -> BIGINT" in str(fed.session.sql("SHOW FUNCTIONS"))


def test_a_damaged_one_is_not_called(fed: Fed) -> None:
    fed.session.function("f", lambda v: pc.add(v, 1), "BIGINT -> BIGINT")
    fed.session.sql("CREATE QUERY q AS SELECT f(v) AS x FROM s")
    fed.session.begin()
    path = fed.root / "run" / "functions" / fed.session.catalog.functions["f"].digest
    path.write_bytes(path.read_bytes() + b".")
    with pytest.raises(StateError, match="it is not the function that was declared"):
        fed.batch()


def test_another_under_its_name_is_for_those_who_come(fed: Fed) -> None:
    fed.session.sql("CREATE QUERY before AS SELECT twice(k) AS x FROM s")
    fed.batch()
    with pytest.raises(UsageError, match="twice exists already"):
        fed.session.function("twice", lambda v: pc.multiply(v, 3), "BIGINT -> BIGINT")
    fed.session.function("twice", lambda v: pc.multiply(v, 3), "BIGINT -> BIGINT", replace=True)
    fed.session.sql("CREATE QUERY later AS SELECT twice(k) AS x FROM s")
    fed.batch()
    assert {x for (x,) in fed.results("before")} == {0, 2, 4} and {x for (x,) in fed.results("later")} == {
        0,
        3,
        6,
    }
    fed.session.sql("CREATE OR REPLACE QUERY before AS SELECT twice(k) AS x FROM s")
    fed.batch()
    assert {x for (x,) in fed.results("before")} == {0, 3, 6}


def test_a_script_that_says_it_again_goes_on_and_one_that_says_another_is_refused(fed: Fed) -> None:
    asked = "CREATE QUERY q AS SELECT twice(v) AS x FROM s"
    fed.session.sql(asked)
    fed.batch()
    fed.session.stop()
    fed.opened()
    fed.declare()
    fed.session.sql(asked)
    fed.batch()
    fed.session.stop()
    fed.opened()
    fed.declare()
    fed.session.function("twice", lambda v: pc.multiply(v, 3), "BIGINT -> BIGINT", replace=True)
    fed.session.sql(asked)
    with pytest.raises(UsageError, match="query q asks something else"):
        fed.session.check()


def test_equal_calls_are_one_node(fed: Fed) -> None:
    fed.session.sql(
        "CREATE QUERY a AS SELECT k, SUM(twice(v)) AS x FROM s GROUP BY k, TUMBLE '1 second';"
        "CREATE QUERY b AS SELECT k AS other, SUM(twice(v)) + 1 AS y FROM s GROUP BY k, TUMBLE '1 second'"
    )
    fed.batch()
    assert len(fed.session.last_batch()[1].fragments) == 1
    assert "twice(v)" in fed.session.explain().text


def test_refused() -> None:
    session = thalweg.Session()
    for name, given, types, said in (
        ("abs", twice, "BIGINT -> BIGINT", "is a function of SQL already"),
        ("1f", twice, "BIGINT -> BIGINT", "can't be the name"),
        ("case", twice, "BIGINT -> BIGINT", "means something else"),
        ("f", twice, "BIGINT, BIGINT -> BIGINT", "can't be called with 2 columns"),
        ("f", 3, "BIGINT -> BIGINT", "a int can't be called"),
        (
            "f",
            lambda v, lock=__import__("threading").Lock(): v,
            "BIGINT -> BIGINT",
            "can't be shipped: TypeError",
        ),
    ):
        with pytest.raises(UsageError, match=said):
            session.function(name, given, types)  # type: ignore[arg-type]
    for types in ("BIGINT", "-> BIGINT", "BIGINT -> THING", ""):
        with pytest.raises((SqlError, UsageError)):
            session.function("f", twice, types)


@pytest.mark.parametrize(
    ("sql", "said", "column"),
    [
        ("SELECT twice(v, k) AS x FROM s", "twice takes 1 argument, not 2", 8),
        ("SELECT twice(t) AS x FROM s", "twice takes BIGINT here, not STRING", 14),
        ("SELECT twice(v / 2) AS x FROM s", "twice takes BIGINT here, not DOUBLE", 14),
        ("SELECT twise(v) AS x FROM s", "unknown function twise", 8),
    ],
)
def test_a_wrong_call_is_refused_at_its_place(fed: Fed, sql: str, said: str, column: int) -> None:
    with pytest.raises(SqlError, match=re.escape(said)) as raised:
        fed.session.query(sql)
    assert raised.value.column == column and raised.value.hint


def test_dropped(fed: Fed) -> None:
    fed.session.sql("CREATE VIEW d AS SELECT twice(v) AS x, at FROM s")
    with pytest.raises(UsageError, match="called by d"):
        fed.session.sql("DROP FUNCTION twice")
    fed.session.sql("DROP VIEW d; DROP FUNCTION twice")
    assert not fed.session.catalog.functions
    with pytest.raises(UsageError, match="no function named twice"):
        fed.session.sql("DROP FUNCTION twice")


def test_a_file_of_functions(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("def factor(): return 7\n")
    path = tmp_path / "mine.py"
    path.write_text(
        "import pyarrow.compute as pc\nimport thalweg\nfrom beside import factor\n"
        "@thalweg.function('BIGINT -> BIGINT', name='sevenfold')\ndef f(v):\n    return pc.multiply(v, factor())\n"
    )
    session = thalweg.Session(tmp_path / "run")
    assert declare_from(session, str(path)) == ("sevenfold",)
    path.write_text("x = 1")
    with pytest.raises(UsageError, match="no function in it is marked"):
        declare_from(session, str(path))
    path.write_text("x = ")
    with pytest.raises(UsageError, match="can't be loaded: SyntaxError"):
        declare_from(session, str(path))
    with pytest.raises(UsageError, match="no such file"):
        declare_from(session, str(tmp_path / "none.py"))


def test_identity_is_what_it_does() -> None:
    class One:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        def __call__(self, v: Any) -> Any:
            return pc.multiply(v, self.factor)

    assert identity_of(One(2)) == identity_of(One(2)) != identity_of(One(3))
    made = [eval("lambda v, x=1: v + x * FACTOR", {"FACTOR": f}) for f in (2, 2, 3)]
    assert identity_of(made[0]) == identity_of(made[1]) != identity_of(made[2])
    assert identity_of(pc.abs) != identity_of(pc.negate)


def test_a_packed_one_is_found_again(tmp_path: Path) -> None:
    function, data = packed("f", lambda v: pc.add(v, 5), ("BIGINT",), "BIGINT")
    path = tmp_path / "f"
    path.write_bytes(data)
    assert unpacked(path, function.digest)[1](pa.array([1])).to_pylist() == [6]
    assert function.signature == "BIGINT -> BIGINT"
