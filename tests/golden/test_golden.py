"""Every verb gives the numbers it gave before, at small settings."""

import json
import math
import re
from typing import Any

import pytest

from tests.golden.cases import CASES
from tests.golden.record import RECORDED, run_case

# keys of the recorded documents that have another name now
RENAMED = {
    "margin": "equivalence",
    "step": "learning_rate",
    "held": "source",
    "steps": "learning_rates",
    "batch": "batch_size",
    "start": "init",
    "start_scale": "init_scale",
    "rate": "learning_rate",
    "starts": "inits",
    "optimiser": "optimizer",
    "soft_steps": "soft_learning_rates",
    "hard_steps": "hard_learning_rates",
    "vgg_decay": "vgg_weight_decay",
    "resnet_decay": "resnet_weight_decay",
    "loss at the start": "initial loss",
    "in the end": "final loss",
    "best step": "best learning rate",
    "share of its fall in the second half of the training": "share of its decrease in the second half of the training",
}


RENAMED_IN = {  # names of one case alone
    "reproduce-figure1": {"width": "width_multiplier"},
    "doctor-run": {"step": "learning rate"},
    "audit-soft": {"step": "step", "steps": "steps"},
    "audit-hard": {"step": "step", "steps": "steps"},
    "bounds": {"step": "step"},
}


def renamed(value: Any, case: str) -> Any:
    """A recorded document with the names that its keys have now."""
    names = RENAMED | RENAMED_IN.get(case, {})
    if isinstance(value, dict):
        keys = {key: names.get(key, key).replace("that of step", "score of") for key in value}
        return {keys[key]: renamed(entry, case) for key, entry in value.items()}
    return [renamed(entry, case) for entry in value] if isinstance(value, list) else value


def numbers(text: str) -> list[str]:
    """The numbers in a sentence, whose words may change."""
    return re.findall(r"\d+(?:[.,]\d+)*", text)


def differences(recorded: Any, now: Any, at: str = "") -> list[str]:
    """Where two documents differ: keys, lengths, words, and numbers by more than rounding."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        gone = [f"{at}.{key} is gone" for key in recorded.keys() - now.keys()]
        new = [f"{at}.{key} is new" for key in now.keys() - recorded.keys()]
        shared = [key for key in recorded if key in now]
        return gone + new + [d for key in shared for d in differences(recorded[key], now[key], f"{at}.{key}")]
    if isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        return [d for k, pair in enumerate(zip(recorded, now, strict=True)) for d in differences(*pair, f"{at}[{k}]")]
    if isinstance(recorded, float) and isinstance(now, float | int):
        return [] if math.isclose(recorded, now, rel_tol=1e-6, abs_tol=1e-9) else [f"{at}: {recorded} became {now}"]
    if isinstance(recorded, str) and isinstance(now, str) and " " in recorded:
        recorded, now = numbers(recorded), numbers(now)
    return [] if recorded == now else [f"{at}: {recorded!r} became {now!r}"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_golden(name, tmp_path):
    recorded = json.loads((RECORDED / f"{name}.json").read_text())
    assert differences(renamed(recorded, name), run_case(name, tmp_path)) == []


def test_differences_are_noticed():
    assert differences({"a": [1.0, "x"]}, {"a": [1.0 + 1e-9, "x"]}) == []
    assert differences({"a": [1.0, "x"]}, {"a": [1.001, "y"], "b": 1}) == [
        ".b is new", ".a[0]: 1.0 became 1.001", ".a[1]: 'x' became 'y'",
    ]  # fmt: skip
