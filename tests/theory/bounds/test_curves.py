"""Widths along margins equal those of single cases."""

import pytest

import softlabel as sl
from softlabel.errors import InputError
from softlabel.theory.bounds import ARMS, FAMILIES

GAMMAS = [1e-6, 0.003, 0.1, 0.5]


@pytest.mark.parametrize("case", [{}, {"kappa": 2.0}, {"alpha": 0.1, "c": 0.3, "delta": 0.2}])
def test_every_width_is_that_of_the_overview(case):
    curves = sl.bounds.width_curves(GAMMAS, 0.2, 500, **case)
    for index, gamma in enumerate(GAMMAS):
        overview = sl.bounds.overview(gamma, 0.2, 500, **case)
        for family in FAMILIES:
            for arm in ARMS:
                assert curves[family][arm][index] == overview.families[family][arm].width


def test_a_margin_out_of_range_is_refused():
    with pytest.raises(InputError, match="`gamma` must satisfy"):
        sl.bounds.width_curves([0.1, 0.6], 0.1, 100)
