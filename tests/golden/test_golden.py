"""Every verb gives the numbers it gave before, at small settings."""

import json
import math
from typing import Any

import pytest

from tests.golden.cases import CASES
from tests.golden.record import RECORDED, run_case


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
    return [] if recorded == now else [f"{at}: {recorded!r} became {now!r}"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_golden(name, tmp_path):
    recorded = json.loads((RECORDED / f"{name}.json").read_text())
    assert differences(recorded, run_case(name, tmp_path)) == []


def test_differences_are_noticed():
    assert differences({"a": [1.0, "x"]}, {"a": [1.0 + 1e-9, "x"]}) == []
    assert differences({"a": [1.0, "x"]}, {"a": [1.001, "y"], "b": 1}) == [
        ".b is new", ".a[0]: 1.0 became 1.001", ".a[1]: 'x' became 'y'",
    ]  # fmt: skip
