"""Do fresh students of the planned width reach the target as often as promised?"""

import pytest
from benchmarks.plan_promise import CHANCE, PLANS, SHARE, falls_short, make_plans, reached_shares
from scipy.stats import binom


def test_what_counts_as_too_few():
    """30 of 40 are too few for a probability of 90%, 31 may be chance."""
    assert falls_short(30 / 40)
    assert not falls_short(31 / 40)


@pytest.mark.slow
def test_thirty_plans_on_digits_keep_their_promise():
    """Stated with 95% confidence: one width in twenty may break it, and chance may make one in a hundred look so."""
    shares = reached_shares(make_plans(PLANS))
    assert len(shares) >= 50, "targets that most plans reach"
    assert sum(shares) / len(shares) >= SHARE
    assert sum(map(falls_short, shares)) <= binom.ppf(0.99, len(shares), 0.05 + CHANCE)
