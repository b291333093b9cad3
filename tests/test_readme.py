"""The README stays true: its commands are executed, its folders exist, its links lead somewhere."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from short_lived import SHORT_LIVED

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ (.+)$", README, flags=re.MULTILINE)
# What the demo says of the stream depends on nothing but the seed; the control and the costs depend on the clock.
VERDICT = re.search(r"^kappa against batch$.*?^Input audit: .*?$", README, flags=re.MULTILINE | re.DOTALL)


def test_every_command_does_what_the_readme_says() -> None:
    assert "make demo" in COMMANDS and len(COMMANDS) > 8
    for command in COMMANDS:
        expected = re.search(r"# exit code (\d)", command)
        env = os.environ if command == "make demo" else {**os.environ, **SHORT_LIVED}
        done = subprocess.run(["bash", "-c", command], cwd=PROJECT, env=env, capture_output=True, text=True)
        assert done.returncode == (int(expected[1]) if expected else 0), f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        if command == "make demo":
            assert VERDICT is not None
            told = " ".join(done.stdout.split())
            assert " ".join(VERDICT[0].split()) in told, "the README shows another verdict than the demo prints"
            assert "The stream and the batch layer agree" in told
            assert "as it should, and every difference has a cause" in told


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (PROJECT / link).exists()


WAY = README[README.index("## The way through the code") :]


@pytest.mark.parametrize("folder", re.findall(r"^\| `(\w+)` \|", WAY, flags=re.MULTILINE))
def test_every_folder_of_the_table_is_there(folder: str) -> None:
    assert (PROJECT / folder).is_dir()
