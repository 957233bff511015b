"""EXPLAIN of every script here is what stands beside it, as text and as JSON; `make golden` writes both anew.

The JSON is that of a plan's structure: without SQL, with numbers in place of the hashes in names, and without costs, in sentences too.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from thalweg.api.session import Session

SCRIPTS = sorted(Path(__file__).parent.glob("*.sql"))
REWRITE = os.environ.get("REWRITE") == "1"
FIGURE = re.compile(r"(?<!\w)\d+(?:\.\d+)?(?!\w)")
HASH = re.compile(r"_([0-9a-f]{6})(?:[0-9a-f]{26})?\b")


def structure(data: Any) -> Any:
    """What is the same whatever a machine measures, and however SQL is written."""
    if isinstance(data, dict):
        kept = {k: structure(v) for k, v in data.items() if k != "sql" and not isinstance(v, float)}
        return {k: FIGURE.sub("N", v) if k == "reason" else v for k, v in kept.items()}
    return [structure(v) for v in data if not isinstance(v, float)] if isinstance(data, list) else data


def numbered(text: str) -> str:
    """Text with the hashes of names numbered as they first appear."""
    numbers: dict[str, int] = {}
    return HASH.sub(lambda m: f"_{numbers.setdefault(m[1], len(numbers) + 1)}", text)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_explain(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path / "session")
    session.sql(script.read_text(), script.name)
    found = session.explain()
    for suffix, text in ((".txt", found.text), (".json", json.dumps(structure(found.data), indent=2))):
        golden = script.with_suffix(suffix)
        if REWRITE:
            golden.write_text(f"{numbered(text)}\n")
        assert f"{numbered(text)}\n" == golden.read_text()
