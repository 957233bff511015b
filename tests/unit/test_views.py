"""Views: declared, read by queries and by each other, replaced, dropped, and remembered by the directory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.errors import SqlError, ThalwegError, UsageError
from thalweg.testing.comparison import compare
from thalweg.testing.lifetimes import reference_of
from thalweg.testing.local import LocalSession

STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
)
BIG = "CREATE VIEW big AS SELECT k AS key, v * 2 AS w, at FROM s WHERE v > 3;"
BIGGER = "CREATE VIEW bigger AS SELECT key, w + 1 AS more FROM big b WHERE b.w > 10;"
ROWS = "CREATE QUERY rows AS SELECT key, more FROM bigger WHERE key < 3;"
GROUPS = (
    "CREATE QUERY groups AS SELECT key, window_end, MAX(w) AS top FROM big GROUP BY key, TUMBLE '2 seconds';"
)
PLAIN = "SELECT k AS key, v * 2 + 1 AS more FROM s bigger WHERE v > 3 AND v * 2 > 10 AND k < 3"


class Fed:
    """A directory whose session is fed a second a batch."""

    def __init__(self, root: Path) -> None:
        self.root, self.fed = root, list[dict[str, pa.Table]]()
        (root / "in").mkdir()
        self.session = LocalSession(root / "run")
        self.session.sql(self.stream + BIG + BIGGER)

    @property
    def stream(self) -> str:
        return STREAM.format(self.root / "in")

    def batch(self) -> None:
        number = len(self.fed)
        times = pa.array([number * 1_000_000 + i for i in range(8)], pa.timestamp("us"))
        self.fed.append(
            {
                "s": pa.table(
                    {"k": [i % 5 for i in range(8)], "v": [number + i for i in range(8)], "at": times}
                )
            }
        )
        path = self.root / "in" / f"{number}.parquet"
        pq.write_table(self.fed[-1]["s"], path)
        self.session.batch([("s", str(path))])

    def opened(self, text: str = "") -> LocalSession:
        self.session.stop()
        self.session = LocalSession(self.root / "run")
        self.session.sql(text)
        return self.session

    def check(self, *names: str) -> None:
        for handle in map(self.session.handle, names):
            assert handle.results().num_rows > 0
            compare(handle.results(), reference_of(handle, self.session.catalog.streams, self.fed))


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def test_a_view_is_what_it_selects(fed: Fed) -> None:
    fed.session.sql(ROWS + GROUPS)
    plain = fed.session.query(PLAIN, name="plain")
    assert fed.session.catalog.queries["rows"].meaning == plain.query.meaning
    for _ in range(5):
        fed.batch()
    fed.check("rows", "groups", "plain")
    assert len(fed.session.runner.plan.joins) == 1, "what is the same is computed once"
    listed = str(fed.session.sql("SHOW VIEWS"))
    assert "bigger" in listed and "key, w, at" in listed


def test_views_are_remembered(fed: Fed) -> None:
    fed.session.sql(ROWS)
    fed.batch()
    fed.session.sql("CREATE VIEW later AS SELECT more FROM bigger; CREATE QUERY z AS SELECT more FROM later")
    fed.batch()
    session = fed.opened()
    assert set(session.catalog.views) == {"big", "bigger", "later"} and set(session.catalog.queries) == {
        "rows",
        "z",
    }
    fed.batch()
    session = fed.opened(f"{fed.stream} CREATE QUERY other AS SELECT k FROM s")
    assert set(session.catalog.views) == {"big", "bigger", "later"}, (
        "z was created while batches ran, and reads them all"
    )
    assert set(session.catalog.queries) == {"z", "other"}
    session.sql("DROP QUERY z; DROP VIEW later")
    fed.batch()
    assert not fed.opened().catalog.views, "the script of an earlier run had the others"
    fed.check("other")


def test_a_script_may_say_views_anew(fed: Fed) -> None:
    fed.session.sql(ROWS)
    fed.batch()
    fed.opened(fed.stream + BIG + BIGGER + ROWS)
    fed.batch()
    fed.check("rows")
    other = fed.opened(fed.stream + BIG.replace("* 2", "* 3") + BIGGER + ROWS)
    with pytest.raises(UsageError, match="query rows asks something else"):
        other.check()


def test_a_view_in_the_place_of_another(fed: Fed) -> None:
    fed.session.sql(ROWS)
    fed.batch()
    before = fed.session.catalog.queries["rows"]
    fed.session.sql("CREATE OR REPLACE VIEW big AS SELECT k AS key, v AS w, v AS more FROM s")
    assert fed.session.catalog.queries["rows"] is before, "what runs goes on as it is"
    assert fed.session.query("SELECT more FROM big").query.passes
    with pytest.raises(
        ThalwegError, match="view bigger, which reads big, would have no meaning: unknown column w"
    ):
        fed.session.sql("CREATE OR REPLACE VIEW big AS SELECT k AS key FROM s")
    assert "more" in {c.name for c in fed.session.catalog.views["big"].columns}


BAD = [
    ("DROP VIEW big", "view big is read by bigger", "drop these views first"),
    ("DROP STREAM s", "stream s is read by big", "drop these views first"),
    ("DROP VIEW bigg", "no view named bigg", "did you mean big?"),
    ("CREATE VIEW big AS SELECT k FROM s", "view big exists already, with another definition", "replace it"),
    (
        "CREATE VIEW s AS SELECT * FROM big",
        "s is declared already, with another definition",
        "use another name",
    ),
    ("CREATE VIEW a AS SELECT k FROM s LIMIT 3", "LIMIT in a view is not supported", "results are a stream"),
    (
        "CREATE VIEW a AS SELECT k FROM s UNION SELECT v FROM s",
        "UNION is not supported",
        "write UNION ALL",
    ),
    ("CREATE VIEW a AS SELECT nope FROM big", "unknown column nope", "columns of big are: key, w, at"),
    ("CREATE VIEW a AS SELECT key + 'x' AS z FROM big", "+ takes numbers, not a string", "write the number"),
    ("CREATE QUERY a AS SELECT x.v FROM big x", "unknown column x.v", "columns of x are: key, w, at"),
    ("CREATE VIEW a", "expected AS, but the statement ends", "as in CREATE VIEW"),
]


@pytest.mark.parametrize(("text", "message", "hint"), BAD, ids=[b[0] for b in BAD])
def test_what_is_refused(fed: Fed, text: str, message: str, hint: str) -> None:
    with pytest.raises(SqlError) as caught:
        fed.session.sql(text)
    assert caught.value.message == message and (caught.value.hint or "").startswith(hint)
