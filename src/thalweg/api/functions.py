"""Functions for SQL that stand in a Python file: marked by a decorator there, found and declared by whoever is given the file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from thalweg.engine.functions.packing import packed
from thalweg.errors import UsageError
from thalweg.expr.python import Function
from thalweg.sql.signatures import check_function_name, signature_of

if TYPE_CHECKING:
    from thalweg.api.session import Session

Made = TypeVar("Made", bound=Callable[..., Any])
_MARK = "__thalweg_function__"


def function(signature: str, name: str | None = None) -> Callable[[Made], Made]:
    """Mark a function as one that SQL may call, under its own name or another; it stays what it is.

    >>> @function("BIGINT -> BIGINT", name="twice")
    ... def doubled(values):
    ...     return [v * 2 for v in values]
    >>> doubled([1, 2])
    [2, 4]
    """

    def marked(made: Made) -> Made:
        setattr(made, _MARK, (name or made.__name__, signature))
        return made

    return marked


def made_of(name: str, function: Callable[..., Any], signature: str) -> tuple[Function, bytes]:
    """A callable as a function of a session, and the file that it is kept in."""
    check_function_name(name)
    return packed(name, function, *signature_of(signature, name))


def declare_from(session: Session, where: str) -> tuple[str, ...]:
    """Declare the marked functions of a Python file, or of a module by its name; returns their names."""
    found = list(_marked(_module(where)))
    if not found:
        raise UsageError(
            f"{where}: no function in it is marked",
            'write @thalweg.function("BIGINT -> DOUBLE") before those for SQL',
        )
    for name, made, signature in found:
        session.function(name, made, signature)
    return tuple(name for name, _, _ in found)


def _marked(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any], str]]:
    for made in vars(module).values():
        if (mark := getattr(made, "__dict__", {}).get(_MARK)) is not None:
            yield mark[0], made, mark[1]


def _module(where: str) -> ModuleType:
    path = Path(where)
    try:
        if path.suffix == ".py":
            return _from_file(path.resolve())
        sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(where)
    except FileNotFoundError:
        raise UsageError(f"{where}: no such file", "give a Python file, or the name of a module") from None
    except Exception as e:
        said = (str(e).splitlines() or [""])[0]
        raise UsageError(
            f"{where} can't be loaded: {type(e).__name__}: {said}", "run it with Python to see where"
        ) from e


def _from_file(path: Path) -> ModuleType:
    """A module of its own; what lies beside the file can be imported in it."""
    name = f"functions_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
