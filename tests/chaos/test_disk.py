"""The small disk: full it refuses every write with ENOSPC, and what is on it is kept. In processes of their own, which mount."""

import subprocess
import sys
from pathlib import Path

WRITE = """
import errno, pathlib, sys
from chaos.disk import NotAllowed, small_disk
tables = pathlib.Path(sys.argv[1])
with small_disk(tables, size=8 * 1024 * 1024) as disk:
    (tables / "arrivals").mkdir()
    (tables / "arrivals" / "before").write_text("before")
    disk.fill()
    try:
        (tables / "arrivals" / "while").write_text("while")
    except OSError as refused:
        print(errno.errorcode[refused.errno])
    disk.free()
    (tables / "arrivals" / "after").write_text("after")
    print(sorted(file.name for file in (tables / "arrivals").iterdir() if file.read_text()))
"""
NOT_ALLOWED = """
import os, pathlib, sys
from chaos.disk import NotAllowed, small_disk
if os.getuid() == 0:
    os.setuid(65534)
try:
    with small_disk(pathlib.Path(sys.argv[1])):
        print("mounted")
except NotAllowed as refused:
    print("not allowed:", refused)
"""
MOUNTING = ["unshare", "--map-root-user", "--mount"]
"""Who is no superuser becomes one for himself."""


def run(script: str, directory: Path, *before: str) -> str:
    command = [*before, sys.executable, "-c", script, str(directory)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_refuses_every_write_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    assert run(WRITE, tables, *MOUNTING).splitlines() == ["ENOSPC", "['after', 'before']"]
    assert sorted(file.name for file in (tables / "arrivals").iterdir() if file.read_text()) == ["after", "before"]
    assert [each.name for each in tmp_path.iterdir()] == ["tables"] and not (tables / ".ballast").exists()


def test_without_the_right_to_mount_it_says_so(tmp_path: Path) -> None:
    assert run(NOT_ALLOWED, tmp_path) == "not allowed: Operation not permitted\n"
