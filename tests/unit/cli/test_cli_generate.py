from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from thalweg.sql.statements import CreateStream, parse_script


@pytest.mark.parametrize(
    ("workload", "streams"), [("nexmark", ["person", "auction", "bid"]), ("sensors", ["reading"])]
)
def test_the_output_is_a_script_that_declares_what_was_written(thalweg, tmp_path, workload, streams):
    said = thalweg(
        "generate", workload, "--events", 1000, "--events-per-file", 400, "--disorder", 2, "--out", "data"
    )
    assert said.exit_code == 0
    assert said.stdout.startswith(f"-- 1,000 events in {3 * len(streams)} files under data (")
    statements = parse_script(said.stdout)
    assert [s.stream.name for s in statements if isinstance(s, CreateStream)] == streams
    rows = sum(pq.read_table(tmp_path / "data" / s).num_rows for s in streams)
    assert rows == 1000


@pytest.mark.parametrize("format", ["csv", "json"])
def test_other_formats(thalweg, tmp_path, format):
    said = thalweg("generate", "sensors", "--events", 10, "--format", format)
    assert said.exit_code == 0
    assert f"format = '{format}', path = 'data/reading'" in said.stdout
    assert [p.name for p in (tmp_path / "data" / "reading").iterdir()] == [f"part-000000.{format}"]


def test_the_same_seed_gives_the_same_files(thalweg, tmp_path):
    for out, seed in (("a", 7), ("b", 7), ("c", 8)):
        thalweg("generate", "sensors", "--events", 100, "--seed", seed, "--out", out)
    a, b, c = ((tmp_path / d / "reading" / "part-000000.parquet").read_bytes() for d in "abc")
    assert a == b != c


def test_what_is_there_is_kept_unless_asked(thalweg, tmp_path):
    again = ("generate", "sensors", "--events", 10)
    assert thalweg(*again).exit_code == 0
    refused = thalweg(*again)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "data is not empty" in refused.stderr
    assert thalweg(*again, "--overwrite").exit_code == 0


def test_numbers_out_of_range(thalweg):
    said = thalweg("generate", "nexmark", "--late", 1.5)
    assert said.exit_code == 1
    assert "error: late is 1.5" in said.stderr
