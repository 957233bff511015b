"""Bad rows and bad files of a stream in a run: they are set aside while the others count, or the run stops with what is wrong."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.errors import DataError, EnvironmentProblem
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.local import LocalEngine

FILES = {"0.csv": "1", "1.csv": "1.5", "2.csv": None, "3.csv": "#7", "4.csv": "2"}
WHY = {
    "1.csv": "row 1: 1.5 in column v is no BIGINT",
    "2.csv": "it is empty",
    "3.csv": "row 1: #7 in column v is no BIGINT",
}
AT = "1970-01-01 00:00:0"


def engine(
    root: Path,
    more: str = "",
    columns: str = "v BIGINT, d DOUBLE, u SMALLINT, at TIMESTAMP",
    format: str = "csv",
) -> LocalEngine:
    bound = bind_statements(f"""
        CREATE STREAM s ({columns}) WITH (format = '{format}', path = '{root}/in', time = 'at'{more});
        CREATE QUERY q AS SELECT SUM(v) AS total, COUNT(*) AS n, SUM(d) AS d FROM s GROUP BY TUMBLE '1 second';""")
    return LocalEngine(
        root / "run", tuple(bound.streams.values()), tuple(bound.queries.values()), planner_for(Config())
    )


def files(root: Path) -> list[tuple[str, str]]:
    (root / "in").mkdir()
    for i, (name, value) in enumerate(FILES.items()):
        (root / "in" / name).write_text("" if value is None else f"v,d,u,at\n{value},1,1,{AT}{i}\n")
    return [("s", str(root / "in" / name)) for name in FILES]


def put(root: Path, name: str, content: str | bytes) -> tuple[str, str]:
    (root / "in").mkdir(exist_ok=True)
    (root / "in" / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return "s", str(root / "in" / name)


def aside(root: Path, where: str = "run/bad/s") -> list[tuple[str | None, ...]]:
    """What was set aside, as it is shown: the name of the file, place, column, value, reason."""
    rows = [
        row
        for path in sorted((root / where).glob("batch-*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    return [(Path(r["file"]).name, r["place"], r["column"], r["value"], r["reason"]) for r in rows]


def totals(running: LocalEngine) -> list[tuple[int, int]]:
    return sorted((r["total"], r["n"]) for r in running.results(running.queries[0]).to_pylist())


@pytest.mark.parametrize("name", WHY)
def test_a_bad_file_stops_the_run_with_what_is_wrong(tmp_path: Path, name: str) -> None:
    files(tmp_path)
    running = engine(tmp_path, ", on_bad_file = 'stop'")
    with pytest.raises(DataError) as caught:
        running.batch([("s", str(tmp_path / "in" / file)) for file in ("0.csv", name)])
    assert (
        f"in/{name}: can't be read as stream s" in caught.value.message and WHY[name] in caught.value.message
    )
    assert "on_bad_file = 'skip'" in (caught.value.hint or "") and running.runner.manifest.batch == -1
    put(tmp_path, name, f"v,d,u,at\n5,1,1,{AT}1\n")
    running.restart()
    running.batch([("s", str(tmp_path / "in" / file)) for file in ("0.csv", name, "4.csv")])
    assert totals(running) == [(1, 1), (5, 1)]
    assert not aside(tmp_path)


def test_bad_rows_and_files_are_set_aside_and_counted(tmp_path: Path) -> None:
    running = engine(tmp_path)
    running.batch(files(tmp_path))
    manifest = running.runner.manifest
    counts = manifest.streams["s"]
    assert (counts.rows, counts.bad_rows, counts.bad_files) == (2, 2, 1)
    assert {Path(a.file).name: a.words for a in manifest.set_aside} == WHY
    assert totals(running) == [(1, 1)]
    assert sorted(aside(tmp_path), key=str) == [
        ("1.csv", "row 1", "v", "1.5", "is no BIGINT"),
        ("2.csv", None, None, None, "it is empty"),
        ("3.csv", "row 1", "v", "#7", "is no BIGINT"),
    ]


LINES = [
    (f"1,1.5,7,{AT}0", None),
    (f"2,zz,7,{AT}0", ("line 3", "d", "zz", "is no DOUBLE")),
    (f'3,1,"7\n",{AT}0', None),
    ("4,1,7,nope", ("line 5", "at", "nope", "is no TIMESTAMP")),
    ("5,q,7,nope", ("line 6", "d", "q", "is no DOUBLE")),
    (f"6.5,1,7,{AT}0", ("row 6", "v", "6.5", "is no BIGINT")),
    ("7,1", ("line 8", None, "7,1", "is no row: Expected Number of Columns: 4 Found: 2")),
    (
        f"8,1,7,{AT}0,more",
        ("line 9", None, f"8,1,7,{AT}0,more", "is no row: Expected Number of Columns: 4 Found: 5"),
    ),
    (f"9,1,what nobody reads,{AT}0", None),
    (
        f'10,"1"x,7,{AT}0',
        ("line 11", None, f'10,"1"x,7,{AT}0', "is no row: Value with unterminated quote found."),
    ),
    (f"{'9' * 300},1,7,{AT}0", ("row 11", "v", "9" * 200, "is no BIGINT")),
    (f"12,,,{AT}0", None),
    (f"13,1,7,{AT}5", None),
]


def test_rows_of_csv(tmp_path: Path) -> None:
    """Each bad row with its place, and all others count; a value in a column that nobody reads may be anything."""
    running = engine(tmp_path)
    running.batch([put(tmp_path, "0.csv", "\n".join(["v,d,u,at", *(line for line, _ in LINES), ""]))])
    assert aside(tmp_path) == [("0.csv", *why) for _, why in LINES if why is not None]
    assert totals(running) == [(1 + 3 + 9 + 12, 4)]
    assert running.runner.manifest.streams["s"].bad_rows == 8


def test_a_json_key_that_is_there_twice_is_no_fault_of_other_rows(tmp_path: Path) -> None:
    running = engine(tmp_path, format="json")
    doubled = f'{{"v": 1, "v": 2, "at": "{AT}0"}}\n'
    running.batch(
        [put(tmp_path, "0.json", f'{{"v": 5, "at": "{AT}0"}}\n{doubled}{{"v": 6, "at": "{AT}5"}}\n')]
    )
    assert [why[1:3] for why in aside(tmp_path)] == [("row 2", "v")] and totals(running) == [(5, 1)]


def test_a_line_of_csv_that_is_too_long(tmp_path: Path) -> None:
    running = engine(tmp_path)
    long = f"1,1,{'7' * 3_000_000},{AT}0\n"
    running.batch([put(tmp_path, "0.csv", f"v,d,u,at\n5,1,1,{AT}0\n{long}6,1,1,{AT}5\n")])
    ((file, place, *_, reason),) = aside(tmp_path)
    assert (file, place, reason) == ("0.csv", "line 3", "is no row: it is too long")
    assert totals(running) == [(5, 1)]


def test_rows_of_csv_without_a_header(tmp_path: Path) -> None:
    """The first line is a row like others; comments and empty lines are none."""
    running = engine(tmp_path, ", header = 'false', comment = '#', delimiter = ';'")
    lines = (
        "1;1",
        f"2;1;7;{AT}0",
        "# 3;1",
        f"4.5;1;7;{AT}0",
        f"5;x;7;{AT}0",
        f"6;1;7;{AT}0",
        f"7;1;7;{AT}5",
        "",
    )
    running.batch([put(tmp_path, "0.csv", "\n".join(lines))])
    (first, second, third) = aside(tmp_path)
    assert first[:4] == ("0.csv", "line 1", None, "1;1") and totals(running) == [(8, 2)]
    assert {second[2:4], third[2:4]} == {("v", "4.5"), ("d", "x")} and running.runner.manifest.streams[
        "s"
    ].bad_rows == 3


OBJECTS = [
    (f'{{"v": 1, "d": 1.5, "u": 7, "at": "{AT}0"}}', None),
    (f'{{"v": 2, "d": "zz", "u": 7, "at": "{AT}0"}}', ("row 2", "d", '"zz"', "is no DOUBLE")),
    ('{"v": 3, "d": 1, "at": "nope"}', ("row 3", "at", '"nope"', "is no TIMESTAMP")),
    ("no object", ("row 4", None, None, "it is no JSON")),
    (f'{{"v": 5.5, "d": 1, "u": 7, "at": "{AT}0"}}', ("row 5", "v", "5.5", "is no BIGINT")),
    (f'{{"v": {{"w": 5}}, "at": "{AT}0"}}', ("row 6", "v", '{"w":5}', "is no BIGINT")),
    ("[1, 2]", ("row 7", None, "[1, 2]", "is no JSON object")),
    (f'{{"v": 8, "u": "what nobody reads", "at": "{AT}0"}}', None),
    (f'{{"v": null, "d": null, "at": "{AT}0"}}', None),
    ('{"v": 10}', None),
    ('{"v": 11, "at": 5}', ("row 11", "at", "5", "is no TIMESTAMP")),
    (
        f'{{"v": 1, "at": "{AT}0", "v": 1}}',
        ("row 12", "v", f'{{"v": 1, "at": "{AT}0", "v": 1}}', "has the key more than once"),
    ),
    (f'{{"v": 7, "u": 1, "u": 2, "at": "{AT}0"}}', None),
    ('{"v": 12, "at": "' + AT, ("row 14", None, None, "it is no JSON")),
    (f'{{"v": 13, "at": "{AT}5"}}', None),
]


def test_rows_of_json(tmp_path: Path) -> None:
    running = engine(tmp_path, format="json")
    running.batch([put(tmp_path, "0.json", "\n".join([*(line for line, _ in OBJECTS), ""]))])
    assert aside(tmp_path) == [("0.json", *why) for _, why in OBJECTS if why is not None]
    assert totals(running) == [(1 + 8 + 7, 4)]
    assert (running.runner.manifest.streams["s"].bad_rows, running.runner.manifest.streams["s"].untimed) == (
        9,
        1,
    )


@pytest.mark.parametrize("wide", [pa.decimal128(12, 2), pa.int64()])
def test_rows_of_parquet(tmp_path: Path, wide: pa.DataType) -> None:
    """A number of more digits than declared, also where a condition would leave its row out before it is looked at."""
    running = engine(tmp_path, columns="v DECIMAL(6,2), d DOUBLE, k BIGINT, at TIMESTAMP", format="parquet")
    more = bind_statements(f"""CREATE STREAM s (v DECIMAL(6,2), d DOUBLE, k BIGINT, at TIMESTAMP)
          WITH (format = 'parquet', path = '{tmp_path}/in', time = 'at');
        CREATE QUERY few AS SELECT SUM(v) AS total, COUNT(*) AS n FROM s WHERE k = 1 GROUP BY TUMBLE '1 second';""")
    running.queries = tuple(more.queries.values())
    (tmp_path / "in").mkdir()
    times = pa.array([0, 0, 0, 5_000_000], pa.timestamp("us"))
    for name, values, keys in (
        ("0", [1, 99999, 3, 0], [1, 1, 1, 1]),
        ("1", [5, 77777, 7, 0], [1, 2, 1, 1]),
        ("2", [8, 9, 10, 0], [1, 2, 1, 1]),
    ):
        v = (
            pa.array([Decimal(x) for x in values], wide)
            if pa.types.is_decimal(wide)
            else pa.array(values, wide)
        )
        pq.write_table(
            pa.table({"v": v, "d": [1.0] * 4, "k": keys, "at": times}), tmp_path / "in" / f"{name}.parquet"
        )
    running.batch([("s", str(tmp_path / "in" / f"{name}.parquet")) for name in "012"])
    places = [(file, place, column) for file, place, column, _, _ in aside(tmp_path)]
    assert sorted(places) == [("0.parquet", "row 2", "v"), ("1.parquet", "row 2", "v")]
    found = running.results(running.queries[0]).to_pylist()
    assert found == [{"total": Decimal(1 + 3 + 5 + 7 + 8 + 10), "n": 6}]


WHOLE: dict[str, tuple[str | bytes, str]] = {
    "open quote": (
        f'v,d,u,at\n1,1,1,{AT}0\n2,1,"1,{AT}0\n3,1,1,{AT}0\n',
        "line 3: lines can't be told apart",
    ),
    "other columns": (f"v,d,at\n1,1,{AT}0\n", "it has no column u"),
    "mixed ends of lines": (f"v,d,u,at\n1,x,1,{AT}0\r\n2,1,1,{AT}0\n", "invalid state"),
    "no bytes": ("", "it is empty"),
    "noise": (b"\x00\x01\xff" * 100, "it has no column v"),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_files_that_are_bad_as_a_whole(tmp_path: Path, kind: str) -> None:
    content, why = WHOLE[kind]
    running = engine(tmp_path)
    good = put(tmp_path, "good.csv", f"v,d,u,at\n1,1,1,{AT}0\n2,1,1,{AT}5\n")
    running.batch([good, put(tmp_path, "bad.csv", content)])
    counts = running.runner.manifest.streams["s"]
    assert (counts.rows, counts.bad_rows, counts.bad_files) == (2, 0, 1) and totals(running) == [(1, 1)]
    ((file, place, column, value, reason),) = aside(tmp_path)
    assert (file, place, column, value) == ("bad.csv", None, None, None) and why in (reason or "")


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_damaged_files(tmp_path: Path, format: str) -> None:
    """Cut in the middle: a compressed text, or a Parquet file."""
    running = engine(tmp_path, "" if format == "parquet" else ", compression = 'gzip'", format=format)
    rows = {
        "v": [1, 2] * 500,
        "d": [1.0] * 1000,
        "u": pa.array([1] * 1000, pa.int16()),
        "at": pa.array([0] * 1000, pa.timestamp("us")),
    }
    good, bad = tmp_path / "in" / f"good.{format}", tmp_path / "in" / f"bad.{format}"
    good.parent.mkdir()
    if format == "parquet":
        pq.write_table(pa.table(rows), good)
    else:
        line = {"csv": f"1,1,1,{AT}0\n", "json": f'{{"v": 1, "at": "{AT}0"}}\n'}[format]
        good.write_bytes(gzip.compress((("v,d,u,at\n" if format == "csv" else "") + line * 1000).encode()))
    bad.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    running.batch([("s", str(good)), ("s", str(bad))])
    counts = running.runner.manifest.streams["s"]
    assert counts.rows == 1000 and counts.bad_files == 1
    assert [(file, place) for file, place, *_ in aside(tmp_path)] == [(f"bad.{format}", None)]


def test_a_file_that_can_not_be_opened_now_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be fine: that is the environment's, and nothing of the batch counts."""
    running = engine(tmp_path)
    chunk = put(tmp_path, "0.csv", f"v,d,u,at\nx,1,1,{AT}0\n3,1,1,{AT}0\n9,1,1,{AT}5\n")
    opened = Path.open

    def refuse(path: Path, *args: object, **kwargs: object) -> object:
        if path.name == "0.csv":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **kwargs)  # type: ignore[call-overload]

    with monkeypatch.context() as m, pytest.raises(EnvironmentProblem, match=r"0\.csv: permission denied"):
        m.setattr(Path, "open", refuse)
        running.batch([chunk])
    running.restart()
    running.batch([chunk])
    assert totals(running) == [(3, 1)]


def test_bad_rows_go_where_the_stream_says(tmp_path: Path) -> None:
    running = engine(tmp_path, f", bad_rows = '{tmp_path}/elsewhere'")
    running.batch(files(tmp_path))
    assert len(aside(tmp_path, "elsewhere")) == 3 and not (tmp_path / "run" / "bad").exists()


def test_late_rows_are_written_with_all_columns_so_all_must_fit(tmp_path: Path) -> None:
    """Whether a row is late does not decide whether it is bad."""
    running = engine(tmp_path, f", late_rows = '{tmp_path}/late'")
    running.batch([put(tmp_path, "0.csv", f"v,d,u,at\n1,1,1,{AT}5\n2,1,none,{AT}5\n")])
    running.batch([put(tmp_path, "1.csv", f"v,d,u,at\n3,1,1,{AT}0\n4,1,none,{AT}0\n5,1,1,{AT}9\n")])
    counts = running.runner.manifest.streams["s"]
    assert (counts.rows, counts.late, counts.bad_rows) == (3, 1, 2) and totals(running) == [(1, 1)]
    assert [
        row for path in (tmp_path / "late").glob("*.parquet") for row in pq.read_table(path)["v"].to_pylist()
    ] == [3]


def test_a_bad_file_of_one_stream_leaves_the_queries_of_others_alone(tmp_path: Path) -> None:
    chunks, running = files(tmp_path), engine(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "0.csv").write_text("v,at\n3,1970-01-01 00:00:00\n4,1970-01-01 00:00:05\n")
    more = bind_statements(f"""
        CREATE STREAM r (v BIGINT, at TIMESTAMP) WITH (format = 'csv', path = '{tmp_path}/other', time = 'at');
        CREATE QUERY p AS SELECT SUM(v) AS total FROM r GROUP BY TUMBLE '1 second';""")
    running.streams, running.queries = (
        (*running.streams, *more.streams.values()),
        (*running.queries, *more.queries.values()),
    )
    running.batch([chunks[2], ("r", str(tmp_path / "other" / "0.csv"))])
    assert running.results(more.queries["p"]).to_pylist() == [{"total": 3}]
    counts = running.runner.manifest.streams
    assert counts["s"].bad_files == 1 and counts["s"].rows == 0 and counts["r"].bad_files == 0


def test_the_manifest_keeps_the_first_few_only(tmp_path: Path) -> None:
    running = engine(tmp_path)
    for batch in range(3):
        names = [put(tmp_path, f"{batch}-{i}.csv", "v,at\n") for i in range(60)]
        running.batch([*names, put(tmp_path, f"{batch}.csv", "v,d,u,at\n" + f"x,1,1,{AT}0\n" * 50)])
    manifest = running.runner.manifest
    assert (manifest.streams["s"].bad_rows, manifest.streams["s"].bad_files) == (150, 180) and len(
        aside(tmp_path)
    ) == 330
    assert sum(a.place is None for a in manifest.set_aside) == 100 and len(manifest.set_aside) == 103
