"""Temporary files of the explorer: where they are, and when they are deleted."""

import json
import os
import subprocess
import sys
import tempfile

import pytest

from softlabel.app.temporary import LONGEST, OURS, PREFIX, delete_orphans, temporary_directory

SCRIPT = """
import json, os, tempfile
from softlabel.app import children
from softlabel.app.temporary import temporary_directory
from tests.app.test_temporary import send_directory

children.PRELOAD.clear()

def directory_of_a_child():
    child, messages = children.Child(send_directory), []
    while not child.ended:
        messages += child.messages()
    return messages[0][1]

with temporary_directory() as directory:
    inside = [str(directory), tempfile.gettempdir(), directory_of_a_child()]
print(json.dumps([inside, tempfile.gettempdir(), os.environ["TMPDIR"], directory_of_a_child()]))
"""


def send_directory(line):
    line.send("directory", tempfile.gettempdir())


@pytest.mark.parametrize("length", [LONGEST, pytest.param(70, marks=pytest.mark.slow)])
def test_processes_use_it_and_it_ends_with_them(temporary, monkeypatch, length):
    system = temporary / ("d" * (length - len(str(temporary)) - 1))
    system.mkdir()
    monkeypatch.setenv("TMPDIR", str(system))
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    (directory, own, of_child), *after = json.loads(done.stdout)
    assert directory == own == of_child
    assert directory.startswith(f"{system}/{PREFIX}")
    assert after[:2] == [str(system), str(system)]
    assert after[2] == directory, "processes can still be started afterwards"
    assert not list(system.iterdir())


def test_only_what_processes_that_are_gone_have_left_is_deleted(tmp_path):
    gone = f"{PREFIX}999999999-ab_d3f9h"
    others = [
        f"{PREFIX}{os.getpid()}-ab_d3f9h", f"{PREFIX}{os.getppid()}-ab_d3f9h", f"{PREFIX}999999999", "999999999",
        f"{PREFIX}999999999-notes", f"my-{PREFIX}999999999-ab_d3f9h", f"{PREFIX}explorer-ab_d3f9h", f"{PREFIX}x",
    ]  # fmt: skip
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("")
    for name in (gone, *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
    (tmp_path / gone.replace("d3", "x3")).symlink_to(kept)
    delete_orphans(tmp_path, OURS)
    present = {path.name for path in tmp_path.iterdir()}
    assert present == {*others, "kept", gone.replace("d3", "x3")}
    assert (kept / "file").exists()


def test_the_setting_of_the_process_comes_back(temporary, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.delenv("TMPDIR")
    with temporary_directory() as directory:
        assert directory.parent == temporary
        assert os.environ["TMPDIR"] == tempfile.gettempdir() == str(directory)
    assert tempfile.gettempdir() == str(temporary)
    assert "TMPDIR" not in os.environ
