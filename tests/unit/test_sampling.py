"""Statistics that are sampled from the first file of a stream or table."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from statistics_support import WINDOWS, join, stream_sql, window_statistics, write

from thalweg.api.explaining import SampledPlanners
from thalweg.api.session import Session
from thalweg.connectors.files import first_files
from thalweg.engine.workload import Workload
from thalweg.state.manifest import Manifest
from thalweg.statistics import sampling
from thalweg.statistics.known import Sampled
from thalweg.testing.bound import bind_statements

ALL_SAMPLED = {"rate": "sampled", "share": "sampled", "keys": "sampled", "batch_seconds": "assumed"}


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_directory_of_files(tmp_path: Path, format: str) -> None:
    write(tmp_path, format)
    found = window_statistics(stream_sql("s", tmp_path, format=format), where="WHERE v < 3")
    assert found["origins"] == ALL_SAMPLED
    assert found["rate"] == pytest.approx(120, rel=0.05) and found["share"] == 0.3
    assert found["keys"] == pytest.approx(20, rel=0.1)


def test_event_time_of_a_batch(tmp_path: Path) -> None:
    """As many files as a batch takes, and as there are."""
    for name in "012":
        write(tmp_path, rows=4_001, per_second=400, name=name)
    for files, seconds in ((1, 10), (2, 20), (8, 30)):
        found = window_statistics(stream_sql("s", tmp_path, f", files_per_batch = {files}"))
        assert (
            found["batch_seconds"] == pytest.approx(seconds, rel=0.01)
            and found["origins"]["batch_seconds"] == "sampled"
        )


def test_both_sides_of_a_join(tmp_path: Path) -> None:
    write(tmp_path / "s")
    write(tmp_path / "r", per_second=4_000)
    found = join(stream_sql("s", tmp_path / "s") + stream_sql("r", tmp_path / "r"), where="AND b.v < 3")
    left, right = found["inputs"]
    assert [left["origins"], right["origins"]] == [
        dict.fromkeys(("rate", "share", "keys", "sets"), "sampled")
    ] * 2
    assert left["rate"] == pytest.approx(400, rel=0.05) and right["rate"] == pytest.approx(1200, rel=0.05)
    assert left["keys"] == pytest.approx(20, rel=0.1) and left["sets"] == pytest.approx(20, rel=0.1)
    assert (
        found["statistics"]["groups"] == pytest.approx(5, rel=0.1)
        and found["statistics"]["origins"]["groups"] == "sampled"
    )


def test_values_that_go_together_are_fewer_than_their_product(tmp_path: Path) -> None:
    write(tmp_path)
    options = ", distinct = 'k: 20, g: 5'"
    left, _ = join(stream_sql("s", tmp_path, options) + stream_sql("r", options=options))["inputs"]
    assert left["sets"] < 25 and left["origins"]["sets"] in ("sampled", "declared")


def test_a_table(tmp_path: Path) -> None:
    path = write(tmp_path / "t", rows=60)
    table = f"CREATE TABLE t (k BIGINT, v BIGINT) WITH (format = 'parquet', path = '{path}');"
    text = "CREATE QUERY j AS SELECT a.g, COUNT(*) AS n FROM s AS a [RANGE 10 SECONDS], t AS b WHERE a.k = b.k GROUP BY a.g EVERY 10 SECONDS;"
    _, found = join(stream_sql("s") + table, text=text)["inputs"]
    assert found["rows"] == 60 and found["keys"] == pytest.approx(20, rel=0.2)
    assert found["origins"] == dict.fromkeys(("rows", "share", "keys", "sets"), "sampled")


def test_the_oldest_file_is_the_first(tmp_path: Path) -> None:
    os.utime(write(tmp_path, per_second=100, name="9"), (1, 1))
    write(tmp_path, per_second=400, name="0")
    assert window_statistics(stream_sql("s", tmp_path))["rate"] == pytest.approx(100, rel=0.05)


def test_the_footer_counts_what_the_sample_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    monkeypatch.setattr(sampling, "ROWS", 1)
    assert window_statistics(stream_sql("s", tmp_path))["rate"] == pytest.approx(400, rel=0.05)


def sampled(stream: str) -> Sampled:
    """What files say of a stream, which nobody checked before."""
    bound = bind_statements(stream + WINDOWS.format(where=""))
    return sampling.sample(bound.streams.values(), (), bound.queries.values())


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_corrupt_file_gives_nothing(tmp_path: Path, format: str) -> None:
    (tmp_path / f"0.{format}").write_bytes(b"\x00not, what\nit: seems{\xff\xfe")
    assert sampled(stream_sql("s", tmp_path, format=format)) == Sampled()


def test_a_file_of_another_schema_gives_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    assert sampled(stream_sql("s", tmp_path).replace("k BIGINT", "k DATE")) == Sampled()


@pytest.mark.parametrize("names", [(), ("0.csv",), (".0.parquet", "_0.parquet")])
def test_nothing_to_sample(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        write(tmp_path, format=name.split(".")[-1]).rename(tmp_path / name)
    assert set(window_statistics(stream_sql("s", tmp_path))["origins"].values()) == {"assumed"}


def test_one_moment_has_no_rate(tmp_path: Path) -> None:
    write(tmp_path, rows=1)
    assert window_statistics(stream_sql("s", tmp_path))["origins"]["rate"] == "assumed"


def test_a_condition_that_no_row_of_the_sample_meets_still_plans(tmp_path: Path) -> None:
    write(tmp_path)
    found = window_statistics(stream_sql("s", tmp_path), where="WHERE v > 1000")
    assert 0 < found["share"] < 0.001 and found["rate"] > 0


def test_files_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    looks, look = [], sampling._new_look

    def counting(*given: Any) -> Any:
        looks.append(1)
        return look(*given)

    monkeypatch.setattr(sampling, "_new_look", counting)
    session = Session("nowhere")
    session.sql(stream_sql("s", tmp_path) + WINDOWS.format(where=""))
    assert session.explain().data == session.explain().data and len(looks) == 1
    write(tmp_path, per_second=100)
    session.explain()
    assert len(looks) == 2


def sampled_over(text: str, *keys: str) -> Sampled:
    """What files say of queries by other keys."""
    queries = "".join(
        f"CREATE QUERY q{n} AS SELECT COUNT(*) AS n FROM s WHERE {k} GROUP BY k, TUMBLE '10 seconds';"
        for n, k in enumerate(keys)
    )
    bound = bind_statements(text + queries)
    return sampling.sample(bound.streams.values(), (), bound.queries.values())


def test_a_directory_is_listed_until_its_first_file_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream's directory has more and more files, and queries come all the time."""
    first, listed = write(tmp_path), list[Path]()
    text = stream_sql("s", tmp_path, ", files_per_batch = 2")

    def counting(stream: Any) -> list[Path]:
        listed.append(tmp_path)
        return first_files(stream)

    monkeypatch.setattr(sampling, "first_files", counting)
    assert sampled_over(text, "v > 1").batches["s"] == pytest.approx(10e6, rel=0.01)
    os.utime(first, (1, 1))
    write(tmp_path, name="1")
    assert sampled_over(text, "v > 2").batches["s"] == pytest.approx(20e6, rel=0.01) and len(listed) == 2
    write(tmp_path, name="2")
    assert sampled_over(text, "v > 3").sides and len(listed) == 2
    first.unlink()
    assert sampled_over(text, "v > 4").sides and len(listed) == 3


def test_only_so_many_sides_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries come and go, each with conditions of its own."""
    write(tmp_path)
    monkeypatch.setattr(sampling, "MOST_SIDES", 4)
    text = stream_sql("s", tmp_path)
    for n in range(20):
        found = sampled_over(text, f"v > {n}", f"v = {n}")
        assert len(found.sides) == 2, "what no query asks for is not told"
    (look,) = [look for (source, _), look in sampling._LOOKS.items() if source.path == str(tmp_path)]
    assert len(look.sides) == 4
    assert len(sampled_over(text, *(f"v > {n}" for n in range(9))).sides) == 9, "what is asked for is there"


def test_a_look_that_takes_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "csv")
    monkeypatch.setattr(sampling, "SECONDS", 0.0)
    bound = bind_statements(stream_sql("s", tmp_path, format="csv") + WINDOWS.format(where=""))
    assert sampling.sample(bound.streams.values(), (), bound.queries.values()).sides == Sampled().sides


def test_it_takes_little_time(tmp_path: Path) -> None:
    write(tmp_path, rows=1_000_000, per_second=10_000)
    bound = bind_statements(stream_sql("s", tmp_path) + WINDOWS.format(where=""))
    started = perf_counter()
    assert sampling.sample(bound.streams.values(), (), bound.queries.values()).rows["s"] == pytest.approx(
        10_000, rel=0.01
    )
    assert perf_counter() - started < 1.5


def test_a_workload_is_planned_by_one_sample(tmp_path: Path) -> None:
    write(tmp_path)
    session = Session("nowhere")
    session.sql(stream_sql("s", tmp_path) + WINDOWS.format(where=""))
    workload = Workload(tuple(session.catalog.streams.values()), tuple(session.catalog.queries.values()))
    planners = SampledPlanners()
    first = planners.of(workload, Manifest()).known.sampled
    write(tmp_path, per_second=100)
    assert (
        first.rows["s"] == pytest.approx(400, rel=0.05)
        and planners.of(workload, Manifest()).known.sampled is first
    )
