"""Options that several commands have, or that take a lot of words, and the values that options may have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Settings = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be given more than once."),
]
Url = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Ask a running service.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Roots = Annotated[
    list[Path],
    typer.Option(
        "--root",
        metavar="DIR",
        help="Statements over HTTP may name files below it; may be given more than once.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", metavar="FILE", help="Tokens to accept, one a line.", show_default="DIR/token"
    ),
]
AllowedHosts = Annotated[
    list[str],
    typer.Option(
        "--allow-host", metavar="NAME", help="A name that the service is called by, besides localhost."
    ),
]
Limits = Annotated[
    list[str],
    typer.Option("--limit", metavar="KEY=N", help="bytes, rows, queries, requests, followers or seconds."),
]
RunDirectory = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIR", help="State, results and progress.", show_default="thalweg-APP"),
]
Bundle = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write what a report to us needs to a file: no rows, no tokens.",
        show_default=False,
    ),
]
Functions = Annotated[
    list[str],
    typer.Option(
        "--functions",
        metavar="FILE.py",
        help="Python functions for SQL, marked by @thalweg.function: a file or a module; may be given more than once.",
    ),
]
Svg = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the plan in a file instead.", show_default=False)
]
Mermaid = Annotated[bool, typer.Option("--mermaid", help="Print the plan as a Mermaid flowchart.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Show all of every query, and the SQL of every step.")
]
Papers = Annotated[bool, typer.Option("--papers", help="Show what the papers' formulas say, too.")]
Master = Annotated[str | None, typer.Option(metavar="M", help="Spark's master.", show_default="local[*]")]


class Workload(StrEnum):
    """What can be generated."""

    nexmark = "nexmark"
    sensors = "sensors"


class Format(StrEnum):
    """Formats of generated files."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


class Shown(StrEnum):
    """Formats of printed results."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
