"""A disk that is full, met by every verb that leaves files behind: one line, exit code 1, and the run goes on later."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from softlabel.cli.main import run
from softlabel.data.image_sets import load_images
from softlabel.studies.practice import consulting
from tests.cli.sheets import write_labels, write_sheet
from tests.faults.disks import files_up_to

SIZES = (250, 3_000, 30_000)  # bytes that a file may have


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    data = write_sheet(folder / "data.csv")
    write_labels(folder / "labels.csv", data)
    held = load_images("digits", "3,8")
    np.savez(folder / "images.npz", images=held.pixels[:80], labels=held.labels[:80])
    np.save(folder / "logits.npy", np.where(np.eye(2)[held.labels[:80]] > 0, 2.0, -2.0).astype(np.float32))
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch, place):
    monkeypatch.setattr(consulting, "theory_facts", lambda *_: {})
    monkeypatch.chdir(place)


COMMANDS = {
    "train": "train digits --width 20 --epochs 1",
    "margin": "margin data.csv --label sick --drop patient --budget 1 --start-widths 4",
    "distill": "distill images.npz --teacher logits.npy --student resnet8 --width 0.125 --epochs 1 --precision float32",
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
        told = [line for line in errors.splitlines() if line.startswith("softlabel:")]
        assert len(told) == codes[-1]
        assert not told or "File too large" in told[0] or "could not be used (disk I/O error)" in told[0]
    assert codes[0] == 1
    assert run(command) == 0
    json.loads(capsys.readouterr().out)
    left = [path for path in (tmp_path / "run").rglob("*") if path.name.endswith(".part")]
    assert left == []


def test_an_answer_that_cannot_be_printed_is_one_line():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "softlabel", "bounds", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=os.environ, timeout=120)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "softlabel: standard output cannot be written (No space left on device): the answer is incomplete"
    ]
