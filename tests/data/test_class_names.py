"""Names of classes: how they are shown, and which of them mean the same."""

import numpy as np
import pytest

from softlabel.data.class_names import class_name, match_names, plain_name, rule_of, rule_sides
from softlabel.data.problem import Problem


@pytest.mark.parametrize(
    ("value", "name"),
    [(1.0, "1"), (np.float32(2), "2"), (0.5, "0.5"), (True, "true"), (np.bool_(False), "false"), ("True", "True")],
)
def test_shown_names(value, name):
    assert class_name(value) == name


def test_truths_in_memory_are_called_as_those_of_a_file():
    rng = np.random.default_rng(0)
    assert Problem.from_arrays(rng.normal(size=(40, 2)), rng.random(40) > 0.5).classes == ("false", "true")


def test_long_ids_keep_their_digits():
    assert plain_name("12345678901234567890") == "12345678901234567890"
    assert plain_name("nan") == "nan"
    assert plain_name(0.5) == "0.5"


def test_a_rule_is_known_by_its_sides():
    assert rule_sides(" label>4 ") == ("not label>4", "label>4")
    assert rule_of(rule_sides("label>4")) == "label>4"
    assert rule_of(("a", "b")) is None
    assert rule_of(("not a", "a", "b")) is None


@pytest.mark.parametrize(
    ("given", "classes", "order"),
    [
        ([1.0, 0.0], ("0", "1"), [1, 0]),
        ([True, False], ("0", "1"), [1, 0]),
        (["0", "1"], ("not label>4", "label>4"), [0, 1]),
        (["a", "c"], ("a", "b"), None),
        (["a", "a"], ("a", "b"), None),
    ],
)
def test_matching(given, classes, order):
    assert match_names(given, classes) == order
