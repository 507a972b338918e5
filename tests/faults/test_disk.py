"""A disk that fills up, a folder that becomes read-only, in the middle of a run: told clearly, nothing lost."""

import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.test_kill import finish, start
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


def wait_for_bundles(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if len(contents(folder)["bundles"]) >= count:
                return
        except Exception:  # not there yet, or being written
            pass
        time.sleep(0.02)
    raise AssertionError("the driver did not get to work")


def remount(place: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True, capture_output=True)


def test_a_full_disk(small_disk, tmp_path):
    folder = small_disk / "run"
    driver = start(folder, "serial", 0.1)
    wait_for_bundles(folder, 2)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 1024)
    _, errors = driver.communicate(timeout=120)
    assert driver.returncode == 1
    assert len(errors.strip().splitlines()) == 1
    assert "is full; free some space; bundles that were finished are kept" in errors
    kept = contents(folder)
    assert len(kept["bundles"]) >= 2
    filler.unlink()
    remount(small_disk, "size=20m")
    finish(start(folder, "serial", 0.1))
    finish(start(tmp_path / "whole", "serial", 0.1))
    assert contents(folder) == contents(tmp_path / "whole")
    assert set(kept["outcomes"]) <= set(contents(folder)["outcomes"])


def test_a_folder_that_becomes_read_only(small_disk, tmp_path):
    remount(small_disk, "size=20m")
    folder = small_disk / "run"
    driver = start(folder, "serial", 0.1)
    wait_for_bundles(folder, 2)
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
    _, errors = driver.communicate(timeout=120)
    assert driver.returncode == 1
    assert len(errors.strip().splitlines()) == 1
    assert "read-only" in errors
    subprocess.run(["umount", str(folder)], check=True)
    finish(start(folder, "serial", 0.1))
    finish(start(tmp_path / "whole", "serial", 0.1))
    assert contents(folder) == contents(tmp_path / "whole")


def test_a_folder_that_is_read_only_from_the_start(small_disk):
    remount(small_disk, "ro")
    driver = start(small_disk / "run", "serial", 0.0)
    _, errors = driver.communicate(timeout=120)
    assert driver.returncode == 1
    assert "cannot be written: Read-only file system; choose another place" in errors
    remount(small_disk, "rw")
