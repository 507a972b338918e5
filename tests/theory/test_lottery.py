"""Theorem 2: what a random choice of units leaves, by formula, by drawing, and by training the student."""

import itertools
import math
from itertools import pairwise

import numpy as np
import pytest

from softlabel.errors import InputError
from softlabel.theory.dynamics import KernelProblem, exact_dynamics, printed_limit
from softlabel.theory.lottery import Selection, weighted_units


def units(total: int = 6, n: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((total, n)) + 0.5


@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_the_expectation_is_the_mean_over_all_choices(count, corrected):
    selection = Selection(units(), count, corrected)
    errors = [
        np.sum((selection.units[list(chosen)].sum(0) / math.sqrt(count) - selection.teacher) ** 2)
        for chosen in itertools.combinations(range(6), count)
    ]
    assert selection.expected() == pytest.approx(np.mean(errors), abs=1e-12)


def test_with_the_correction_the_error_is_proportional_to_what_is_left_out():
    table = units(40, 10)
    values = [Selection(table, count).expected() / (1 - count / 40) for count in (1, 10, 30, 39)]
    assert values == pytest.approx([values[0]] * 4)
    assert Selection(table, 40).expected() == 0
    uncorrected = Selection(table, 8, corrected=False)
    assert uncorrected.expected() > Selection(table, 8).expected()
    represented = Selection(table, 8).teacher @ uncorrected.teacher / (uncorrected.teacher @ uncorrected.teacher)
    assert represented == pytest.approx(math.sqrt(8 / 40))


def test_draws_agree_with_the_expectation():
    selection = Selection(units(30, 5), 10)
    errors = selection.draw(4000, seed=1)
    assert errors.mean() == pytest.approx(selection.expected(), abs=4 * errors.std() / math.sqrt(4000))


def test_two_stages_leave_on_average_what_one_leaves():
    """The paper multiplies the errors of stages; a choice from a choice is one choice."""
    selection = Selection(units(30, 5), 5)
    direct, staged = selection.draw(6000, seed=2), selection.draw(6000, seed=3, through=12)
    spread = math.sqrt((direct.var() + staged.var()) / 6000)
    assert abs(direct.mean() - staged.mean()) < 4 * spread
    product = (1 - 12 / 30) * (1 - 5 / 12) / (1 - 5 / 30)
    assert staged.mean() > 1.5 * product * direct.mean()


@pytest.mark.parametrize("strength", [0.0, 0.01, 1.0, 50.0])
def test_a_student_in_the_kernel_regime_keeps_that_share(strength):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((5, 8))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    hidden, output = rng.standard_normal((12, 8)), rng.choice((-1.0, 1.0), 12)
    features = np.tanh(hidden @ x.T)
    selection = Selection(weighted_units(output, features), 4)
    chosen = rng.choice(12, 4, replace=False)
    slopes = 1 - np.tanh(hidden[chosen] @ x.T) ** 2
    problem = KernelProblem.from_arrays(
        x, features[chosen], slopes, output[chosen], features[chosen], selection.teacher, strength
    )  # fmt: skip
    known = selection.units[chosen].sum(0) / 2
    left = np.sum((known - selection.teacher) ** 2)
    final = printed_limit(problem).numpy()
    kept = 1.0 if math.isinf(strength) else (strength / (1 + strength)) ** 2
    assert np.sum((final - selection.teacher) ** 2) == pytest.approx(kept * left, abs=1e-12)
    if strength > 0:
        assert exact_dynamics(problem)(None) == pytest.approx(final, abs=1e-6)


def test_the_bound_is_above_the_mean_for_spread_out_units():
    selection = Selection(units(60, 20), 30)
    assert selection.bound() > 0.9 * selection.expected()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Selection(units(), 7), "cannot choose 7 of 6"),
        (lambda: Selection(units(), 3).draw(5, through=2), "between 3 and 6"),
        (lambda: Selection(units(), 3).draw(0), "`draws` must be"),
        (lambda: weighted_units(np.ones(3), np.ones((4, 2))), "one weight per unit"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_printed_square_of_q_can_be_made_up_for_by_no_constant():
    """One unit chosen of many, units of opposite signs: the mean error over (6)'s bracket grows without end."""
    ratios = []
    for total in (10, 100, 1000, 10_000):
        units = np.resize([1.0, -1.0], total)[:, None] * np.ones((total, 3))
        chosen = Selection(units, 1)
        ratios.append(chosen.expected() / chosen.bound(printed=True))
        assert chosen.expected() <= chosen.bound()
    assert all(later > 3 * earlier for earlier, later in pairwise(ratios))
    assert ratios[-1] > 1000
