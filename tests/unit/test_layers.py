"""Dependencies point down: who may import whom, and where Spark and DuckDB may be used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "thalweg"
# Lower layers first; a module may import from its own layer and from those below.
LAYERS = (
    ("errors", "version"),
    ("logical", "config"),
    ("sql", "optimizer", "catalog"),
    ("plan", "calibrated"),
    ("state",),
    ("known", "planning", "sinks", "sources"),
    ("engine", "results"),
    ("sampling", "declaring"),
    ("explain", "show", "status"),
    ("session", "demo"),
    ("cli", "testing"),
)
SPARK = ("engine", "sources", "session", "cli")
DUCKDB = ("engine/kernel", "sources", "testing", "sampling.py", "declaring.py", "cli/version.py")
# The one place where a source runs the kernel's packing inside a task.
ALLOWED = {("sources", "engine")}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{a.name}" for a in node.names)


def room(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


def level(name: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    relative = path.relative_to(ROOT)
    mine = room(relative.parts)
    for name in imports(path):
        if name == "thalweg" or not name.startswith("thalweg.") or mine in ("__init__", "__main__"):
            continue
        other = name.split(".")[1]
        if other in ("__version__", "Session", "QueryHandle"):
            continue
        assert level(other) <= level(mine) or (mine, other) in ALLOWED, f"{relative} imports {name}, which stands above it"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_spark_and_duckdb_stay_in_their_rooms(path: Path) -> None:
    relative = str(path.relative_to(ROOT))
    used = {name.split(".")[0] for name in imports(path)}
    assert "pyspark" not in used or relative.startswith(SPARK), f"{relative} imports pyspark"
    assert "duckdb" not in used or relative.startswith(DUCKDB), f"{relative} imports duckdb"
