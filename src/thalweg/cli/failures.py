"""Errors by whose fault they are: what is printed, and the exit code."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text
from typer.core import TyperGroup

from thalweg import __version__
from thalweg.cli.screen import Screen, discard
from thalweg.errors import InternalError, ThalwegError

USER, DEFECT = 1, 3
DISK = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
}
"""Refusals of the operating system, which no change of the script can help."""


class Commands(TyperGroup):
    """The commands, with every error that leaves one of them turned into a message and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit: 0, 1 the user's mistake, 2 the environment, 3 a defect."""
        given = list(sys.argv[1:] if args is None else args) or ["--help"]
        debug = "--debug" in given or os.environ.get("THALWEG_DEBUG", "") not in ("", "0")
        rest = [a for a in given if a != "--debug"]
        try:
            with warnings.catch_warnings(action="default" if debug else "ignore"):
                code = super().main(rest, "thalweg", complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            discard(sys.stdout)
            code = USER
        except Exception as error:
            code = report(error, debug, given)
        sys.exit(code if isinstance(code, int) else 0)


def report(error: Exception, debug: bool, args: Sequence[str]) -> int:
    """Tell the user what went wrong; returns the exit code."""
    if debug:
        traceback.print_exception(error)
    if hasattr(error, "format_message"):
        return _usage(error)
    if isinstance(error, ThalwegError) and not isinstance(error, InternalError):
        _say("error", str(error))
        return error.exit_code
    if (found := _environment(error)) is not None:
        _say("error", str(found))
        return found.exit_code
    return _defect(error, args)


def _environment(error: Exception) -> ThalwegError | None:
    """What an error from below says about the machine, if that is where the fault is."""
    from thalweg.engine.mishaps import is_from_spark, mishap

    if not is_from_spark(error) and not (isinstance(error, OSError) and error.errno in DISK):
        return None
    found = mishap(error)
    return None if isinstance(found, InternalError) else found


def _usage(error: Any) -> int:
    """What the command line's grammar refuses."""
    text = error.format_message().replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "thalweg"
    _say("error", f"{text[:1].lower()}{text[1:]}\n  hint: {command} --help lists what there is")
    return USER


def _defect(error: Exception, args: Sequence[str]) -> int:
    said = (str(error).strip().splitlines() or [""])[0]
    what = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {said}"
    _say(
        "internal error",
        f"{what}\n  hint: this is a defect of Thalweg: please report it with {_written(error, args)}",
    )
    return DEFECT


def _written(error: Exception, args: Sequence[str]) -> Path:
    """The file that a report of a defect needs."""
    name = time.strftime("thalweg-error-%Y%m%d-%H%M%S-")
    head = f"thalweg {__version__}, Python {sys.version.split()[0]}, {sys.platform}\nthalweg {' '.join(args)}\n\n"
    with tempfile.NamedTemporaryFile(
        "w", prefix=name, suffix=".txt", delete=False, encoding="utf-8", errors="replace"
    ) as file:
        file.write(head + "".join(traceback.format_exception(error)))
    return Path(file.name)


def _say(kind: str, text: str) -> None:
    Screen().err.print(Text.assemble((f"{kind}:", "bold red"), f" {text}"), soft_wrap=True)
