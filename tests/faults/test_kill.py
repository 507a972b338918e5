"""kill −9 at random moments: after resuming, the ledger equals the uninterrupted one bit for bit."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.toys import contents

KILLS = 20
HERE = Path(__file__).parents[2]
ALONE = {**os.environ, "OMP_NUM_THREADS": "1"}


def start(folder: Path, executor: str, pause: float) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.faults.driver", str(folder), executor, str(pause)]
    return subprocess.Popen(command, cwd=HERE, env=ALONE, stderr=subprocess.PIPE, text=True)


def finish(driver: subprocess.Popen) -> str:
    _, errors = driver.communicate(timeout=300)
    assert driver.returncode == 0, errors
    return errors


@pytest.mark.parametrize("executor", ["serial", "local"])
def test_killed_at_twenty_random_moments(tmp_path, executor):
    pause = 0.05
    finish(start(tmp_path / "whole", "serial", pause))
    folder = tmp_path / "killed"
    dice = random.Random(7)
    kills = landed = 0
    began = time.monotonic()
    driver = start(folder, executor, pause)
    while kills < KILLS:
        before = _size(folder)
        patience = time.monotonic() + 60  # let it get to work, then wait a random while
        while driver.poll() is None and _size(folder) == before and time.monotonic() < patience:
            time.sleep(0.005)
        time.sleep(dice.uniform(0, 0.12))
        if driver.poll() is not None:  # it came to its end: begin another
            landed += 1
        driver.kill()
        _, errors = driver.communicate()
        assert driver.returncode in (0, -9), errors
        if driver.returncode == 0:
            shutil.rmtree(folder)
        kills += 1
        assert time.monotonic() - began < 280, f"only {kills} kills"
        driver = start(folder, executor, pause)
    finish(driver)
    assert landed < KILLS / 2
    assert contents(folder) == contents(tmp_path / "whole")


def _size(folder: Path) -> float:
    path = folder / "ledger.sqlite"
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
