"""The pages: an overview, one for each run, and the files that the commands wrote.

Every route asks for the user but one, that of the script which the reports' charts are drawn with. It has to be open: a
report has an origin of its own, so the browser sends no login along with what it loads. And it may be: everybody can have it.
"""

from pathlib import Path
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pages import kept
from pages.pending import pending

# Pages show ids that come from events. They are escaped; should one slip through, it is not to act as the user.
_NOTHING_ELSE = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; connect-src 'none'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
PAGE = f"{_NOTHING_ELSE}; frame-src 'self'"
"""Without any script."""
REPORT = f"sandbox allow-scripts; {_NOTHING_ELSE}; script-src 'unsafe-inline' 'self'"
"""Its charts are scripts, so it has an origin of its own: for the browser it is no page of Airflow. `connect-src` alone
would not do: a script of the same origin can frame another page of it and use that one's `fetch`. `self` is for the charts'
script; whatever else is loaded by it comes without the login, and is refused."""
DOCS = f"sandbox allow-same-origin; {_NOTHING_ELSE}"
"""Without any script, so it can keep its origin: a link from page to page in a frame takes the login along."""

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)

# Without the pages that FastAPI makes of itself: they would not ask for the user.
app = FastAPI(title="Parity", dependencies=[Depends(get_user)], docs_url=None, redoc_url=None, openapi_url=None)


def script(request: Request) -> Response:
    """The charts' script. Its name says its version, so nobody has to ask for it twice."""
    found = kept.inside(kept.lake() / "reports", f"plotly-{request.path_params['version']}.min.js")
    if found is None:
        return PlainTextResponse("There is no such file.", status_code=404)
    kept_long = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return FileResponse(found, media_type="text/javascript", headers=kept_long)


app.add_route("/reports/plotly-{version}.min.js", script)  # not one of FastAPI's, which would ask for the user


def readable_dags(user: Annotated[Any, Depends(get_user)]) -> set[str]:
    """The DAGs that the user may look at in Airflow."""
    return set(get_auth_manager().get_authorized_dag_ids(user=user))


@app.get("/")
def overview(request: Request, readable: Annotated[set[str], Depends(readable_dags)]) -> HTMLResponse:
    """What waits for a person, and everything that was kept, newest first."""
    return _page(
        "overview.html.j2",
        request,
        pending=pending(readable),
        lake=kept.lake(),
        reconciliations=kept.reconciliations(),
        quality=kept.quality_runs(),
        decisions=kept.decisions(),
        failures=kept.failures(),
        docs=kept.inside(kept.lake() / "quality" / "docs", "index.html") is not None,
    )


@app.get("/runs/{dag_id}/{run_id}")
def run(request: Request, dag_id: str, run_id: str) -> HTMLResponse:
    """What one run has left: its verdict and its report, the expectations that it checked, its decision, its failures."""
    name = f"{dag_id}.{run_id}"
    lake = kept.lake()
    return _page(
        "run.html.j2",
        request,
        name=name,
        verdict=kept.said(kept.inside(lake / "reports", f"{name}.json"), kept.VERDICT),
        report=kept.inside(lake / "reports", f"{name}.html") is not None,
        quality=kept.said(kept.inside(lake / "quality" / "runs", f"{name}.json"), kept.QUALITY),
        decision=kept.said(kept.inside(lake / "decisions", f"{name}.json"), kept.DECISION),
        failures=[each for each in kept.failures(200).entries if (each["dag"], each["run"]) == (dag_id, run_id)],
    )


@app.get("/reports/{file}")
def report(file: str) -> FileResponse:
    return _file(REPORT, kept.lake() / "reports", file)


@app.get("/docs/{path:path}")
def data_docs(path: str) -> FileResponse:
    return _file(DOCS, kept.lake() / "quality" / "docs", *path.split("/"))


def _file(policy: str, directory: Path, *parts: str) -> FileResponse:
    found = kept.inside(directory, *parts)
    if found is None:
        raise HTTPException(404, "There is no such file.")
    return FileResponse(found, headers=_guarded(policy))


def _page(template: str, request: Request, **shown: Any) -> HTMLResponse:
    at = request.scope.get("root_path", "").rstrip("/")
    rendered = _templates.get_template(template).render(at=at, airflow=at.removesuffix("/parity"), **shown)
    return HTMLResponse(rendered, headers=_guarded(PAGE))


def _guarded(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
