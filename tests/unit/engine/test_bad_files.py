"""Bad files of a stream in a run: it stops with what is wrong, or goes on without them and counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.errors import DataError
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.local import LocalEngine

FILES = {"0.csv": "1", "1.csv": "1.5", "2.csv": None, "3.csv": "#7", "4.csv": "2"}
WHY = {"1.csv": "row 1: 1.5 in column v is no BIGINT", "2.csv": "it is empty", "3.csv": 'Could not convert string "#7"'}


def engine(root: Path, on_bad_file: str) -> LocalEngine:
    (root / "in").mkdir()
    for i, (name, value) in enumerate(FILES.items()):
        (root / "in" / name).write_text("" if value is None else f"v,at\n{value},1970-01-01 00:00:0{i}\n")
    bound = bind_statements(f"""
        CREATE STREAM s (v BIGINT, at TIMESTAMP) WITH (format = 'csv', path = '{root}/in', time = 'at', on_bad_file = '{on_bad_file}');
        CREATE QUERY q AS SELECT SUM(v) AS total, COUNT(*) AS n FROM s GROUP BY TUMBLE '1 second';""")
    return LocalEngine(root / "run", tuple(bound.streams.values()), tuple(bound.queries.values()), planner_for(Config()))


@pytest.mark.parametrize("name", WHY)
def test_a_bad_file_stops_the_run_with_what_is_wrong(tmp_path: Path, name: str) -> None:
    running = engine(tmp_path, "stop")
    with pytest.raises(DataError) as caught:
        running.batch([("s", str(tmp_path / "in" / file)) for file in ("0.csv", name)])
    assert f"in/{name}: can't be read as stream s" in caught.value.message and WHY[name] in caught.value.message
    assert "on_bad_file = 'skip'" in (caught.value.hint or "") and running.runner.manifest.batch == -1
    (tmp_path / "in" / name).write_text("v,at\n5,1970-01-01 00:00:01\n")
    running.restart()
    running.batch([("s", str(tmp_path / "in" / file)) for file in ("0.csv", name, "4.csv")])
    assert sorted(running.results(running.queries[0]).to_pydict()["total"]) == [1, 5]


def test_bad_files_are_left_out_and_counted(tmp_path: Path) -> None:
    running = engine(tmp_path, "skip")
    running.batch([("s", str(tmp_path / "in" / file)) for file in FILES])
    manifest = running.runner.manifest
    assert manifest.streams["s"].rows == 2 and manifest.streams["s"].bad_files == 3
    assert sorted(Path(p).name for p in manifest.bad_files) == sorted(WHY)
    assert running.results(running.queries[0]).to_pylist() == [{"total": 1, "n": 1}]


def test_a_bad_file_of_one_stream_leaves_the_queries_of_others_alone(tmp_path: Path) -> None:
    running = engine(tmp_path, "skip")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "0.csv").write_text("v,at\n3,1970-01-01 00:00:00\n4,1970-01-01 00:00:05\n")
    more = bind_statements(f"""
        CREATE STREAM r (v BIGINT, at TIMESTAMP) WITH (format = 'csv', path = '{tmp_path}/other', time = 'at');
        CREATE QUERY p AS SELECT SUM(v) AS total FROM r GROUP BY TUMBLE '1 second';""")
    running.streams, running.queries = (*running.streams, *more.streams.values()), (*running.queries, *more.queries.values())
    running.batch([("s", str(tmp_path / "in" / "1.csv")), ("r", str(tmp_path / "other" / "0.csv"))])
    assert running.results(more.queries["p"]).to_pylist() == [{"total": 3}]
    counts = running.runner.manifest.streams
    assert counts["s"].bad_files == 1 and counts["s"].rows == 0 and counts["r"].bad_files == 0
