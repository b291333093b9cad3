"""What the API's own document allows is asked, by generated requests: no fault, no answer that it does not promise."""

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

PATHS = (
    "/pipeline",
    "/results",
    "/results/{name}",
    "/results/{name}/history",
    "/reconciliations",
    "/reconciliations/{run}",
    "/health",
    "/metrics",
    "/starting",
)
WRONG = [path for path in PATHS if "{" in path or path == "/reconciliations"]
"""Without parameters there is nothing to get wrong."""
ASKED = [(path, GenerationMode.POSITIVE) for path in PATHS] + [(path, GenerationMode.NEGATIVE) for path in WRONG]
LONGEST = 5_000
"""Characters of a query; a request of more than 64 kB is none for the server, and no part of the API sees it."""
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def document(address: str) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{address}/openapi.json")


def test_the_document_has_every_path(document: schemathesis.BaseSchema) -> None:
    assert set(document) == set(PATHS)


@pytest.mark.parametrize(("path", "mode"), ASKED)
def test_every_answer_is_one_that_the_document_promises(
    document: schemathesis.BaseSchema, path: str, mode: GenerationMode
) -> None:
    @given(case=document[path]["GET"].as_strategy(generation_mode=mode))
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    def asked(case: schemathesis.Case) -> None:
        assume(len(str(case.query)) < LONGEST)
        case.call_and_validate(checks=CHECKS)

    asked()


@pytest.mark.parametrize("name", ["team_scores", "player_sessions", "level_ups"])
def test_a_result_that_is_there_keeps_the_promise_too(document: schemathesis.BaseSchema, name: str) -> None:
    """Generated names are hardly ever those of results; here the rest is generated, for a name that is one."""

    @given(case=document["/results/{name}"]["GET"].as_strategy())
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    def asked(case: schemathesis.Case) -> None:
        case.path_parameters = {"name": name}
        case.call_and_validate(checks=CHECKS)

    asked()
