"""The bill of materials: everything that Parity installs, with versions and hashes, as CycloneDX.

    make sbom

It is read from what pins the installation and not from what happens to be installed: the lock files of both Python
environments, and the jars beside Spark's own. Spark's own jars are part of the package `pyspark`, under its hashes.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement

PROJECT = Path(__file__).resolve().parent.parent
LOCKS = {"parity": PROJECT / "requirements.lock", "airflow": PROJECT / "infra" / "airflow" / "requirements.lock"}
JARS, JAR_HASHES = PROJECT / "infra" / "jars.xml", PROJECT / "infra" / "jars.sha256"
USED_BY = "parity:environment"


def bill_of_materials() -> Bom:
    """Parity and what it installs. A package that both environments pin at one version is one component of both."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    parity = Component(name=declared["name"], version=declared["version"], type=ComponentType.APPLICATION)
    bom, found = Bom(), dict[str, Component]()
    for environment, lock in LOCKS.items():
        for package in packages(lock.read_text()):
            known = found.setdefault(str(package.purl), package)
            known.properties.add(Property(name=USED_BY, value=environment))
    for jar in jars(JARS.read_text(), JAR_HASHES.read_text()):
        found[str(jar.purl)] = jar
    bom.metadata.component = parity
    bom.components.update(found.values())
    bom.register_dependency(parity, found.values())
    return bom


def packages(lock: str) -> Iterator[Component]:
    """The packages of a lock file, each with the hashes of all its distributions: one of them gets installed."""
    pinned = re.sub(r"(?m)^\s*#.*\n?", "", lock).replace("\\\n", " ").splitlines()
    for line in filter(str.strip, pinned):
        requirement = Requirement(line.partition(" --hash=")[0].strip())
        [version] = requirement.specifier
        yield _component("pypi", None, requirement.name, version.version, re.findall(r"--hash=sha256:(\w+)", line))


def jars(coordinates: str, hashes: str) -> Iterator[Component]:
    """The jars that Ivy is asked for, each with the hash that `infra/jars.sh` checks."""
    known = {name: digest for digest, name in (line.split() for line in hashes.splitlines())}
    for jar in ElementTree.fromstring(coordinates).iter("dependency"):
        group, name, version = jar.attrib["org"], jar.attrib["name"], jar.attrib["rev"]
        yield _component("maven", group, name, version, [known[f"{name}-{version}.jar"]])


def _component(type: str, group: str | None, name: str, version: str, digests: list[str]) -> Component:
    purl = PackageURL(type, group, name, version)
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in digests]
    return Component(group=group, name=name, version=version, purl=purl, bom_ref=str(purl), hashes=hashes)


if __name__ == "__main__":
    JsonV1Dot6(bill_of_materials()).output_to_file(sys.argv[1], allow_overwrite=True, indent=2)
