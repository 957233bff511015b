"""What INTO names: where the results of a query go."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.errors import UsageError
from thalweg.model.paths import refused_path


@dataclass(frozen=True)
class Files:
    """Parquet files in a directory."""

    path: str

    def address(self, default: str) -> str:
        """Where its sink writes; `default` is the query's own directory in the session's."""
        return self.path


@dataclass(frozen=True)
class Console:
    """Printed as they come, and kept in the session's own directory as without INTO."""

    def address(self, default: str) -> str:
        """Where its sink writes."""
        return default


Target = Files | Console
TARGETS = (Files, Console)
CONSOLE = "console"
# The module of `connectors` that writes to an address, by its scheme.
SINKS = {"": "parquet"}


def target_of(text: str | None) -> Target | None:
    """What an INTO says; None where a query has none, and its results stay in the session's directory.

    >>> target_of("out/q"), target_of("console"), target_of(None)
    (Files(path='out/q'), Console(), None)
    """
    if text is None:
        return None
    refused, scheme = refused_path(text, writes=True), scheme_of(text)
    if refused and not (scheme and scheme in SINKS):
        raise UsageError(*refused)
    return Console() if text == CONSOLE else Files(text)


def into_text(target: Target | None) -> str | None:
    """The INTO that says a target.

    >>> into_text(Files("out/q")), into_text(Console()), into_text(None)
    ('out/q', 'console', None)
    """
    return target.path if isinstance(target, Files) else None if target is None else CONSOLE


def scheme_of(address: str) -> str:
    """What stands before the `://` of an address; a plain path has nothing there."""
    return address.partition("://")[0] if "://" in address else ""


def address_of(target: Target | None, default: str) -> str:
    """Where results go: as asked, or to the query's own directory in the session's."""
    return default if target is None else target.address(default)
