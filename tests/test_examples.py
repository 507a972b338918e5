"""Examples are scripts that run."""

import os
import re
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


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_python_blocks_of_the_docs_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), names)
