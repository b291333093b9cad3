"""What goes wrong, as a sentence: which value, and what to do. No stack trace and no path of this machine leaves."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import JSONResponse

from lakehouse.errors import NothingToCompare, ParityError, UnknownResult, UnknownVersion
from lakehouse.lake import Lake

_log = logging.getLogger("parity.serve")
NOT_THERE = (UnknownResult, UnknownVersion, NothingToCompare)


def told_errors(app: FastAPI, lake: Lake) -> None:
    """Let the application answer errors with sentences."""

    @app.exception_handler(ParityError)
    def refused(_: Request, error: ParityError) -> JSONResponse:
        code = 404 if isinstance(error, NOT_THERE) else 422
        return JSONResponse({"detail": str(error).replace(str(lake.path), "the lake")}, code)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"detail": " ".join(_sentence(each) for each in error.errors())}, 422)

    @app.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> JSONResponse:
        _log.error("%s %s", request.method, request.url.path, exc_info=error)
        return JSONResponse(
            {"detail": "This is a fault of the server, which has noted it in its log. Try again later."}, 500
        )


def _sentence(detail: Any) -> str:
    where = ".".join(str(part) for part in detail["loc"][1:])
    if detail["type"] == "extra_forbidden":
        return f"{where}: there is no such parameter."
    said = str(detail["msg"]).removeprefix("Value error, ")
    given = "" if detail["type"] == "missing" else f" = {str(detail['input'])[:100]!r}"
    return f"{where}{given}: {said}."
