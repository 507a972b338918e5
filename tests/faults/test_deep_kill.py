"""kill −9 in the middle of an epoch of a deep training: it resumes and ends with the same bits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def driver(*arguments) -> list[str]:
    return [sys.executable, "-m", "tests.faults.deep_driver", *map(str, arguments)]


def test_killed_trainings_end_as_uninterrupted_ones(tmp_path):
    uninterrupted, resumed = tmp_path / "uninterrupted.safetensors", tmp_path / "resumed.safetensors"
    checkpoint = tmp_path / "state.safetensors"
    subprocess.run(
        driver(tmp_path / "other.safetensors", uninterrupted), cwd=ROOT, env=ENVIRONMENT, check=True, timeout=120
    )
    kills = 0
    for _ in range(3):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
        process = subprocess.Popen(driver(checkpoint, resumed, 0.1), cwd=ROOT, env=ENVIRONMENT)
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                break
            time.sleep(0.01)
        time.sleep(0.25)  # some batches into the next epoch
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait(timeout=30)
    assert kills == 3
    assert not resumed.exists()
    subprocess.run(driver(checkpoint, resumed), cwd=ROOT, env=ENVIRONMENT, check=True, timeout=120)
    assert resumed.read_bytes() == uninterrupted.read_bytes()
