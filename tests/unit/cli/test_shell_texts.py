"""What is whole at the prompt, what is offered, and what shortcuts do, without a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from typer.testing import Result

from thalweg.cli.screen import Screen
from thalweg.cli.shell.prompt import Shell, whole_texts
from thalweg.cli.shell.texts import candidates, is_whole
from thalweg.cli.sites import Names, OwnSite
from thalweg.errors import UsageError
from thalweg.sql.statements import parse_script
from thalweg.sql.vocabulary import CALLS, KEYWORDS
from thalweg.testing.local import LocalSession

NAMES = Names(
    streams={"bid": {"auction": "BIGINT", "price": "BIGINT"}},
    tables={"person": {"id": "BIGINT", "name": "VARCHAR"}},
    queries={"pulse": {"n": "BIGINT"}, "peak": {"n": "BIGINT"}},
)
STREAM = "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at');"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("  \n", True),
        ("\\d", True),
        ("SHOW QUERIES", False),
        ("SHOW QUERIES;", True),
        ("SHOW QUERIES; -- all of them", True),
        ("SHOW QUERIES; /* all\nof them */", True),
        ("SHOW QUERIES; /* all", False),
        ("-- only a remark", True),
        ("SET a = ';'", False),
        ("SET a = ';", False),
        ("SET a = 'it''s';", True),
        ("SET a = 'it\\'s;", False),
        ("SELECT `a;b`", False),
        ("DROP QUERY a; DROP", False),
    ],
)
def test_a_text_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


@given(
    some.lists(
        some.sampled_from(["SHOW QUERIES;\n", "SET a = ';\n';\n", "-- x;\n", "/* ; */", "\\d\n", " "]),
        max_size=8,
    )
)
def test_pieces_are_the_whole_in_order(parts: list[str]) -> None:
    text = "".join(parts)
    pieces = list(whole_texts(text.splitlines(keepends=True)))
    assert "".join(pieces).replace("\n", "").split() == text.replace("\n", "").split()
    said = [p for p in pieces if p.strip() and not p.lstrip().startswith("\\")]
    assert all(is_whole(p) for p in said[:-1])


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("SELECT x FROM b", ["bid"]),
        ("SELECT x FROM ", ["bid", "person"]),
        ("SELECT bid.p", ["bid.price"]),
        ("DROP QUERY p", ["peak", "pulse"]),
        ("EXPLAIN QUERY pu", ["pulse"]),
        ("SHOW s", ["streams", "statistics"]),
        ("\\f pu", ["pulse"]),
        ("DROP QUERY a; SHOW PL", ["PLAN"]),
        ("sele", ["select"]),
        ("CREATE QUERY pu", []),
    ],
)
def test_what_is_offered(before: str, offered: list[str]) -> None:
    assert [c for c in candidates(before, NAMES) if c.lower() not in map(str.lower, CALLS)] == offered


def test_columns_of_what_is_read_come_first() -> None:
    found = candidates("SELECT * FROM bid WHERE p", NAMES)
    assert found[0] == "price" and "name" not in found


def test_words_of_the_console_are_those_of_the_shell() -> None:
    editor = Path(__file__).parents[3] / "src/thalweg/service/console/editor.js"
    line = next(x for x in editor.read_text().splitlines() if x.startswith("const WORDS"))
    assert set(line.split('"')[1].upper().split()) == set(KEYWORDS)


def test_words_are_of_the_language() -> None:
    assert parse_script("SHOW QUERIES") and "TUMBLE" in KEYWORDS and {"SUM", "UPPER"} <= set(CALLS)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    session = LocalSession(tmp_path / "run")
    session.hold()
    site = OwnSite(session, Screen(), runs=False)
    site._held = True
    return Shell(Screen(), site)


def test_shortcuts_of_a_session_of_ones_own(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shell.carry_out(STREAM)
    shell.carry_out("CREATE QUERY q AS\n SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second';")
    for line in ("\\d", "\\d q", "\\d s", "\\r q", "\\p q", "\\s", "\\?", "\\h joins"):
        shell.carry_out(line)
    said = capsys.readouterr().out
    for words in (
        "stream s declared",
        "query q created",
        "stream   s      k, at",
        "COUNT(*) AS n",
        "(0 of 0 rows)",
        "\\f QUERY",
    ):
        assert words in said, said
    script = tmp_path / "more.sql"
    script.write_text("DROP QUERY q;")
    shell.carry_out(f"\\i {script}")
    assert "query q dropped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("\\x", "no shortcut"),
        ("\\d nothing", "nothing"),
        ("\\d a b", "at most 1"),
        ("\\r", "no query is named"),
        ("\\r q many", "no number"),
    ],
)
def test_shortcuts_that_are_refused(shell: Shell, line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("\\", "")):
        shell.carry_out(line)


def test_statements_in_a_directory_that_nobody_runs(thalweg: Callable[..., Result], tmp_path: Path) -> None:
    with LocalSession(tmp_path / "run") as session:
        session.sql(f"SET partitions = '1'; {STREAM}")
        session.hold()
        session.stop()
    made = thalweg(
        "sql",
        "--dir",
        "run",
        "-e",
        "CREATE QUERY q AS SELECT COUNT(*) AS n FROM s GROUP BY TUMBLE '1 second'",
    )
    assert made.exit_code == 0 and "query q created" in made.stdout, made.output
    listed = thalweg("sql", "--dir", "run", "-e", "SHOW QUERIES", "--json")
    assert '"q"' in listed.stdout
    dropped = thalweg("sql", "--dir", "run", "-e", "DROP QUERY q; DROP STREAM s; SHOW STREAMS;")
    assert "stream s dropped" in dropped.stdout and "parquet" not in dropped.stdout
    wrong = thalweg("sql", "--dir", "run", "-e", "DROP QUERY q")
    assert wrong.exit_code == 1 and "no query named q (at 1:1)" in wrong.stderr
