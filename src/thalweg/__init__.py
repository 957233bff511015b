"""Thalweg runs continuous SQL on Spark, and takes the path of least cost."""

from thalweg.errors import DataError, EnvironmentProblem, SqlError, ThalwegError, UsageError
from thalweg.version import __version__

__all__ = ["DataError", "EnvironmentProblem", "QueryHandle", "Session", "SqlError", "ThalwegError", "UsageError", "__version__"]


def __getattr__(name: str) -> object:
    """`Session` and its engine are loaded when first used, so that `thalweg version` is quick."""
    if name in ("Session", "QueryHandle"):
        from thalweg import session

        return getattr(session, name)
    raise AttributeError(f"module 'thalweg' has no attribute {name!r}")
