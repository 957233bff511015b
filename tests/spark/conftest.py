"""One Spark session serves all Spark tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from thalweg.engine.spark import start_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    os.environ["JAVA_TOOL_OPTIONS"] = (
        "-XX:TieredStopAtLevel=1"  # a young JVM spends most of its time compiling itself
    )
    session = start_spark("local[2]")
    yield session
    session.stop()
