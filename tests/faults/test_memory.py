"""Limits on memory, from far too little to nearly enough: one line and an exit code, never an abort or a hang."""

import json
import resource
import subprocess
import sys

import pytest

from tests.cli.sheets import write_sheet

MEGABYTE = 2**20


def limited(megabytes: int, *words: object) -> subprocess.CompletedProcess:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE, megabytes * MEGABYTE))

    command = [sys.executable, "-m", "softlabel", *map(str, words)]
    return subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("megabytes", [200, 500, 700, 900, 1000])
@pytest.mark.parametrize("verb", ["train", "doctor"])
def test_too_little_for_the_libraries_is_one_line(tmp_path, verb, megabytes):
    done = limited(megabytes, verb, write_sheet(tmp_path / "t.csv", rows=60), "--label", "sick")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("softlabel: softlabel needs at least 1.1 GiB of address space")


def test_help_needs_next_to_nothing():
    assert "verdict" in limited(200, "--help").stdout
    assert "--label" in limited(200, "train", "--help").stdout


def test_too_little_for_the_data_is_one_line(tmp_path):
    import numpy as np

    np.savez(tmp_path / "large.npz", X=np.zeros((600, 200_000), dtype=np.float32), y=np.arange(600) % 2)
    done = limited(1600, "train", tmp_path / "large.npz", "--width", "2", "--epochs", "1", "--json")
    assert done.returncode in (1, 2)
    assert "memory" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr


def test_enough_is_enough(tmp_path):
    table = write_sheet(tmp_path / "t.csv", rows=60)
    done = limited(
        4000, "train", table, "--label", "sick", "--drop", "patient", "--width", "2", "--epochs", "1", "--json"
    )
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
