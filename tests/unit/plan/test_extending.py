"""What a new evaluation, aggregate or sink touches: nothing in the package knows them by name but the two files that define them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.connectors.base import sink_at
from thalweg.model.aggregates import AGGREGATES
from thalweg.model.settings import EVALUATIONS as NAMES
from thalweg.model.target import SINKS

ROOT = Path(__file__).parents[3] / "src" / "thalweg"
WINDOWED_WORDS = {"COUNT", "FIRST", "LAST", "MIN", "MAX", "SUM"}
"""Names of aggregates that are words of other things too."""


def texts(path: Path) -> Iterator[str]:
    yield from (
        n.value
        for n in ast.walk(ast.parse(path.read_text()))
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )


def named_in(names: set[str]) -> dict[str, set[str]]:
    """The files that have a name as a whole text."""
    found = {str(p.relative_to(ROOT)): names & set(texts(p)) for p in ROOT.rglob("*.py")}
    return {p: n for p, n in found.items() if n and not p.startswith("testing/")}


@pytest.mark.parametrize("name", NAMES)
def test_an_evaluation_is_its_file_and_its_name_in_the_settings(name: str) -> None:
    assert EVALUATIONS[name].name == name and EVALUATIONS[name].words
    planning = ("model/", "plan/", "compile/", "statistics/", "optimizer/", "explain/", "engine/kernel/")
    found = {path for path in named_in({name}) if path.startswith(planning)}
    assert found == {"model/settings.py", f"compile/evaluations/{name}.py"}


def test_an_aggregate_is_its_definition_and_its_names_in_sql() -> None:
    own = {n for n in AGGREGATES if n not in WINDOWED_WORDS}
    elsewhere = set(named_in(own)) - {"model/aggregates.py", "sql/aggregates.py"}
    words_and_counts = {
        "explain/words.py",
        "plan/nodes.py",
        "sql/join_results.py",
        "sql/ranked.py",
        "sql/running.py",
    }
    assert elsewhere <= words_and_counts, (
        "COUNT(*) is spelled, counts rows of sets, FIRST of a join is MIN_BY, and the first rows are asked for by ROW_NUMBER"
    )


@pytest.mark.parametrize("scheme", SINKS)
def test_a_sink_is_its_module_and_its_target(scheme: str, tmp_path: Path) -> None:
    assert type(sink_at(f"{scheme}://x" if scheme else str(tmp_path))).__module__.endswith(SINKS[scheme])
