from __future__ import annotations

from pathlib import Path

import pytest

import thalweg as thalweg_package
from thalweg import __version__

COMMANDS = ("demo", "run", "serve", "sql", "explain", "generate", "status", "calibrate", "help", "version")


def test_without_arguments_the_commands_are_listed(thalweg):
    said = thalweg()
    assert said.exit_code == 0
    assert all(command in said.stdout for command in COMMANDS)
    assert "..." not in said.stdout.split("Commands:")[1], "every summary fits on its line"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(thalweg, command):
    said = thalweg(command, "--help")
    assert said.exit_code == 0
    assert f"Usage: thalweg {command}" in said.stdout


def test_version(thalweg):
    said = thalweg("version")
    names = [line.split()[0] for line in said.stdout.splitlines()]
    assert names == ["thalweg", "spark", "duckdb", "python", "java"]


def test_version_without_java(thalweg, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = thalweg("version")
    assert said.exit_code == 0
    assert "java     not found: install Java 17, or set JAVA_HOME" in said.stdout


def test_the_version_alone(thalweg):
    said = thalweg("--version")
    assert (said.exit_code, said.stdout) == (0, f"thalweg {__version__}\n")


def test_the_reference_and_its_parts(thalweg):
    whole = thalweg("help").stdout
    assert whole.startswith("# The SQL") and "## Joins" in whole
    assert (
        "`REGEXP_EXTRACT`" in thalweg("help", "functions").stdout
        and "## " not in thalweg("help", "functions").stdout
    )
    assert "`MAX_BY(x, y)`" in thalweg("help", "aggregates").stdout
    for topic in ("streams", "tables", "queries", "joins", "looking"):
        assert thalweg("help", topic).stdout.startswith("## ")
    queries = thalweg("help", "queries").stdout
    assert "## Queries\n" in queries and "## Queries over queries\n" in queries
    missed = thalweg("help", "fuctions")
    assert missed.exit_code == 1 and "did you mean functions?" in missed.stderr


def test_hints_cite_what_the_package_has():
    cited = [
        p
        for p in Path(thalweg_package.__file__).parent.rglob("*.py")
        if '"docs/' in p.read_text() or "docs/sql.md" in p.read_text()
    ]
    assert [p.name for p in cited] == ["reference.py"]
