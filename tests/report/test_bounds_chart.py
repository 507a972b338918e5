"""The interactive charts of the bounds: curves, marks and sentences."""

import math

import numpy as np
import pytest

import softlabel as sl
from softlabel.report.bounds_chart import bounds_charts, crossover_sentence, neurons
from softlabel.theory.bounds import ARMS, FAMILIES

GAMMAS = np.geomspace(1e-4, 0.5, 9).clip(max=0.5).tolist()


def charts(gamma=0.05, **case):
    overview = sl.bounds.overview(gamma, 0.1, 1000, **case)
    return overview, bounds_charts(overview, GAMMAS, sl.bounds.width_curves(GAMMAS, 0.1, 1000, **case))


def series(chart):
    return {one.name: one for one in chart.panels[0].series}


def test_curves_and_marks_are_the_numbers_of_the_bounds():
    overview, drawn = charts()
    assert tuple(drawn) == FAMILIES
    for family, chart in drawn.items():
        lines = series(chart)
        for arm in ARMS:
            expected = [getattr(sl.bounds, arm)(gamma, 0.1, 1000, family=family).width for gamma in GAMMAS]
            assert lines[f"{arm} labels"].y == expected
            assert lines[f"{arm} labels"].hover == [f"{arm} labels: {neurons(width)}" for width in expected]
            assert lines[f"{arm} labels at γ"].y == [overview.families[family][arm].width]
        crossing = overview.crossovers[family].gamma
        assert ("crossover" in lines) == (crossing is not None)
        if crossing is not None:
            assert lines["crossover"].x == [crossing]
            assert lines["crossover"].y == [sl.bounds.soft_width(crossing, 0.1, 1000, family=family)]
        low, high = chart.panels[0].y_range
        assert all(low < y <= high for line in lines.values() for y in line.y)
    assert len({chart.panels[0].y_range for chart in drawn.values()}) == 1


def test_a_family_without_a_version_says_so():
    _, drawn = charts(kappa=2.0)
    assert "soft labels" not in series(drawn["paper"])
    assert series(drawn["paper"])["soft labels at γ"].y == []
    assert drawn["paper"].caption.startswith("The paper family has no version with temperature κ ≠ 1")


@pytest.mark.parametrize(("crossing", "sentence"), [
    (sl.bounds.Crossover(0.00690123), "Soft labels need fewer neurons where γ < 0.006901."),
    (sl.bounds.crossover("tight", 0.1, 1000), "Soft labels need fewer neurons at every γ ≤ ½."),
    (sl.bounds.Crossover(None, "soft never: hard labels need fewer"), "Hard labels need fewer."),
    (sl.bounds.Crossover(None, "unknown: too large"), "Unknown: too large."),
])  # fmt: skip
def test_where_soft_labels_need_fewer(crossing, sentence):
    assert crossover_sentence(crossing) == sentence


def test_numbers_of_neurons():
    assert [neurons(width) for width in (66826, 1.5e20, math.inf, None)] == ["66,826", "1.5e+20", "–", "–"]
