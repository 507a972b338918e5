"""A disk that is full, met by every verb that leaves files behind: one line, exit code 1, and the run goes on later."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from softlabel.cli.main import run
from softlabel.studies.students import preparation
from tests.cli.sheets import write_labels, write_sheet
from tests.faults.disks import files_up_to

SIZES = (250, 3_000, 30_000)  # bytes that a file may have


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data")
    data = write_sheet(directory / "data.csv")
    write_labels(directory / "labels.csv", data)
    digits = load_digits()
    rows = np.flatnonzero(np.isin(digits.target, (3, 8)))[:80]
    images, labels = (15 * digits.images[rows, None]).astype(np.uint8), (digits.target[rows] == 8).astype(int)
    np.savez(directory / "images.npz", images=images, labels=labels)
    np.save(directory / "logits.npy", np.where(np.eye(2)[labels] > 0, 2.0, -2.0).astype(np.float32))
    return directory


@pytest.fixture(autouse=True)
def quick(monkeypatch, place):
    monkeypatch.setattr(preparation, "theory_facts", lambda *_: {})
    monkeypatch.chdir(place)


COMMANDS = {
    "train": "train digits --width 20 --epochs 1",
    "margin": "margin data.csv --label sick --drop patient --time-limit 1 --init-widths 4",
    "distill": "distill images.npz --teacher logits.npy --student resnet8 --width-multiplier 0.125 --epochs 1 "
    "--precision float32",
    "verdict": "verdict data.csv --label sick --teacher labels.csv --id patient --width 2 --epochs 1 --seeds 2",
    "plan": "plan data.csv --label sick --teacher labels.csv --id patient --accuracy 0.7 --epochs 1 --seeds 3 "
    "--confirm 0 --widths 2,4",
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_full_disk_is_one_line_and_the_same_command_succeeds_later(tmp_path, capsys, verb):
    command = [*COMMANDS[verb].split(), "--out", str(tmp_path / "run"), "--json"]
    codes = []
    for size in SIZES:
        with files_up_to(size):
            codes.append(run(command))
        errors = capsys.readouterr().err
        assert "unexpected" not in errors
        messages = [line for line in errors.splitlines() if line.startswith("softlabel:")]
        assert len(messages) == codes[-1]
        assert not messages or "File too large" in messages[0] or "could not be used (disk I/O error)" in messages[0]
    assert codes[0] == 1
    assert run(command) == 0
    json.loads(capsys.readouterr().out)
    left = [path for path in (tmp_path / "run").rglob("*") if path.name.endswith(".part")]
    assert left == []


def test_output_that_cannot_be_printed_is_one_line():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "softlabel", "bounds", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=os.environ, timeout=120)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "softlabel: standard output cannot be written (No space left on device): the output is incomplete"
    ]
