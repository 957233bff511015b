"""Dependencies point down: who may import whom, and where Spark and DuckDB may be used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "thalweg"
# Lower layers first; a module may import from its own layer and from those below.
LAYERS = (
    ("errors", "once", "version"),
    ("expr",),
    ("model",),
    ("statistics.records",),
    ("sql", "plan"),
    (
        "optimizer.cost.join_engine",
        "optimizer.cost.widths",
        "optimizer.cost.matching",
        "optimizer.cost.partners",
        "optimizer.cost.orders",
        "optimizer.cost.calibration",
    ),
    ("compile",),
    ("state", "statistics.constants"),
    ("statistics",),
    ("optimizer",),
    ("connectors", "generate"),
    ("engine", "api.results"),
    ("statistics.sampling", "api.declaring"),
    ("explain", "api.console", "api.outcomes", "api.show", "api.status", "api.usage"),
    ("api",),
    ("service", "client"),
    ("cli", "testing"),
)
SPARK = ("engine", "connectors", "api", "cli")
DUCKDB = (
    "engine/kernel",
    "connectors",
    "generate",
    "testing",
    "statistics/sampling.py",
    "api/declaring.py",
    "cli/version.py",
)
# The one place where a source runs the kernel's packing inside a task.
ALLOWED = {("connectors.dataframe", "engine")}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{a.name}" for a in node.names)


def level(name: str) -> int:
    """The layer of a module, by the longest name that a layer has."""
    parts = name.split(".")
    names = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next(i for found in names for i, layer in enumerate(LAYERS) if found in layer)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    relative = path.relative_to(ROOT)
    mine = ".".join(relative.with_suffix("").parts)
    for name in imports(path):
        if name == "thalweg" or not name.startswith("thalweg.") or mine in ("__init__", "__main__"):
            continue
        other = name.removeprefix("thalweg.")
        if other in ("__version__", "Session", "QueryHandle"):
            continue
        allowed = (mine, other.split(".")[0]) in ALLOWED
        assert level(other) <= level(mine) or allowed, f"{relative} imports {name}, which stands above it"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_spark_and_duckdb_stay_in_their_rooms(path: Path) -> None:
    relative = str(path.relative_to(ROOT))
    used = {name.split(".")[0] for name in imports(path)}
    assert "pyspark" not in used or relative.startswith(SPARK), f"{relative} imports pyspark"
    assert "duckdb" not in used or relative.startswith(DUCKDB), f"{relative} imports duckdb"
