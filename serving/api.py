"""The API of a lake: results as each layer answers them, their history, the verdicts, and how everything stands.

    parity serve --lake LAKE

It reads the tables without a JVM and without a lock, while ingestion, streams, repairs and maintenance write them. Each
answer is of one pinned version of every table that it needs, and says which. The routes are thin: what is asked is typed in
parameters.py, what is answered comes from reader.py, standing.py and verdicts.py.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path as Folder
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.staticfiles import StaticFiles
from fastapi_offline import FastAPIOffline
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse

from lakehouse.lake import Lake
from lakehouse.pseudonyms import lake_key
from lakehouse.settings import Settings
from serving.answers import Answers
from serving.cursors import Cursors
from serving.errors import told_errors
from serving.formats import ARROW, CSV, FORMATS, JSON, accepted
from serving.guards import Guard
from serving.metrics import metrics
from serving.parameters import Page, Revisions, Rows
from serving.reader import Reader
from serving.remembered import Body
from serving.schemas import (
    Catalogue,
    Health,
    History,
    Pipeline,
    Problem,
    Reconciliation,
    Reconciliations,
    ResultRows,
    Starting,
)
from serving.standing import Standing
from serving.starting import starting
from serving.story import told_story

PAGE = Folder(__file__).parent / "page"
Name = Annotated[str, Path(description="A result by its name, or a version of it: `door_counts@2`", max_length=200)]
Run = Annotated[str, Path(description="The id of a reconciliation", max_length=200)]
Problems = dict[int | str, dict[str, Any]]


def _problems(*codes: int) -> Problems:
    meanings = {
        401: "The token is missing or another",
        404: "There is no such thing, or not yet: the sentence says which",
        406: f"None of the accepted formats is one of {', '.join(FORMATS)}",
        422: "A parameter is not possible: the sentence says which and why",
    }
    return {code: {"model": Problem, "description": meanings[code]} for code in codes}


def application(lake: Lake, settings: Settings) -> FastAPI:
    """The application that serves a lake."""
    reader = Reader(lake, settings)
    cursors, standing = Cursors(lake_key(lake)), Standing(reader)
    answers = Answers(reader, cursors)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with reader:
            yield

    app: FastAPI = FastAPIOffline(
        title="Parity",
        summary="Results of an event log as the Kappa and the Lambda architecture answer them.",
        version="1",
        lifespan=lifespan,
        responses=_problems(401),
    )
    app.add_middleware(Guard, token=settings.serving.token)
    told_errors(app, lake)

    async def sent(request: Request, asked: Callable[[str], Body]) -> Response:
        """The answer in the format that the client accepts; nothing, if it has this one already."""
        media_type = accepted(request.headers.get("accept"))
        if media_type is None:
            return Response(_NOT_ACCEPTABLE, 406, media_type=JSON)
        body = await run_in_threadpool(asked, media_type)
        headers = {**body.headers, "Cache-Control": "no-cache", "Vary": "Accept"}
        if request.headers.get("if-none-match") == body.headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(body.content, media_type=body.media_type, headers=headers)

    @app.get("/pipeline", response_model=Pipeline, tags=["results"])
    def pipeline() -> dict[str, Any]:
        """What the lake is of, and which of its results stand for the others."""
        return told_story(lake.pipeline)

    @app.get("/results", response_model=Catalogue, tags=["results"])
    def results() -> dict[str, Any]:
        """The catalogue: every result with its key, values and window, its live version, and where each layer stands."""
        return standing.now()

    @app.get(
        "/results/{name}",
        tags=["results"],
        responses={**_problems(404, 406, 422), 200: _formats(ResultRows)},
        response_model=None,
    )
    async def rows(request: Request, name: Name, asked: Annotated[Rows, Query()]) -> Response:
        """The rows of a result as one layer answers them, ordered by window and key, page by page."""
        return await sent(request, lambda media_type: answers.rows(name, asked, media_type))

    @app.get("/results/{name}/history", response_model=History, tags=["results"], responses=_problems(404, 422))
    def history(name: Name, asked: Annotated[Revisions, Query()]) -> dict[str, Any]:
        """The revisions of one result of the stream: early, updated, settled, corrected; and since when it is settled."""
        return answers.history(name, asked)

    @app.get("/reconciliations", response_model=Reconciliations, tags=["verdicts"], responses=_problems(422))
    def reconciliations(asked: Annotated[Page, Query()]) -> dict[str, Any]:
        """The verdicts, newest first."""
        return answers.reconciliations(asked)

    @app.get("/reconciliations/{run}", response_model=Reconciliation, tags=["verdicts"], responses=_problems(404, 422))
    def reconciliation(run: Run, asked: Annotated[Page, Query()]) -> dict[str, Any]:
        """One verdict with its differences, each with the causes that were earned and the events that they name."""
        return answers.reconciliation(run, asked)

    @app.get("/health", response_model=Health, tags=["operation"])
    def health() -> dict[str, Any]:
        """Whether the server answers and the lake can be read."""
        return {"status": "ok", "log_version": standing.now()["log"]["version"]}

    @app.get("/starting", response_model=Starting, tags=["operation"])
    def coming_up() -> dict[str, Any]:
        """What `parity live` has started, is starting and will start, with the time that each takes."""
        return starting(lake)

    @app.get("/metrics", tags=["operation"], response_model=None, responses={200: {"content": {"text/plain": {}}}})
    def prometheus() -> Response:
        """Lag, late, duplicate, quarantined, repairs, unexplained, micro-batches: in Prometheus' text format."""
        content, media_type = metrics(lake, standing, reader)
        return Response(content, media_type=media_type)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", headers={"Content-Security-Policy": _ONLY_FROM_HERE, **_ASK_AGAIN})

    app.mount("/page", _PageFiles(directory=PAGE))
    return app


class _PageFiles(StaticFiles):
    """The scripts belong together: a browser must not keep some of them when Parity is replaced by a newer one."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        response = super().file_response(*given, **more)
        response.headers.update(_ASK_AGAIN)
        return response


_ONLY_FROM_HERE = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_ASK_AGAIN = {"Cache-Control": "no-cache"}
_NOT_ACCEPTABLE = Problem(
    detail=f"None of the formats in Accept can be sent. There are: {', '.join(FORMATS)}."
).model_dump_json()


def _formats(model: Any) -> dict[str, Any]:
    other = {"schema": {"type": "string", "format": "binary"}}
    return {"model": model, "content": {CSV: other, ARROW: other}, "description": "The rows, and what they are of"}
