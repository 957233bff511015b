"""HTTP: a socket that is ours before anything is said of it, and a thread that answers on it."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from types import TracebackType

import uvicorn

from thalweg.errors import EnvironmentProblem, InternalError, UsageError
from thalweg.service.app import application
from thalweg.service.gate import LOOPBACK, Access
from thalweg.service.last_errors import LOGGED
from thalweg.service.protocol import limited
from thalweg.service.service import Service

START = 30.0
"""Seconds that the server has to come up."""
LAST = 3
"""Seconds that open answers have when the service ends."""
CONNECTIONS = 1_000
SWITCH = 0.001
"""Seconds that a thread which computes (plans, batches) goes on while another wants to answer. Python's own 5 ms are waited for each time
that an answer gives way, to write to its line and back."""


def bound(host: str, port: int) -> socket.socket:
    """A socket at an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=256)
        listening.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # else every answer of two packets waits 40 ms
        return listening
    except socket.gaierror:
        raise UsageError(f"{host}: no address of this machine", "give one with --host") from None
    except PermissionError:
        raise EnvironmentProblem(
            f"{host}:{port}: this user may not listen there", "give a port above 1023 with --port"
        ) from None
    except (OSError, OverflowError) as e:
        raise UsageError(
            f"{host}:{port}: can't listen there ({e})", "give another address with --host and --port"
        ) from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in LOOPBACK or host.startswith("127.")


class Server:
    """Answers requests from when it is entered until it is left."""

    def __init__(self, service: Service, access: Access, listening: socket.socket) -> None:
        self._service, self._listening = service, listening
        config = uvicorn.Config(
            application(service, access),
            http=limited(service.limits.seconds),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=LAST,
            limit_concurrency=CONNECTIONS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([listening],), daemon=True, name="thalweg-http"
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listening.getsockname()[1])

    def __enter__(self) -> Server:
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        logging.getLogger(LOGGED).addHandler(self._service.log)
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        self._thread.start()
        end = time.monotonic() + START
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise InternalError("the server did not start", "its log says more")
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.is_closing = True
        self._service.news.tell()
        self._server.should_exit = True
        self._thread.join(LAST + 2.0)
        self._listening.close()
        sys.setswitchinterval(self._interval)
        logging.getLogger(LOGGED).removeHandler(self._service.log)
