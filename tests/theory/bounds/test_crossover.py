import math

import pytest

from softlabel.theory import bounds
from softlabel.theory.bounds.families import real_needs
from softlabel.theory.bounds.setting import Setting

# n = 1000, δ = .05, c = 1
TABLE = {
    0.1: {"paper": "0.0947", "corrected": "0.0069", "refined": "0.428", "tight": None},
    0.01: {"paper": "0.0372", "corrected": "0.0034", "refined": "0.170", "tight": "0.262"},
    0.001: {"paper": "0.0141", "corrected": "0.00146", "refined": "0.069", "tight": "0.108"},
}


@pytest.mark.parametrize("epsilon", TABLE)
@pytest.mark.parametrize("family", bounds.FAMILIES)
def test_table_of_crossovers(family, epsilon):
    expected = TABLE[epsilon][family]
    result = bounds.crossover(family, epsilon, 1000)
    if expected is None:
        assert result.gamma is None
        assert result.note.startswith("soft always")
    else:
        assert f"{result.gamma:.{len(expected) - 2}f}" == expected
        assert result.note == ""


@pytest.mark.parametrize("family", bounds.FAMILIES)
def test_soft_needs_fewer_exactly_below_the_crossover(family):
    setting = Setting(n=500, delta=0.1, c=0.7)
    gamma = bounds.crossover(family, 0.003, 500, 0.1, 0.7).gamma
    assert gamma is not None
    here = [real_needs(family, arm, gamma, 0.003, setting).width for arm in bounds.ARMS]
    assert here[0] == pytest.approx(here[1], rel=1e-9)
    previous = 0.0
    for factor in (1e-6, 1e-3, 0.1, 0.5, 0.99, 1.01, 2, 5):
        if factor * gamma > 0.5:
            continue
        soft, hard = (real_needs(family, arm, factor * gamma, 0.003, setting).width for arm in bounds.ARMS)
        assert (soft < hard) == (factor < 1)
        assert soft / hard > previous  # the ratio rises with γ, so there is one crossing
        previous = soft / hard


def test_a_crossover_that_is_not_there_has_a_word():
    assert bounds.crossover("tight", 0.1, 1000, kappa=0.01).note.startswith("soft always")
    assert bounds.crossover("tight", 0.1, 1000, alpha=1e100).note.startswith("soft never")
    assert bounds.crossover("paper", 0.1, 1000, kappa=2).note.startswith("the paper family has no version")
    assert bounds.crossover("corrected", 0.1, 1000, alpha=2).gamma is None
    assert bounds.crossover("corrected", 0.1, 1000, c=1e-300).note.startswith("unknown")
    assert bounds.crossover("refined", 1e-12, 1000).gamma == pytest.approx(0, abs=1e-4)


def test_warmer_labels_move_the_crossover_up():
    cold, plain = (bounds.crossover("refined", 0.01, 1000, kappa=kappa).gamma for kappa in (4.0, 1.0))
    assert cold < plain
    assert not math.isclose(cold, plain)
