"""Callables as files: a line that says what it is, then the pickle. By cloudpickle, of the version that PySpark brings to every worker.

The user's own modules travel with a function, whose worker may not have them; installed packages must be there.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from thalweg.engine.functions.identity import identity_of
from thalweg.errors import EnvironmentProblem, StateError, UsageError
from thalweg.expr.python import Function

_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_INSTALLED = tuple(
    {str(Path(p).resolve()) for p in (*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix)}
)
_OURS = "thalweg"


@dataclass(frozen=True)
class Head:
    """The first line of a file."""

    name: str
    parameters: tuple[str, ...]
    result: str
    python: str = _PYTHON


def packed(
    name: str, function: Callable[..., Any], parameters: Sequence[str], result: str
) -> tuple[Function, bytes]:
    """A callable as a function of the session, and the file that it is kept in."""
    _check_callable(name, function, len(parameters))
    from pyspark import cloudpickle

    with _own_modules():
        try:
            identity, pickle = identity_of(function), cloudpickle.dumps(function)
        except Exception as e:
            hint = "have it make what can't be shipped (a connection, a lock) when it is first called"
            raise UsageError(f"function {name} can't be shipped: {type(e).__name__}: {e}", hint) from e
    head = json.dumps(asdict(Head(name, tuple(parameters), result)))
    data = head.encode() + b"\n" + pickle
    return Function(name, tuple(parameters), result, identity, hashlib.sha256(data).hexdigest()), data


def unpacked(path: Path, digest: str) -> tuple[Head, Callable[..., Any]]:
    """The callable of a file, if that has the digest that it should have."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise StateError(
            f"{path}: missing, and a query calls the function in it", "restore it from a copy"
        ) from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise StateError(
            f"{path}: damaged: it is not the function that was declared", "restore it from a copy"
        )
    line, _, pickle = data.partition(b"\n")
    said = json.loads(line)
    head = Head(said["name"], tuple(said["parameters"]), said["result"], said["python"])
    if head.python != _PYTHON:
        raise EnvironmentProblem(
            f"function {head.name} was declared in Python {head.python}, and this is {_PYTHON}",
            f"run with Python {head.python}, or declare it again, and the queries that call it",
        )
    from pyspark import cloudpickle

    try:
        return head, cloudpickle.loads(pickle)
    except Exception as e:
        hint = "install what it needs where Spark's workers run"
        raise EnvironmentProblem(
            f"function {head.name} can't be loaded: {type(e).__name__}: {e}", hint
        ) from e


def _check_callable(name: str, function: Callable[..., Any], count: int) -> None:
    if not callable(function):
        raise UsageError(
            f"function {name}: a {type(function).__name__} can't be called", "give a function of Arrow arrays"
        )
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:  # one that can't say what it takes
        return
    except TypeError as e:
        hint = "it gets one Arrow array for each type before the ->"
        raise UsageError(f"function {name}: it can't be called with {count} columns: {e}", hint) from None


@contextmanager
def _own_modules() -> Iterator[None]:
    """The user's own modules are taken along meanwhile, those that a worker has are only named."""
    from pyspark import cloudpickle

    taken = cloudpickle.list_registry_pickle_by_value()
    mine = [m for m in list(sys.modules.values()) if _is_own(m) and m.__name__ not in taken]
    for module in mine:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in mine:
            cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: object) -> bool:
    """Whether a module is neither installed nor part of Python or of Thalweg."""
    if not isinstance(module, ModuleType) or module.__name__.partition(".")[0] in (_OURS, "__main__"):
        return False
    file = getattr(module, "__file__", None)
    return file is not None and not str(Path(file).resolve()).startswith(_INSTALLED)
