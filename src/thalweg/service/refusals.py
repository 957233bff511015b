"""What is refused, as JSON: which thing, what to do, and in SQL the place. No traceback leaves the process."""

from __future__ import annotations

import logging
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from thalweg.engine.kernel.pushing import BadRows
from thalweg.errors import Backlog, EnvironmentProblem, InternalError, SqlError, ThalwegError

_log = logging.getLogger("thalweg.service")


class Refused(Exception):
    """A request that is not carried out, with the status that says whose fault that is."""

    def __init__(
        self, status: int, message: str, hint: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.hint, self.headers = status, message, hint, headers or {}

    @property
    def response(self) -> JSONResponse:
        """What the client gets."""
        return JSONResponse(
            {"error": {"message": self.message, "hint": self.hint}}, self.status, self.headers
        )


def error_data(error: ThalwegError) -> dict[str, Any]:
    """An error as plain values; of SQL with its place: line and column count from 1."""
    place: dict[str, Any] = {}
    if isinstance(error, SqlError) and error.line is not None:
        place = {"line": error.line, "column": error.column, "length": error.length}
    if isinstance(error, BadRows):
        place = {
            "bad_rows": error.count,
            "rows": [
                {"place": r.place, "column": r.column, "value": r.value, "reason": r.why} for r in error.rows
            ],
        }
    return {"message": error.message, "hint": error.hint, **place}


def status_of(error: ThalwegError) -> int:
    """The status of an error: 400 the text, 422 rows, 429 too many of them, 409 what can't be done as things are, 503 the machine, 500 a
    defect.

    >>> status_of(SqlError("no column v")), status_of(EnvironmentProblem("the disk is full"))
    (400, 503)
    """
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 409)


STATUSES: dict[type[ThalwegError], int] = {
    InternalError: 500,
    SqlError: 400,
    EnvironmentProblem: 503,
    BadRows: 422,
    Backlog: 429,
}


def answer_errors(app: FastAPI) -> None:
    """Have every error that leaves a route answered as JSON."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(ThalwegError, _known)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _defect)


def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)
    return error.response


def _known(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ThalwegError)
    if isinstance(error, InternalError):
        return _defect(request, error)
    headers = {"retry-after": str(error.seconds)} if isinstance(error, Backlog) else None
    return JSONResponse({"error": error_data(error)}, status_of(error), headers)


def _malformed(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = " ".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return Refused(
        422, f"{where}: {str(first['msg']).lower()}", "GET /v1/openapi.json says what is taken"
    ).response


def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    hint = "GET /v1/openapi.json lists what there is" if error.status_code in (404, 405) else None
    return Refused(error.status_code, str(error.detail).lower(), hint, dict(error.headers or {})).response


def _defect(request: Request, error: Exception) -> JSONResponse:
    """A defect is written to the log of the process under a number, which is all that the client learns."""
    number = uuid4().hex[:12]
    _log.error("defect %s in %s %s", number, request.method, request.url.path, exc_info=error)
    return Refused(
        500, f"internal error {number}", "the log of the service has it under this number; please report it"
    ).response
