from __future__ import annotations

import pytest

COMMANDS = ("demo", "run", "explain", "generate", "status", "calibrate", "version")


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
