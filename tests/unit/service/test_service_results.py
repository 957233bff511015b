"""Results over HTTP: pages, formats, and following, against what the definition says."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from service_support import SUMS, WRITER, Served

import thalweg
from thalweg.service.encoding import plain_rows
from thalweg.service.shelf import Recent
from thalweg.testing.comparison import compare
from thalweg.testing.reference import reference

ROWS = "SELECT a.v, b.v AS w, a.at FROM s AS a [RANGE 2 SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


def arrow(served: Served, name: str, **query: Any) -> tuple[pa.Table, str, bool]:
    answer = served.http.get(f"/v1/queries/{name}/results", params={**query, "format": "arrow"})
    assert answer.status_code == 200, answer.text
    return (
        pa.ipc.open_stream(answer.content).read_all(),
        answer.headers["thalweg-next"],
        answer.headers["thalweg-more"] == "true",
    )


def paged(served: Served, name: str, limit: int) -> pa.Table:
    """All results, a page at a time."""
    found, after, more = [], "-1", True
    while more:
        rows, after, more = arrow(served, name, after=after, limit=limit)
        assert rows.num_rows <= limit
        found.append(rows)
    return pa.concat_tables(found)


def test_pages_together_are_what_the_definition_says(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}; CREATE QUERY pairs AS {ROWS}")
    fed = [served.batch() for _ in range(4)]
    stream = served.session.catalog.streams["s"]
    for name in ("sums", "pairs"):
        query = served.session.catalog.queries[name]
        for limit in (5, 1000):
            if query.windows:
                compare(paged(served, name, limit), reference(query, stream, fed))
            else:
                assert paged(served, name, limit).equals(served.session.handle(name).results())


def test_pages_go_on_where_batches_have_come_since(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    first, after, more = arrow(served, "sums")
    assert not more and first.num_rows and after == "0"
    served.batch()
    second, after, _ = arrow(served, "sums", after=after)
    assert after == "1" and pa.concat_tables([first, second]).equals(served.session.handle("sums").results())
    last, at, _ = arrow(served, "sums", last=2)
    assert at == "1" and last.equals(
        served.session.handle("sums").results().slice(first.num_rows + second.num_rows - 2)
    )


def test_a_batch_that_is_not_shown_yet_is_not_read_in_part(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    served.batch()
    served.service.record.shown = 0
    rows, after, more = arrow(served, "sums")
    assert after == "0" and not more and rows.num_rows < served.session.handle("sums").results().num_rows


def test_csv_and_json(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    told = served.get("/v1/queries/sums/results")
    assert told["columns"][1] == {"name": "window_end", "type": "TIMESTAMP"} and (
        told["next"],
        told["more"],
    ) == ("0", False)
    text = served.http.get("/v1/queries/sums/results", params={"format": "csv"})
    assert text.headers["content-type"].startswith("text/csv")
    table = pyarrow.csv.read_csv(io.BytesIO(text.content))
    assert table.column("total").to_pylist() == [row[2] for row in told["rows"]]
    assert told["rows"][0][1] == "1970-01-01T00:00:01.000000Z"


@pytest.mark.parametrize("after", ["x", "1:", "1:x", "--1", "1" * 50, ""])
def test_places_that_are_none(served: Served, after: str) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    answer = served.http.get("/v1/queries/sums/results", params={"after": after})
    assert answer.status_code == 400 and "no place in results" in answer.json()["error"]["message"]


def test_values_that_json_has_no_word_for() -> None:
    window = pa.array(
        [{"start": 0, "end": None}, None],
        pa.struct([("start", pa.timestamp("us", "UTC")), ("end", pa.timestamp("us", "UTC"))]),
    )
    table = pa.table(
        {
            "f": [float("nan"), float("-inf")],
            "d": pa.array([None, 12], pa.decimal128(10, 2)),
            "w": window,
            "far": pa.array([253_402_300_800_000_000, None], pa.timestamp("us", "UTC")),
        }
    )
    assert plain_rows(table) == [
        ("NaN", None, {"start": "1970-01-01T00:00:00.000000Z", "end": None}, "10000-01-01T00:00:00.000000Z"),
        ("-Infinity", "12.00", None, None),
    ]


def test_following_has_every_row_once_over_interruptions(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}; CREATE QUERY other AS {SUMS.replace('SUM', 'MAX')}")
    served.batch()
    found: list[Any] = []
    with served.events("/v1/queries/sums/follow?after=-1") as events:
        assert [c["name"] for c in next(events).data] == ["k", "window_end", "total", "n"]
        place = (event := next(events)).id
        found += event.data["rows"]
    served.batch()
    with served.events("/v1/queries/sums/follow", place) as events:
        assert next(events).name == "columns"
        found += next(events).data["rows"]
        served.batch()
        place = (event := next(events)).id
        found += event.data["rows"]
        served.http.delete("/v1/queries/sums")
        served.batch()
        assert next(events).name == "end"
    assert place == "2" and found == [
        list(row) for row in plain_rows(served.session.handle("sums").results())
    ]


def test_following_from_now_on(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    with served.events("/v1/queries/sums/follow") as events:
        next(events)
        served.batch()
        event = next(events)
    assert event.data["rows"] == served.get("/v1/queries/sums/results", after=0)["rows"]


def test_events_of_batches(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    with served.events("/v1/events", "-1") as events:
        first, status = next(events), next(events)
        assert (first.name, first.id, first.data["rows"]) == ("batch", "0", 10)
        assert status.name == "status" and status.data["queries"] == 1
        served.batch()
        later = next(e for e in events if e.name == "batch")
        assert later.data["batch"] == 1 and later.data["results"]["sums"] > 0


def test_a_query_that_takes_the_place_of_another_ends_what_follows_it(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    with served.events("/v1/queries/sums/follow") as events:
        next(events)
        served.sql(f"CREATE OR REPLACE QUERY sums AS {SUMS.replace('COUNT(*)', 'MAX(v)')}")
        served.batch()
        assert next(e for e in events if e.name != "rows").name == "end"


def test_what_was_read_lately_is_kept_up_to_some_bytes() -> None:
    recent, rows = Recent[pa.Table](1_000_000, lambda t: t.nbytes + 8_000), pa.table({"v": list(range(100))})
    for number in range(500):
        recent.put(("q", (str(number),)), rows)
        recent.put(("q", (str(number),)), rows)
    kept = [n for n in range(500) if recent.get(("q", (str(n),))) is not None]
    assert 50 < len(kept) < 150 and kept == list(range(500 - len(kept), 500)), "the last that were asked for"
    recent.put(("q", ("large",)), pa.table({"v": list(range(10_000))}))
    assert recent.get(("q", ("large",))) is None


def test_present_rows_of_changes(served: Served) -> None:
    served.sql("CREATE QUERY totals AS SELECT k, SUM(v) AS total FROM s GROUP BY k EVERY 1 SECOND")
    for _ in range(3):
        served.batch()
    here, path = served.session.handle("totals").state().sort_by("k"), "/v1/queries/totals/state"
    told = served.http.get(path).json()
    assert (
        sorted(map(tuple, told["rows"])) == list(plain_rows(here))
        and [c["name"] for c in told["columns"]] == here.column_names
    )
    assert served.http.get(path, params={"where": '{"k": 1}'}).json()["rows"] == [
        list(r) for r in plain_rows(here.slice(1, 1))
    ]
    for where in ("{", "[1]", '{"k": [1]}', '{"z": 1}', '{"k": "x"}'):
        refused = served.http.get(path, params={"where": where})
        assert refused.status_code in (400, 409) and refused.json()["error"]["hint"], refused.text
    there = thalweg.connect(served.url, token=WRITER).handle("totals")
    assert there.state({"k": 2}).to_pylist() == here.slice(2, 1).to_pylist()
