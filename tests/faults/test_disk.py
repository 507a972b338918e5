"""A disk that fills up, a directory that becomes read-only, in the middle of a run: clear messages, nothing is lost."""

import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.driver import Driver
from tests.lab.toys import contents


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, 300 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def wait_for_bundles(run_dir: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if len(contents(run_dir)["bundles"]) >= count:
                return
        except Exception:  # not there yet, or being written
            pass
        time.sleep(0.02)
    raise AssertionError("the driver did not get to work")


def remount(place: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True, capture_output=True)


def test_a_full_disk(small_disk, tmp_path):
    run_dir = small_disk / "run"
    driver = Driver(run_dir, "serial", 0.1)
    wait_for_bundles(run_dir, 2)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 1024)
    errors = driver.wait(120)
    assert driver.exit_code == 1
    assert len(errors.strip().splitlines()) == 1
    assert "is full; free some space; bundles that were finished are kept" in errors
    kept = contents(run_dir)
    assert len(kept["bundles"]) >= 2
    filler.unlink()
    remount(small_disk, "size=20m")
    Driver(run_dir, "serial", 0.1).finish()
    Driver(tmp_path / "uninterrupted", "serial", 0.1).finish()
    assert contents(run_dir) == contents(tmp_path / "uninterrupted")
    assert set(kept["outcomes"]) <= set(contents(run_dir)["outcomes"])


def test_a_directory_that_becomes_read_only(small_disk, tmp_path):
    remount(small_disk, "size=20m")
    run_dir = small_disk / "run"
    driver = Driver(run_dir, "serial", 0.1)
    wait_for_bundles(run_dir, 2)
    subprocess.run(["mount", "--bind", str(run_dir), str(run_dir)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(run_dir)], check=True)
    errors = driver.wait(120)
    assert driver.exit_code == 1
    assert len(errors.strip().splitlines()) == 1
    assert "read-only" in errors
    subprocess.run(["umount", str(run_dir)], check=True)
    Driver(run_dir, "serial", 0.1).finish()
    Driver(tmp_path / "uninterrupted", "serial", 0.1).finish()
    assert contents(run_dir) == contents(tmp_path / "uninterrupted")


def test_a_directory_that_is_read_only_from_the_start(small_disk):
    remount(small_disk, "ro")
    driver = Driver(small_disk / "run", "serial", 0.0)
    errors = driver.wait(120)
    assert driver.exit_code == 1
    assert "cannot be written: Read-only file system; choose another place" in errors
    remount(small_disk, "rw")
