from __future__ import annotations

import os
from pathlib import Path

import pytest

from thalweg.errors import EnvironmentProblem, InternalError


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("rnu", "app.sql"), "no such command 'rnu'. Did you mean 'run'?"),
        (("run",), "missing argument 'APP.sql'"),
        (("run", "app.sql", "--fast"), "no such option: --fast"),
        (("generate", "weather"), "'weather' is not one of 'nexmark', 'sensors'"),
        (("generate", "nexmark", "--events", "many"), "invalid value for '--events'"),
        (("run", "nowhere/app.sql"), "nowhere/app.sql: no such file"),
        (("explain", "."), ".: a directory, not a script"),
        (("status", "."), "no session directory"),
        (("status", "/dev/null"), "/dev/null: no session directory"),
        (("results", "/dev/null", "q"), "/dev/null: no session directory"),
    ],
)
def test_mistakes_on_the_command_line(thalweg, args, message):
    said = thalweg(*args)
    assert said.exit_code == 1
    assert said.stdout == ""
    assert message in said.stderr
    assert said.stderr.startswith("error: ") and "hint: " in said.stderr
    assert "Traceback" not in said.stderr


def test_a_missing_script_names_its_neighbours(thalweg, script):
    assert "hint: there is app.sql" in thalweg("explain", "ap.sql").stderr


def test_a_script_that_is_no_text(thalweg, tmp_path):
    (tmp_path / "app.sql").write_bytes(b"SHOW \xff\xfe")
    said = thalweg("run", "app.sql")
    assert (said.exit_code, said.stderr) == (
        1,
        "error: app.sql: not UTF-8 text (byte 5)\n  hint: save the script as UTF-8\n",
    )


def test_wrong_sql_is_shown_in_its_place(thalweg, script):
    script.write_text(script.read_text().replace("MAX(price)", "MAX(pirce)"))
    said = thalweg("explain", "app.sql")
    assert said.exit_code == 1
    assert "(at app.sql:4:46)" in said.stderr
    assert "    |                                              ^^^^^" in said.stderr
    assert "did you mean price?" in said.stderr


@pytest.mark.parametrize("setting", ["partitions", "=4", "partitions=none", "plan.window=best"])
def test_wrong_settings(thalweg, script, setting):
    said = thalweg("explain", "app.sql", "--set", setting)
    assert said.exit_code == 1
    assert said.stderr.startswith("error: ")


def test_a_script_without_queries_has_nothing_to_run(thalweg, tmp_path):
    (tmp_path / "app.sql").write_text("SHOW QUERIES;")
    said = thalweg("run", "app.sql", "--available-now")
    assert said.exit_code == 1
    assert "error: app.sql: no query to run" in said.stderr
    assert not (tmp_path / "thalweg-app").exists()


def test_a_session_directory_that_is_a_file(thalweg, script):
    said = thalweg("run", "app.sql", "--dir", "app.sql")
    assert (said.exit_code, said.stderr.splitlines()[0]) == (1, "error: app.sql: a file, not a directory")


def test_the_environment_is_exit_code_2(thalweg, monkeypatch):
    def refuse(*_: object) -> None:
        raise EnvironmentProblem("Spark needs Java 17 or later, and there is none", "install it")

    monkeypatch.setattr("thalweg.cli.status.show_status", refuse)
    said = thalweg("status", "x")
    assert (said.exit_code, said.stderr) == (
        2,
        "error: Spark needs Java 17 or later, and there is none\n  hint: install it\n",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written(thalweg, tmp_path):
    tmp_path.chmod(0o500)
    assert thalweg("generate", "sensors", "--events", 10).exit_code == 2
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("error", [KeyError("slot"), InternalError("the report of batch 3 is empty")])
def test_a_defect_is_exit_code_3_with_a_file_to_send(thalweg, monkeypatch, tmp_path, error):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("thalweg.cli.status.show_status", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = thalweg("status", "x")
    assert said.exit_code == 3
    assert "internal error: " in said.stderr and "please report it with" in said.stderr
    assert "Traceback" not in said.stderr
    written = Path(said.stderr.split("report it with ")[1].strip()).read_text()
    assert "thalweg status x" in written and "Traceback" in written and str(error.args[0]) in written


@pytest.mark.parametrize("how", ["option", "variable"])
def test_debug_shows_the_traceback(thalweg, monkeypatch, how):
    args = ["status", "x"]
    if how == "option":
        args.append("--debug")
    else:
        monkeypatch.setenv("THALWEG_DEBUG", "1")
    said = thalweg(*args)
    assert said.exit_code == 1
    assert "Traceback" in said.stderr


def test_the_disk_is_the_environment(thalweg, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", "/data/x")

    monkeypatch.setattr("thalweg.cli.status.show_status", fail)
    said = thalweg("status", "x")
    assert (said.exit_code, said.stderr.splitlines()[0]) == (2, "error: /data/x: no space left on device")
