"""Thalweg runs continuous SQL on Spark, and takes the path of least cost."""

from typing import TYPE_CHECKING

from thalweg.errors import DataError, EnvironmentProblem, SqlError, ThalwegError, UsageError
from thalweg.version import __version__

if TYPE_CHECKING:
    from thalweg.api.functions import function
    from thalweg.api.handle import QueryHandle
    from thalweg.api.session import Session
    from thalweg.client import connect

__all__ = [
    "DataError",
    "EnvironmentProblem",
    "QueryHandle",
    "Session",
    "SqlError",
    "ThalwegError",
    "UsageError",
    "__version__",
    "connect",
    "function",
]


def __getattr__(name: str) -> object:
    """`Session` and its engine are loaded when first used, so that `thalweg version` is quick."""
    if name == "Session":
        from thalweg.api.session import Session

        return Session
    if name == "QueryHandle":
        from thalweg.api.handle import QueryHandle

        return QueryHandle
    if name == "connect":
        from thalweg.client import connect

        return connect
    if name == "function":
        from thalweg.api.functions import function

        return function
    raise AttributeError(f"module 'thalweg' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is to use, loaded or not."""
    return sorted(__all__)
