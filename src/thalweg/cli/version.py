"""`thalweg version`: what is installed here."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from thalweg import __version__
from thalweg.cli.screen import Screen


def show_versions() -> None:
    """The versions of Thalweg, Spark, DuckDB, Python and Java."""
    screen = Screen()
    parts = {
        "thalweg": __version__,
        "spark": _package("pyspark"),
        "duckdb": _package("duckdb"),
        "python": platform.python_version(),
        "java": java_version() or "not found: install Java 17, or set JAVA_HOME",
    }
    for name, found in parts.items():
        screen.say(f"{name:<8} {found}")


def java_version() -> str | None:
    """The version of the Java that Spark would use."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else None


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
