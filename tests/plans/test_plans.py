"""EXPLAIN of every script here is what stands beside it, as text and as JSON; `make golden` writes both anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thalweg.session import Session

SCRIPTS = sorted(Path(__file__).parent.glob("*.sql"))
REWRITE = os.environ.get("REWRITE") == "1"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_explain(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path / "session")
    session.sql(script.read_text(), script.name)
    found = session.explain()
    for suffix, text in ((".txt", found.text), (".json", found.json())):
        golden = script.with_suffix(suffix)
        if REWRITE:
            golden.write_text(f"{text}\n")
        assert f"{text}\n" == golden.read_text()
