"""kill −9 at random moments: after resuming, the ledger equals the uninterrupted one bit for bit."""

import random
import shutil
import time
from pathlib import Path

import pytest

from tests.faults.driver import Driver
from tests.lab.toys import contents

PAUSE = 0.05


@pytest.mark.parametrize(
    ("executor", "kills"), [("serial", 20), ("local", 4), pytest.param("local", 20, marks=pytest.mark.slow)]
)
def test_killed_at_random_moments(tmp_path, executor, kills):
    Driver(tmp_path / "uninterrupted", "serial", PAUSE).finish()
    run_dir = tmp_path / "killed"
    dice = random.Random(7)
    killed = landed = 0
    began = time.monotonic()
    driver = Driver(run_dir, executor, PAUSE)
    while killed < kills:
        before = _changed(run_dir)
        patience = time.monotonic() + 60  # let it get to work, then wait a random while
        while driver.exit_code is None and _changed(run_dir) == before and time.monotonic() < patience:
            time.sleep(0.005)
        time.sleep(dice.uniform(0, 0.12))
        if driver.exit_code is not None:  # it came to its end: begin another
            landed += 1
        driver.kill()
        messages = driver.wait()
        assert driver.exit_code in (0, -9), messages
        if driver.exit_code == 0:
            shutil.rmtree(run_dir)
        killed += 1
        assert time.monotonic() - began < 280, f"only {killed} kills"
        driver = Driver(run_dir, executor, PAUSE)
    driver.finish()
    assert landed < kills / 2
    assert contents(run_dir) == contents(tmp_path / "uninterrupted")


def _changed(run_dir: Path) -> float:
    """When the ledger was last written to."""
    try:
        return (run_dir / "ledger.sqlite").stat().st_mtime_ns
    except OSError:
        return 0
