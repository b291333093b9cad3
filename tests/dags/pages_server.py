"""The plugin's pages on a port, in place of Airflow's API server: a login by cookie, and an API that needs it.

.airflow/bin/python tests/dags/pages_server.py PORT     with AIRFLOW_VAR_PARITY_LAKE in the environment
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "infra" / "airflow" / "plugins"))

import uvicorn
from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from pages.app import app as pages
from pages.app import readable_dags

# As Airflow shows the page of a plugin, and as it sets its cookie.
SANDBOX = "allow-scripts allow-same-origin allow-forms allow-downloads"


def user(request: Request) -> str:
    if request.cookies.get("_token") != "known":
        raise HTTPException(401)
    return "somebody"


app = FastAPI()
app.mount("/parity", pages)
pages.dependency_overrides |= {get_user: user, readable_dags: lambda: set()}


@app.get("/login")
def login() -> Response:
    answer = HTMLResponse("<h1>logged in</h1>")
    answer.set_cookie("_token", "known", httponly=True, samesite="lax")
    return answer


@app.get("/api/v2/variables", dependencies=[Depends(user)])
def variables() -> dict[str, str]:
    return {"secret": "the secret"}


@app.get("/shown/{path:path}")
def shown(path: str) -> HTMLResponse:
    """A page of Airflow with the plugin's page in its frame."""
    return HTMLResponse(
        f'<h1>Airflow</h1><iframe src="/{path}" sandbox="{SANDBOX}" width="1200" height="900"></iframe>'
    )


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
