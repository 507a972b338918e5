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


PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("**/*.md"))
    if re.search(r"^```(?:python|console)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]
MARKS = {
    "smallest-student.md": [pytest.mark.slow, pytest.mark.data],
    "when-not-to-distill.md": [pytest.mark.slow, pytest.mark.data],
    "onnx-teacher.md": [pytest.mark.slow],
}


def run_page(page: Path, names: dict[str, object]) -> list[str]:
    """Run the Python blocks and the commands (`$ softlabel …` in console blocks) of a page; return their outputs."""
    outputs = []
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if kind == "python":
            exec(compile(block, str(page), "exec"), names)
            continue
        for command in re.findall(r"^\$ softlabel (.*)$", block, re.MULTILINE):
            words = [word for part in shlex.split(command) for word in _expand(part)]
            done = subprocess.run(
                [sys.executable, "-m", "softlabel", *words], capture_output=True, text=True, check=False,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            assert done.returncode == 0, f"{command}: {done.stderr}"
            outputs.append(done.stdout)
    return outputs


def _expand(word: str) -> list[str]:
    """Return the files that a pattern matches, as a shell does."""
    files = sorted(str(path) for path in Path().glob(word)) if "*" in word else []
    return files or [word]


@pytest.mark.parametrize("page", [pytest.param(page, marks=MARKS.get(page.name, []), id=page.name) for page in PAGES])
def test_programs_and_commands_of_the_documentation_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = run_page(page, {})
    if page.name == "when-not-to-distill.md":
        assert "distilling does not help here" in outputs[0]
    if page.name == "smallest-student.md":
        assert re.search(r"Soft labels: \d+ neurons", outputs[0])
    if page.name == "onnx-teacher.md":
        assert re.search(r"Hard labels: \d+ neurons", outputs[2])
        assert (tmp_path / "predictions.csv").is_file()


def test_every_kind_of_page_is_run():
    names = {page.name for page in PAGES}
    assert {"first-verdict.md", "first-students.md", "onnx-teacher.md", "deep-students.md", "bounds.md"} <= names
