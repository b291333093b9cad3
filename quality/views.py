"""The pages of Data Docs as they look here: Great Expectations' content in templates of this package.

Its own templates load scripts, styles and images from seven hosts. These need no network and no script: one style sheet
inside the page, links relative to it, so that a page works from a disk and from any path of any server.
"""

import json
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader

from quality.gx import DefaultJinjaPageView

TEMPLATES = Path(__file__).with_name("pages")
VALIDATION = "validation.j2"


class OfflinePage(DefaultJinjaPageView):  # type: ignore[misc]
    """A page of a validation. The content blocks are Great Expectations' own; a collapse needs no script here."""

    _template = VALIDATION

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.env.loader = ChoiceLoader([FileSystemLoader(TEMPLATES), self.env.loader])


class RunIndex:
    """The first page: every run with its tables, newest first, from the files that the runs left."""

    def __init__(self, name: str, target_store: Any, **_: Any) -> None:
        backends = target_store.store_backends
        self.name = name
        self.directory = Path(next(iter(backends.values())).full_base_directory)

    def build(self, skip_and_clean_missing: bool = True, build_index: bool = True) -> tuple[str | None, Any]:  # noqa: ARG002
        return (str(write_index(self.directory)) if build_index else None), None


def write_index(docs: Path) -> Path:
    """Write the first page of the Data Docs in `docs`; the notes of the runs lie in `runs` beside it."""
    found = [json.loads(file.read_text()) for file in (docs.parent / "runs").glob("*.json")]
    runs = sorted(found, key=lambda run: (str(run["at"]), str(run["run"])), reverse=True)
    pages = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    file = docs / "index.html"
    draft = file.with_name(".index.html")
    draft.write_text(pages.get_template("index.j2").render(runs=runs), encoding="utf-8")
    return draft.replace(file)
