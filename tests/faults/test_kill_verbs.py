"""kill −9 at twenty random moments of each verb that resumes: its results.json ends as that of an uninterrupted run.

Moments are drawn over all the time that the uninterrupted command took, so they fall into loading, the teacher's
training, the students' trainings, the exports and the page. A killed command is given again, and killed again, up to
five times before it may finish.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.corpus import make_corpus

KILLS, IN_A_ROW, TRIES = 20, 5, 60
PATIENCE = 600.0
ROOT = Path(__file__).parents[2]
TIMES = ("seconds", "milliseconds", "latency", "attempts", "time")
SETTINGS = """
runs = 2
widths = [4, 2]
leave_out = [[1, 7, 4, 9]]
[teacher]
width = 64
epochs = 8
[[protocols]]
name = "pgd"
about = "as in the paper"
epochs = 4
radii = [25.0, 100.0]
temperatures = [4.0]
soft_learning_rates = [30.0]
hard_learning_rates = [30.0]
"""
COMMANDS = {
    "verdict": "verdict data.csv --label sick --drop patient --width 4 --epochs 8 --seeds 8 --out run",
    "plan": "plan data.csv --label sick --drop patient --accuracy 0.7 --widths 2,4 --seeds 3 --share 0.7 --confirm 14 "
    "--epochs 6 --out run",
    "distill": "distill images.npz --teacher resnet8 --teacher-width-multiplier 0.5 --student vgg1+3 "
    "--width-multiplier 0.1 --epochs 4 --smoothing 0.1 --precision float32 --out run",
    "reproduce": "reproduce table1 --data digits --settings settings.toml --executor local --workers 2 --out run",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = make_corpus(tmp_path_factory.mktemp("kill") / "place")
    shutil.rmtree(place / "run")
    (place / "settings.toml").write_text(SETTINGS)
    return place


def start(place: Path, command: str) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "softlabel", *command.split()]
    return subprocess.Popen(words, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen) -> None:
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors.decode()


def results(place: Path) -> Any:
    return timeless(json.loads((place / "run" / "results.json").read_text()))


def timeless(value: Any) -> Any:
    """The same without times, which no two runs share."""
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if not any(word in name for word in TIMES)}
    return [timeless(part) for part in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_killed_verb_ends_as_an_uninterrupted_one(place, verb):
    command, dice = COMMANDS[verb], random.Random(verb)
    began = time.monotonic()
    finish(start(place, command))
    usual = time.monotonic() - began
    truth = results(place)
    shutil.rmtree(place / "run")
    kills = in_a_row = compared = 0
    for _ in range(TRIES):
        process = start(place, command)
        if kills < KILLS and in_a_row < IN_A_ROW:
            try:
                process.wait(dice.uniform(0, usual))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills, in_a_row = kills + 1, in_a_row + 1
                continue
        finish(process)
        assert results(place) == truth
        compared, in_a_row = compared + 1, 0
        shutil.rmtree(place / "run")
        if kills == KILLS:
            break
    assert kills == KILLS
    assert compared >= KILLS // IN_A_ROW
