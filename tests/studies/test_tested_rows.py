"""Test rows of a study."""

import numpy as np
import pytest

from softlabel.data import Problem, load
from softlabel.lab.cells import CellResult
from softlabel.studies.tested_rows import known_and_test, right_rows


def test_a_share_of_every_class_is_kept_for_the_test_where_the_data_have_no_test_rows():
    problem = load("digits", task="label>4")
    known, test = known_and_test(problem, 0.25)
    assert sorted([*known.rows, *test.rows]) == list(range(len(problem)))
    assert len(test) == round(0.25 * len(problem))
    assert known.y.mean() == pytest.approx(test.y.mean(), abs=2 / len(test))


def test_tested_rows_do_not_depend_on_the_split_of_the_problem():
    first, second = (known_and_test(load("digits", task="label>4", seed=seed)) for seed in (0, 5))
    assert [list(part.rows) for part in first] == [list(part.rows) for part in second]


@pytest.mark.parametrize("scale", ["standard", "max"])
def test_test_rows_that_are_split_off_do_not_change_the_scale(scale):
    rng = np.random.default_rng(0)
    inputs, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    _, test = known_and_test(Problem.from_arrays(inputs, y, scale=scale))
    shifted = inputs.copy()
    shifted[test.rows] += 100
    known, far = known_and_test(Problem.from_arrays(shifted, y, scale=scale))
    before, _ = known_and_test(Problem.from_arrays(inputs, y, scale=scale))
    assert np.array_equal(known.in_unit_ball, before.in_unit_ball)
    assert far.in_unit_ball.min() > 1


def test_rows_that_came_as_test_rows_are_the_test_rows():
    y = np.arange(60) % 2
    problem = Problem.unsplit(np.random.default_rng(0).normal(size=(60, 3)), y, "data")
    known, test = known_and_test(problem.with_split("none", 0, test=np.arange(50, 60)))
    assert list(known.rows) == list(range(50))
    assert list(test.rows) == list(range(50, 60))


def test_right_rows_come_back_as_they_were_stored():
    right = np.random.default_rng(0).random(77) < 0.5
    assert np.array_equal(right_rows(CellResult({}, {"correct": np.packbits(right)}), 77), right)
