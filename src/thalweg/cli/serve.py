"""`thalweg serve`: a session that many clients drive over HTTP, until SIGTERM or Ctrl-C stops it between two batches."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.cli.run import directory_of
from thalweg.cli.screen import Screen
from thalweg.cli.script import open_session, read_script, show_outcomes
from thalweg.cli.signals import StopWish
from thalweg.cli.sites import ADDRESS
from thalweg.cli.spark_process import start_spark
from thalweg.errors import EnvironmentProblem, UsageError

if TYPE_CHECKING:
    from thalweg.api.session import Session
    from thalweg.service.gate import Access
    from thalweg.service.service import Service

POLL = 0.2


@dataclass(frozen=True)
class Asked:
    """What is asked of `thalweg serve`."""

    script: Path | None
    directory: Path | None
    host: str = "127.0.0.1"
    port: int = 8642
    roots: tuple[Path, ...] = ()
    token_file: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    master: str | None = None
    settings: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


def serve_session(asked: Asked) -> None:
    """Serve a session until somebody stops it."""
    _check_installed()
    from thalweg.service.server import Server, bound

    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING, stream=sys.stderr
    )
    screen, directory = Screen(), _directory(asked)
    text = read_script(asked.script) if asked.script is not None and not asked.script.is_dir() else ""
    with (
        bound(asked.host, asked.port) as listening,
        StopWish() as wish,
        open_session(directory, asked.settings, asked.master, asked.functions) as session,
    ):
        session.console = None
        show_outcomes(screen, session.sql(text, str(asked.script or "")))
        if text:
            session.check()
        start_spark(session)
        wish.listen()
        session.hold()
        service, (access, token) = _service(session, asked), _access(session, asked)
        with (
            Server(service, access, listening) as server,
            _told(session.directory.root, asked.host, server.port),
        ):
            _greet(screen, session, asked, server.port, token)
            while not wish.asked:
                service.keep_running()
                time.sleep(POLL)
            screen.note("stopping after this batch")
            session.stop()
            wish.done()
    screen.say("stopped between two batches; serve it again to go on from here")


@contextmanager
def _told(root: Path, host: str, port: int) -> Iterator[None]:
    """Where it is served stands in the directory meanwhile, for commands that are given only that."""
    path = root / ADDRESS
    path.write_text(f"http://{host_name(host)}:{port}\n")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def host_name(host: str) -> str:
    """A host as it stands in an address.

    >>> host_name("::1"), host_name("127.0.0.1")
    ('[::1]', '127.0.0.1')
    """
    return f"[{host}]" if ":" in host else host


def _check_installed() -> None:
    try:
        import fastapi  # noqa: F401
        import sse_starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as e:
        raise EnvironmentProblem(
            f"the service needs {e.name}, which is not installed", "pip install 'thalweg[serve]'"
        ) from None


def _directory(asked: Asked) -> Path:
    if asked.script is not None:
        return directory_of(asked.script, asked.directory)
    if asked.directory is None:
        raise UsageError(
            "neither a script nor a directory is given",
            "write thalweg serve APP.sql, or thalweg serve --dir DIR",
        )
    return asked.directory


def _service(session: Session, asked: Asked) -> Service:
    from thalweg.service.limits import limits_of
    from thalweg.service.roots import Roots
    from thalweg.service.service import Service
    from thalweg.service.tokens import FILE

    kept, folders = session.directory, list(asked.roots)
    if asked.script is not None and not asked.script.is_dir() and not folders:
        folders = [asked.script.parent]
    tokens = (kept.root / FILE, *([asked.token_file] if asked.token_file else []))
    return Service(
        session, Roots((*folders, kept.root), kept.root, kept.results, tokens), limits_of(asked.limits)
    )


def _access(session: Session, asked: Asked) -> tuple[Access, str | None]:
    """Who may ask; and the token that was made, if no file of tokens was given."""
    from thalweg.service.gate import LOOPBACK, Access
    from thalweg.service.tokens import FILE, made_token, token_of, tokens_in

    hosts = (*LOOPBACK, asked.host, *asked.allow_hosts)
    if asked.token_file is not None:
        return Access(tokens_in(asked.token_file), hosts), None
    token = made_token(session.directory.root / FILE)
    return Access((token_of(token),), hosts), token


def _greet(screen: Screen, session: Session, asked: Asked, port: int, token: str | None) -> None:
    """Where the service is; with the token that was made, which stands behind the # and so is in no log of a server."""
    from thalweg.service.server import is_loopback

    link = f"http://{host_name(asked.host)}:{port}/{f'#token={token}' if token else ''}"
    screen.say(f"serving {session.directory.root} at {link}")
    if not is_loopback(asked.host):
        screen.note(
            "warning: others can reach this address, and HTTP is not encrypted: put a proxy with TLS before it"
        )
    sys.stdout.flush()
