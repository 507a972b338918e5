"""Run the recorded commands and read their documents.

`python -m tests.golden.record [NAME …]` records them anew, all or those named.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.cases import CASES
from tests.golden.files import write_files

RECORDED = Path(__file__).parent / "recorded"
# times, paths and versions differ from run to run
VOLATILE = {
    "seconds",
    "milliseconds",
    "milliseconds_thousand",
    "report",
    "environment",
    "operations",
    "exported",
    "file",
    "files",
    "path",
    "student",
}


def run_case(name: str, directory: Path) -> Any:
    """The document of a case, without what differs from run to run."""
    write_files(directory)
    output = ""
    for command in CASES[name]:
        words = [sys.executable, "-c", "from softlabel.cli import main; main()", *shlex.split(command)]
        done = subprocess.run([*words, "--json"], cwd=directory, capture_output=True, text=True, env=_environment())
        if done.returncode:
            raise RuntimeError(f"{command}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
        output = done.stdout
    return stable(json.loads(output))


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def stable(value: Any) -> Any:
    """A document without its volatile entries."""
    if isinstance(value, dict):
        return {key: stable(entry) for key, entry in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [stable(entry) for entry in value]
    return value


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as scratch:
            document = run_case(case, Path(scratch))
        RECORDED.mkdir(exist_ok=True)
        (RECORDED / f"{case}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        print(case)
