"""Examples are scripts that run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.data
def test_small_students():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "small_students.py", "--quick"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # other tests run beside it
    )
    assert re.search(r"teacher, 512 neurons: 9\d\.\d\d%", done.stdout)
    assert len(re.findall(r"^ +(?:50|none) +\d ", done.stdout, re.MULTILINE)) == 6


PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guide").glob("*.md"))]
MARKS = {"mnist.md": [pytest.mark.slow, pytest.mark.data], "no-help.md": [pytest.mark.data]}


def run_page(page: Path, names: dict[str, object]) -> list[str]:
    """Run a page's Python blocks and commands (`$ softlabel …` in console blocks) in their order; what these print."""
    said = []
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", page.read_text(), re.DOTALL):
        if kind == "python":
            exec(compile(block, str(page), "exec"), names)
            continue
        for command in re.findall(r"^\$ softlabel (.*)$", block, re.MULTILINE):
            words = [word for part in shlex.split(command) for word in _matching(part)]
            done = subprocess.run(
                [sys.executable, "-m", "softlabel", *words], capture_output=True, text=True, check=False,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            assert done.returncode == 0, f"{command}: {done.stderr}"
            said.append(done.stdout)
    return said


def _matching(word: str) -> list[str]:
    """The files that a pattern names, as a shell would have it."""
    found = sorted(str(path) for path in Path().glob(word)) if "*" in word else []
    return found or [word]


@pytest.mark.parametrize("page", [pytest.param(page, marks=MARKS.get(page.name, []), id=page.name) for page in PAGES])
def test_pages_of_the_docs_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run_page(page, {})
    if page.name == "no-help.md":
        assert "distilling does not help here" in said[0]
    if page.name == "mnist.md":
        assert re.search(r"Soft labels: \d+ neurons", said[0])
    if page.name == "csv-onnx.md":
        assert re.search(r"Hard labels: \d+ neurons", said[2])
        assert (tmp_path / "answers.csv").is_file()
