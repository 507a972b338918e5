"""Verdicts with the spread of real runs, on a small scale; `python -m benchmarks.verdicts` does it in full on MNIST."""

import pytest
from benchmarks.verdicts import MARGIN, real_differences, simulate

from softlabel.teachers import automatic


@pytest.fixture(scope="module")
def spread():
    """What real pairs of students on digits differ by, less the mean."""
    with pytest.MonkeyPatch.context() as patch:  # a small teacher does
        for name, value in {"WIDTH": 64, "UPDATES": 300, "MOST_TREE_WORK": 0}.items():
            patch.setattr(automatic, name, value)
        difference = real_differences("digits", pairs=24, width=24)
    return difference - difference.mean()


def test_without_a_gap_a_winner_is_rare(spread):
    counts = simulate(spread, 0.0, 150, test_rows=2000)
    assert counts.get("soft wins", 0) + counts.get("hard wins", 0) <= 15  # 5% are 7.5; more than 15: once in 200


def test_a_gap_of_twice_the_margin_is_found(spread):
    counts = simulate(spread, 2 * MARGIN, 60, test_rows=5000)
    assert counts.get("soft wins", 0) >= 54
    assert "hard wins" not in counts
