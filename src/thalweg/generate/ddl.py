"""Generated streams as CREATE STREAM statements."""

from __future__ import annotations

from pathlib import Path

from thalweg.expr.quoting import quoted
from thalweg.model.stream import Column
from thalweg.model.windows import duration_text

_SPARK_NAMES = {"VARCHAR": "STRING"}


def statements(schemas: dict[str, tuple[Column, ...]], directory: Path, format: str, delay: int) -> str:
    """One statement per stream, with event time `at` and a watermark delay in microseconds."""
    return "\n".join(
        _statement(stream, columns, directory / stream, format, delay) for stream, columns in schemas.items()
    )


def _statement(stream: str, columns: tuple[Column, ...], path: Path, format: str, delay: int) -> str:
    declared = ", ".join(f"{column.name} {_SPARK_NAMES.get(column.type, column.type)}" for column in columns)
    options = f"format = '{format}', path = {quoted(str(path))}, time = 'at', watermark = '{duration_text(delay) if delay else '0 seconds'}'"
    return f"CREATE STREAM {stream} ({declared})\n  WITH ({options});\n"
