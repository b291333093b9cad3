"""The documentation follows the declarations, and the worked example of the README works."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from deliveries import at, land
from game import GAME, catalogue
from short_lived import SHORT_LIVED

from cli.declared import page, summary
from cli.init import write_pipeline

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text()
DECLARED = list(catalogue().values())
EXAMPLE = re.findall(r"^```python\n# (demo-own/\S+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_readme_lists_the_catalogue_as_it_is_declared() -> None:
    listed = re.search(r"<!-- catalogue: .*? -->\n(.*?)\n<!-- end", README, flags=re.DOTALL)
    assert listed is not None
    assert listed[1].splitlines() == list(summary(DECLARED))


def test_the_page_of_the_catalogue_is_what_the_command_prints() -> None:
    written = (PROJECT / "docs" / "catalogue.md").read_text().splitlines()
    assert written == list(page(DECLARED, GAME)), "run `parity results --format markdown > docs/catalogue.md`"


def test_the_page_of_faults_has_every_test_of_a_fault() -> None:
    written = (PROJECT / "docs" / "faults.md").read_text()
    files = sorted((PROJECT / "tests" / "faults").glob("test_*.py"))
    missing = [
        f"{file.name}::{name}" for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
        if f"`{name}`" not in written
    ]  # fmt: skip
    assert files and not missing, "run `make faults`"


def test_what_make_test_leaves_out_is_named_and_is_what_make_chaos_adds() -> None:
    makefile, project = (PROJECT / "Makefile").read_text(), tomllib.loads((PROJECT / "pyproject.toml").read_text())
    left_out = re.findall(r"-m '(.+?)'", project["tool"]["pytest"]["ini_options"]["addopts"])
    assert left_out == ["not chaos"]
    assert "runs every test but the slow faults, which are marked `chaos`" in " ".join(README.split())
    added = re.search(r"^chaos:.*\n.*pytest \$\(PARALLEL\) (.*?) -m \"chaos or not chaos\"$", makefile, re.MULTILINE)
    assert added is not None
    marked = {
        f"tests/{file.parent.name}" for file in PROJECT.glob("tests/*/test_*.py") if "mark.chaos" in file.read_text()
    }
    assert marked and marked <= set(added[1].split())


COMMANDS = """
import sys
from typer.testing import CliRunner
from cli.main import app
for command in (["ingest", "--landing", "landing"], ["stream"], ["recompute"], ["reconcile"], ["quality"], ["show"]):
    name = ["room_temperatures"] if command == ["show"] else []
    only = ["--result", "room_temperatures"] if command[0] in ("stream", "recompute", "reconcile", "quality") else []
    form = ["--format", "jsonl"] if command == ["show"] else []
    given = ["--lake", "lake", "--config", "demo-own/parity.toml"]
    done = CliRunner().invoke(app, [*command, *name, *given, *only, *form])
    if done.exit_code:
        sys.exit(f"{command}: {done.output}")
print(done.stdout)
"""


def read(event_id: str, room: str, millidegrees: int, seconds: float) -> str:
    said = {"event_id": event_id, "kind": "temperature_read", "sensor_id": f"in {room}", "room_id": room}
    return json.dumps({**said, "millidegrees": millidegrees, "occurred_at": at(seconds)})


def test_a_kind_and_a_result_are_two_modules_of_forty_lines_together(tmp_path: Path) -> None:
    assert [path for path, _ in EXAMPLE] == [
        "demo-own/kinds/temperature_read.py",
        "demo-own/results/room_temperatures.py",
    ]
    assert sum(len(code.splitlines()) + 1 for _, code in EXAMPLE) <= 40
    write_pipeline(tmp_path / "demo-own")
    for path, code in EXAMPLE:
        (tmp_path / path).write_text(code)
    (tmp_path / "landing").mkdir()
    reads = [read("1", "hall", 20_000, 0), read("2", "hall", 21_500, 4.999), read("3", "hall", 22_000, 5)]
    land(tmp_path / "landing", "1.jsonl", [*reads, read("4", "attic", -3_000, 60), read("late", "hall", 20_500, 2)])
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=tmp_path, env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin", "PARITY_SPARK__COMPILER": "quick", **SHORT_LIVED},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert [(row["room_id"], row["sum"], row["reads"], row["window_start"]) for row in rows] == [
        ("hall", 62_000, 3, at(0)),
        ("hall", 22_000, 1, at(5)),
        ("attic", -3_000, 1, at(60)),
    ]
