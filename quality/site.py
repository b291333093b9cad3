"""The file context of Great Expectations in LAKE/quality/gx, and its Data Docs in LAKE/quality/docs.

Its configuration and its suites are written anew with every run, so that they are those of this code. The results of
validations and the pages of each run stay.
"""

import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from lakehouse.lake import Lake
from quality.gx import RunIdentifier, ValidationResultIdentifier, gx

SOURCE = ASSET = BATCH = "lake"
CONFIGURATION = """# Written by `parity quality` with every run.
config_version: 4.0
analytics_enabled: false
progress_bars:
  globally: false
plugins_directory: plugins/
stores:
  expectations_store:
    class_name: ExpectationsStore
    store_backend: {class_name: TupleFilesystemStoreBackend, base_directory: expectations/}
  validation_results_store:
    class_name: ValidationResultsStore
    store_backend: {class_name: TupleFilesystemStoreBackend, base_directory: validations/}
  checkpoint_store:
    class_name: CheckpointStore
    store_backend: {class_name: TupleFilesystemStoreBackend, base_directory: checkpoints/, suppress_store_backend_id: true}
  validation_definition_store:
    class_name: ValidationDefinitionStore
    store_backend: {class_name: TupleFilesystemStoreBackend, base_directory: validation_definitions/}
expectations_store_name: expectations_store
validation_results_store_name: validation_results_store
checkpoint_store_name: checkpoint_store
data_docs_sites:
  lake:
    class_name: SiteBuilder
    show_how_to_buttons: false
    store_backend: {class_name: TupleFilesystemStoreBackend, base_directory: ../docs/}
    site_index_builder: {module_name: quality.views, class_name: RunIndex}
    site_section_builders:
      expectations: none
      profiling: none
      validations:
        class_name: DefaultSiteSectionBuilder
        source_store_name: validation_results_store
        run_name_filter: {not_includes: "/"}
        renderer: {module_name: great_expectations.render.renderer, class_name: ValidationResultsPageRenderer}
        view: {module_name: quality.views, class_name: OfflinePage}
"""


def quality_directory(lake: Lake) -> Path:
    """LAKE/quality, made for its owner only."""
    directory = lake.path / "quality"
    for each in (directory, directory / "gx", directory / "docs", directory / "runs"):
        each.mkdir(mode=0o700, exist_ok=True)
    return directory


class Site:
    """The context of a lake, for one run."""

    def __init__(self, directory: Path, run: str, moment: datetime) -> None:
        # Those of other code may not be readable by this one.
        for derived in ("checkpoints", "expectations", "validation_definitions"):
            shutil.rmtree(directory / "gx" / derived, ignore_errors=True)
        (directory / "gx" / "great_expectations.yml").write_text(CONFIGURATION)
        self.docs = directory / "docs"
        self.run = RunIdentifier(run_name=run, run_time=moment)
        self._context = gx.get_context(mode="file", context_root_dir=directory / "gx")
        source = self._context.data_sources.add_spark(SOURCE, persist=False)
        self._rows = source.add_dataframe_asset(ASSET).add_batch_definition_whole_dataframe(BATCH)
        self._pages: list[ValidationResultIdentifier] = []

    def validated(self, suite: "gx.ExpectationSuite", rows: DataFrame) -> Any:
        """The result of a suite over a frame, by a checkpoint of its own: a frame is given to a checkpoint as a whole."""
        kept = self._context.suites.add_or_update(suite)
        definition = gx.ValidationDefinition(name=suite.name, data=self._rows, suite=kept)
        definition = self._context.validation_definitions.add_or_update(definition)
        checkpoint = gx.Checkpoint(name=suite.name, validation_definitions=[definition])
        checkpoint = self._context.checkpoints.add_or_update(checkpoint)
        run = checkpoint.run(batch_parameters={"dataframe": rows}, run_id=self.run)
        [(identifier, found)] = run.run_results.items()
        self._pages.append(identifier)
        return found

    def page(self, table: str) -> str:
        """The path of a table's page of this run, relative to the Data Docs."""
        *_, batch = self._pages[-1].to_tuple()
        name, time = self.run.to_tuple()
        return f"validations/{table}/{name}/{time}/{batch}.html"

    def write(self) -> None:
        """Write the pages of this run and the first page."""
        self._context.build_data_docs(resource_identifiers=list(self._pages))
        shutil.rmtree(self.docs / "static", ignore_errors=True)  # fonts and images that these templates do not use


def failures(found: Any) -> Sequence[str]:
    """The errors of expectations that could not be evaluated."""
    messages = []
    for each in found.results:
        said = each.exception_info or {}
        errors = [said] if "raised_exception" in said else list(said.values())
        messages += [str(error["exception_message"]) for error in errors if error.get("raised_exception")]
    return messages
