"""The README stays true: its commands are executed, its folders exist, its links lead somewhere."""

import os
import re
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest
from short_lived import SHORT_LIVED

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text()
# A reader of the README has no settings in the environment but those that `make` gives.
AS_TYPED = {name: value for name, value in os.environ.items() if name != "PARITY_INGESTION__ENGINE"}
COMMANDS = re.findall(r"^\$ (.+)$", README, flags=re.MULTILINE)
# What the demo says of the stream depends on nothing but the seed; the control and the costs depend on the clock.
VERDICT = re.search(r"^kappa against batch$.*?^Input audit: .*?$", README, flags=re.MULTILINE | re.DOTALL)


def test_every_command_does_what_the_readme_says() -> None:
    assert "make demo" in COMMANDS and len(COMMANDS) > 8
    for command in COMMANDS:
        if command.endswith("# until Ctrl-C"):
            runs_until_interrupted(command)
            continue
        expected = re.search(r"# exit code (\d)", command)
        env = AS_TYPED if command == "make demo" else {**AS_TYPED, **SHORT_LIVED}
        done = subprocess.run(["bash", "-c", command], cwd=PROJECT, env=env, capture_output=True, text=True)
        assert done.returncode == (int(expected[1]) if expected else 0), f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        if command == "make demo":
            assert VERDICT is not None
            told = " ".join(done.stdout.split())
            assert " ".join(VERDICT[0].split()) in told, "the README shows another verdict than the demo prints"
            assert "The stream and the batch layer agree" in told
            assert "as it should, and every difference has a cause" in told


def runs_until_interrupted(command: str) -> None:
    """A server: it says where it answers, answers there, and ends well at a Ctrl-C."""
    started = subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=PROJECT,
        env=AS_TYPED,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+", started.stdout.readline())
        assert address is not None, command
        with urlopen(f"{address[0]}/health", timeout=60) as answer:
            assert answer.status == 200
    finally:
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=60)
    assert started.returncode == 0 and "Traceback" not in said, said


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (PROJECT / link).exists()


WAY = README[README.index("## The way through the code") :]


@pytest.mark.parametrize("folder", re.findall(r"^\| `(\w+)` \|", WAY, flags=re.MULTILINE))
def test_every_folder_of_the_table_is_there(folder: str) -> None:
    assert (PROJECT / folder).is_dir()
