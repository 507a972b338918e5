"""Ctrl-C and kill −9 while a verdict's teacher is trained: finished models are kept, and the answer is the same."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.sheets import write_sheet
from tests.lab.toys import contents

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def start(run_dir: Path, data: Path, *more: str) -> subprocess.Popen:
    options = "--label sick --drop patient --width 2 --epochs 1 --seeds 2 --json".split()
    command = [sys.executable, "-m", "softlabel", "verdict", str(data), *options, "--out", str(run_dir), *more]
    return subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def stopped_at(process: subprocess.Popen, words: str, how: signal.Signals) -> str:
    """Send the signal as soon as the run says these words; what it says afterwards."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            break
    process.send_signal(how)
    _, errors = process.communicate(timeout=120)
    return errors


def finished(process: subprocess.Popen) -> dict:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(output)


@pytest.mark.slow
def test_a_verdict_goes_on_after_the_last_model_that_was_trained(tmp_path):
    data = write_sheet(tmp_path / "data.csv", rows=300)
    run_dir = tmp_path / "run"
    process = start(run_dir, data)
    errors = stopped_at(process, "teacher: growing boosted trees", signal.SIGINT)
    assert process.returncode == 130, errors
    assert f"what is finished is kept in '{run_dir}'; the same command goes on from there" in errors
    (kept,) = (run_dir / "artifacts").glob("*/network.safetensors")
    network = kept.stat().st_mtime_ns
    process = start(run_dir, data)
    stopped_at(process, "teacher: labeling fold 3 of 5", signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    folds = {path: path.stat().st_mtime_ns for path in kept.parent.glob("fold-[12]-of-5.safetensors")}
    assert len(folds) == 2
    resumed = finished(start(run_dir, data))
    assert kept.stat().st_mtime_ns == network
    assert {path: path.stat().st_mtime_ns for path in folds} == folds
    elsewhere = tmp_path / "other" / "run"  # not beside `run_dir`, whose teacher it would use
    uninterrupted = finished(start(elsewhere, data))
    assert resumed["arms"] == uninterrupted["arms"]
    assert resumed["teacher"]["description"] == uninterrupted["teacher"]["description"]
    assert contents(run_dir) == contents(elsewhere)
