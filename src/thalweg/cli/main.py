"""The entry point: commands and their options."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.failures import Commands
from thalweg.cli.options import (
    AllowedHosts,
    AsJson,
    Bundle,
    Format,
    Functions,
    Limits,
    Master,
    Mermaid,
    Papers,
    Roots,
    RunDirectory,
    Settings,
    Shown,
    Svg,
    TokenFile,
    Url,
    Verbose,
    Workload,
)

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        from thalweg.version import __version__

        typer.echo(f"thalweg {__version__}")
        raise typer.Exit


@app.callback()
def thalweg(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of any error (also: THALWEG_DEBUG=1).")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Continuous SQL on Spark that takes the path of least cost."""


@app.command()
def demo(
    directory: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where to put data and results.")
    ] = Path("demo"),
    events: Annotated[int, typer.Option(metavar="N", help="How many events to generate.")] = 1_000_000,
    serves: Annotated[
        bool, typer.Option("--serve", help="Serve them with a console, over events of now, until Ctrl-C.")
    ] = False,
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="Where to serve.")] = 8642,
) -> None:
    """Run five queries over an auction site's events."""
    from thalweg.cli.demo import run_demo, serve_demo

    if serves:
        serve_demo(directory, port)
    else:
        run_demo(directory, events)


@app.command()
def run(
    script: Annotated[
        Path,
        typer.Argument(
            metavar="APP.sql", help="A script, or the directory of a run to go on with.", show_default=False
        ),
    ],
    directory: RunDirectory = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Process the data that is there, then end.")
    ] = False,
    master: Master = None,
    settings: Settings = [],  # noqa: B006
    rows: Annotated[
        int, typer.Option(min=0, metavar="N", help="Rows to print of a batch for INTO 'console' (0: all).")
    ] = 20,
    functions: Functions = [],  # noqa: B006
) -> None:
    """Run the queries of a script until Ctrl-C, or go on with them."""
    from thalweg.cli.run import run_script

    run_script(script, directory, available_now, master, settings, rows, functions)


@app.command()
def serve(
    script: Annotated[
        Path | None,
        typer.Argument(
            metavar="APP.sql", help="A script, or the directory of a run to go on with.", show_default=False
        ),
    ] = None,
    directory: RunDirectory = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Where to listen; 0: wherever is free.")
    ] = 8642,
    roots: Roots = [],  # noqa: B006
    token_file: TokenFile = None,
    allow_hosts: AllowedHosts = [],  # noqa: B006
    limits: Limits = [],  # noqa: B006
    master: Master = None,
    settings: Settings = [],  # noqa: B006
    functions: Functions = [],  # noqa: B006
) -> None:
    """Run queries as a service: REST, events, metrics, console."""
    from thalweg.cli.serve import Asked, serve_session

    serve_session(
        Asked(
            script,
            directory,
            host,
            port,
            tuple(roots),
            token_file,
            tuple(allow_hosts),
            tuple(limits),
            master,
            tuple(settings),
            tuple(functions),
        )
    )


@app.command()
def shell(
    script: Annotated[
        Path | None,
        typer.Argument(metavar="APP.sql", help="A script to begin with.", show_default=False),
    ] = None,
    url: Url = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            metavar="DIR",
            help="The directory of a session to go on with, or of a running service.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write statements at a prompt, and see what comes of them."""
    from thalweg.cli.shell.prompt import run_shell

    run_shell(url, directory, script)


@app.command()
def explain(
    script: Annotated[
        Path | None,
        typer.Argument(
            metavar="APP.sql", help="A script of SQL statements; with --url not needed.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    svg: Svg = None,
    mermaid: Mermaid = False,
    verbose: Verbose = False,
    papers: Papers = False,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="Show what the last batch of a run measured, too.")
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="The directory of that run.", show_default="thalweg-APP"),
    ] = None,
    settings: Settings = [],  # noqa: B006
    functions: Functions = [],  # noqa: B006
    url: Url = None,
) -> None:
    """Show the plan of a script's queries without running them."""
    from thalweg.cli import remote
    from thalweg.cli.explain import Wanted, explain_script
    from thalweg.cli.sites import opened
    from thalweg.errors import UsageError

    wanted = Wanted(analyze, verbose, papers, as_json, mermaid, svg)
    if url is not None:
        remote.show_plan(opened(url, directory), script, wanted)
    elif script is not None:
        explain_script(script, directory, settings, wanted, functions)
    else:
        raise UsageError(
            "neither a script nor a service is given", "write thalweg explain APP.sql, or --url URL"
        )


@app.command()
def generate(
    workload: Annotated[
        Workload,
        typer.Argument(help="Auctions (person, auction, bid) or sensors (reading).", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where to write; each stream gets a folder of its own.")
    ] = Path("data"),
    events: Annotated[int, typer.Option(metavar="N", help="How many events.")] = 1_000_000,
    rate: Annotated[float, typer.Option(metavar="R", help="Events per second of event time.")] = 10_000,
    keys: Annotated[int, typer.Option(metavar="K", help="Auctions open at a time, or sensors.")] = 100,
    disorder: Annotated[
        float, typer.Option(metavar="D", help="Events arrive up to so many seconds out of order.")
    ] = 0.0,
    late: Annotated[
        float, typer.Option(metavar="L", help="The share of events that come too late (0 to 1).")
    ] = 0.0,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same events.")] = 0,
    format: Annotated[Format, typer.Option(help="Format of the files.")] = Format.parquet,
    events_per_file: Annotated[
        int, typer.Option(metavar="N", help="Events in a file, over all streams.")
    ] = 100_000,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what an earlier run wrote there.")
    ] = False,
) -> None:
    """Write event data, and print the statements that declare it."""
    from thalweg.cli.generate import generate_files
    from thalweg.generate import GENERATORS

    made = GENERATORS[workload](events=events, rate=rate, keys=keys, seed=seed, disorder=disorder, late=late)
    generate_files(made, out, format, events_per_file, overwrite)


@app.command()
def sql(
    text: Annotated[
        str,
        typer.Option("-e", metavar="SQL", help="Statements, separated by semicolons.", show_default=False),
    ],
    url: Url = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="The directory of a service, or of a run.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run statements in a service, or in a directory that nobody runs."""
    from thalweg.cli.statements import run_statements

    run_statements(url, directory, text, as_json)


@app.command()
def status(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The directory of a run.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="List what changed in the plan, why, and what it brought.")
    ] = False,
    url: Url = None,
    bundle: Bundle = None,
) -> None:
    """Show rows, late rows, bad files, results and state of a run."""
    from thalweg.cli import remote
    from thalweg.cli.sites import opened
    from thalweg.cli.status import show_status

    if bundle is not None:
        remote.save_bundle(opened(url, directory), bundle)
    elif directory is not None and url is None:
        show_status(directory, as_json, changes)
    else:
        remote.show_status(opened(url, directory), as_json, changes)


@app.command()
def results(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The directory of a run; with --url left out.", show_default=False
        ),
    ],
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="The name of a query, live or dropped.", show_default=False),
    ] = None,
    format: Annotated[Shown, typer.Option(help="How rows are printed.")] = Shown.table,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with what later batches bring, until Ctrl-C.")
    ] = False,
    url: Url = None,
) -> None:
    """Print the results of a query, wherever they are kept."""
    from thalweg.cli import remote
    from thalweg.cli.results import show_results
    from thalweg.cli.sites import opened

    if query is not None and url is None:
        show_results(directory, query, format, follow)
    else:
        remote.show_results(
            opened(url, directory if query is not None else None),
            query or str(directory),
            format,
            follow,
        )


@app.command()
def push(
    stream: Annotated[
        str, typer.Argument(metavar="STREAM", help="A stream WITH (format = 'push').", show_default=False)
    ],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON lines, CSV or Parquet; - for what comes in.")
    ] = "-",
    url: Url = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="The directory of the service, for its token.", show_default=False
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="json (lines), csv or parquet.", show_default="by the name"),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Rows of one id count once.", show_default=False),
    ] = None,
) -> None:
    """Push rows to a stream of a running service."""
    from thalweg.cli.push import push_file
    from thalweg.cli.sites import opened

    push_file(opened(url, directory), stream, file, format, id)


@app.command()
def calibrate(as_json: AsJson = False) -> None:
    """Measure this machine, and plan by what was found from now on."""
    from thalweg.cli.calibrate import calibrate_machine

    calibrate_machine(as_json)


@app.command(name="help")
def help_(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="As functions, joins, streams.", show_default=False)
    ] = None,
) -> None:
    """Show the reference of the SQL, or a part of it."""
    from thalweg.cli.reference import show_help

    show_help(topic)


@app.command()
def version() -> None:
    """Show the versions of Thalweg, Spark, DuckDB, Python and Java."""
    from thalweg.cli.version import show_versions

    show_versions()


def main() -> None:
    """Run the command that the arguments ask for, then leave at once: Spark's idle threads have nothing left to say."""
    code = 0
    try:
        app()
    except SystemExit as end:
        code = int(end.code or 0)
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
