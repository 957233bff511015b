"""One Spark session serves all Spark tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg.engine.spark import start_spark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run in several processes, those of this folder run in one, beside one Spark."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    os.environ["JAVA_TOOL_OPTIONS"] = (
        "-XX:TieredStopAtLevel=1"  # a young JVM spends most of its time compiling itself
    )
    session = start_spark("local[2]")
    yield session
    session.stop()
