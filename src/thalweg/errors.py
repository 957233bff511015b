"""Errors by whose fault they are: the user's SQL, the user's data, the environment, or ours."""

from __future__ import annotations


class ThalwegError(Exception):
    """Base of every error that Thalweg raises on purpose: which thing, then a hint that is an action."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"


class SqlError(ThalwegError):
    """The user's SQL is wrong or not supported: carries the place in the text."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        text: str = "",
        line: int | None = None,
        column: int | None = None,
        length: int = 1,
        origin: str = "",
    ) -> None:
        super().__init__(message, hint)
        self.text, self.line, self.column, self.length, self.origin = text, line, column, length, origin

    def __str__(self) -> str:
        if self.line is None or self.column is None:
            return super().__str__()
        lines = self.text.splitlines() or [""]
        shown = lines[self.line - 1] if self.line <= len(lines) else ""
        width = max(1, min(self.length, len(shown) - self.column + 1))
        gutter = f"{self.line:>4} | "
        before = "".join(c if c == "\t" else " " for c in shown[: self.column - 1])
        marked = f"{gutter}{shown}\n{' ' * (len(gutter) - 2)}| {before}{'^' * width}"
        place = f"{self.origin}:" if self.origin else ""
        head = f"{self.message} (at {place}{self.line}:{self.column})"
        return f"{head}\n{marked}" + (f"\n  hint: {self.hint}" if self.hint else "")


class DataError(ThalwegError):
    """The user's data can't be read as declared: names the file."""


class FunctionError(ThalwegError):
    """A Python function of the user's raised, or gave no array of the declared type and length: has its name, and what it raised."""


class UsageError(ThalwegError):
    """A call or command that can't be carried out as asked: a missing name, a directory in use."""


class Backlog(UsageError):
    """More rows wait to be read than are taken: to be tried again, after some `seconds`."""

    def __init__(self, message: str, hint: str | None = None, seconds: int = 1) -> None:
        super().__init__(message, hint)
        self.seconds = seconds


class StatementError(SqlError, UsageError):
    """A statement that can't be carried out as asked: carries its place in the text."""


class EnvironmentProblem(ThalwegError):
    """The machine lacks something: Java, disk space, a writable directory."""

    exit_code = 2


class StateError(EnvironmentProblem):
    """The session directory can't be used: another version wrote it, or a file of it is damaged."""


class InternalError(ThalwegError):
    """A defect of Thalweg itself."""

    exit_code = 3
