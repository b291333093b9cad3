"""`make sbom`: a CycloneDX document that names all that the lock files and the jars pin."""

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

PROJECT = Path(__file__).parents[2]
LOCKS = {"parity": PROJECT / "requirements.lock", "airflow": PROJECT / "infra" / "airflow" / "requirements.lock"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("sbom") / "sbom.json"
    with pytest.MonkeyPatch.context() as typed:
        typed.setattr(sys, "argv", ["sbom.py", str(file)])
        runpy.run_path(str(PROJECT / "infra" / "sbom.py"), run_name="__main__")
    return file.read_text()


@pytest.fixture(scope="module")
def components(written: str) -> list[dict[str, Any]]:
    return json.loads(written)["components"]


def test_it_is_valid_by_the_schema_of_cyclonedx(written: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written) is None
    assert json.loads(written)["metadata"]["component"]["name"] == "parity"


@pytest.mark.parametrize("environment", LOCKS)
def test_every_pinned_package_is_in_it_with_its_hashes(components: list[dict[str, Any]], environment: str) -> None:
    lock = LOCKS[environment].read_text()
    pinned = set(re.findall(r"(?m)^([\w.-]+)(?:\[.*\])?==([^ ;\\]+)", lock))
    used = {"name": "parity:environment", "value": environment}
    found = [each for each in components if used in each.get("properties", ())]
    assert {(each["name"], each["version"]) for each in found} == pinned and len(pinned) > 100
    assert {digest["content"] for each in found for digest in each["hashes"]} == set(re.findall(r"sha256:(\w+)", lock))


def test_every_jar_is_in_it_with_its_hash(components: list[dict[str, Any]]) -> None:
    jars = {
        (each["hashes"][0]["content"], f"{each['name']}-{each['version']}.jar")
        for each in components
        if each["purl"].startswith("pkg:maven/io.delta/")
    }
    assert jars == {tuple(line.split()) for line in (PROJECT / "infra" / "jars.sha256").read_text().splitlines()}


def test_it_depends_on_all_of_them_and_names_no_package_index(written: str, components: list[dict[str, Any]]) -> None:
    [root] = [each for each in json.loads(written)["dependencies"] if "dependsOn" in each]
    assert set(root["dependsOn"]) == {each["bom-ref"] for each in components}
    assert set(re.findall(r"https?://[^\s\"]+", written)) == {"http://cyclonedx.org/schema/bom-1.6.schema.json"}
