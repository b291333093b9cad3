"""A process that judges lines, and nothing else, does not load Spark: loading it alone takes longer than ingesting a file."""

import json
import subprocess
import sys


def test_the_rules_of_a_line_are_imported_without_spark() -> None:
    modules = ("transformations.lines", "transformations.kinds", "transformations.clock", "transformations.durations")
    code = f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(ended.stdout)}
    assert "transformations" in loaded
    assert not loaded & {"pyspark", "py4j", "pandas", "delta"}
