import pytest

from softlabel.errors import InputError
from softlabel.theory import bounds

WIDTHS = {"soft": bounds.soft_width, "hard": bounds.hard_width}


@pytest.mark.parametrize("arm", bounds.ARMS)
@pytest.mark.parametrize("family", bounds.FAMILIES)
def test_the_inverse_questions_invert_the_widths(family, arm):
    gamma, epsilon, n = 0.2, 0.1, 300
    width = WIDTHS[arm](gamma, epsilon, n, family=family)
    error = bounds.guaranteed_error(width, gamma, n, family=family, arm=arm)
    assert error == pytest.approx(epsilon, rel=2e-3)
    assert WIDTHS[arm](gamma, error, n, family=family) <= width
    assert WIDTHS[arm](gamma, error * 0.98, n, family=family) > width
    margin = bounds.needed_margin(width, epsilon, n, family=family, arm=arm)
    assert margin == pytest.approx(gamma, rel=2e-3)
    assert WIDTHS[arm](margin, epsilon, n, family=family) <= width
    assert WIDTHS[arm](margin * 0.99, epsilon, n, family=family) > width


def test_what_no_width_gives_is_none():
    assert bounds.guaranteed_error(4, 0.05, 1000) is None
    assert bounds.needed_margin(4, 0.1, 1000, arm="hard") is None
    assert bounds.guaranteed_error(10**9, 0.05, 1000, kappa=2, family="paper") is None
    assert bounds.needed_margin(10**9, 0.1, 1000, alpha=2, family="corrected") is None


def test_enormous_widths_reach_the_ends_of_the_search():
    assert bounds.guaranteed_error(2 * 10**100, 0.5, 10, arm="hard") == 1e-300
    assert bounds.needed_margin(2 * 10**250, 0.5, 10) == 1e-60
    assert bounds.guaranteed_error(10**400, 0.5, 10, arm="hard") == 1e-300


@pytest.mark.parametrize("width", [5, 0, -2, 2.0, True])
def test_a_width_is_an_even_number(width):
    with pytest.raises(InputError, match="`width` must be an even whole number ≥ 2"):
        bounds.guaranteed_error(width, 0.1, 10)
