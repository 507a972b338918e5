"""One estimate of the time left over all stages of a run."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.lab import estimate
from softlabel.lab.estimate import RunClock


@pytest.fixture
def now(monkeypatch):
    """A clock that tests move."""
    at = [0.0]
    monkeypatch.setattr(estimate.time, "perf_counter", lambda: at[0])
    return at


def test_stages_that_have_not_begun_count(now):
    clock = RunClock({"one": 4.0, "two": 8.0})
    assert clock.seconds_left is None
    clock.begin("one", {"a": 2.0, "b": 2.0}, {"one": 4.0, "two": 8.0})
    now[0] = 10.0
    clock.finished("a")
    assert clock.seconds_left == pytest.approx(50.0)
    assert clock.open
    clock.begin("two", {"c": 2.0}, {"one": 4.0, "two": 8.0})
    now[0] = 20.0
    assert not clock.open
    assert clock.seconds_left == pytest.approx(20.0)


def test_a_guess_gives_an_estimate_before_anything_is_measured_and_then_fades(now):
    clock = RunClock({"one": 100.0}, pace=1.0)
    clock.begin("one", {str(k): 1.0 for k in range(100)}, {})
    assert clock.seconds_left == pytest.approx(100.0)
    estimates = []
    for k in range(60):
        now[0] += 3.0
        clock.finished(str(k))
        estimates.append(clock.seconds_left)
    assert 100 < estimates[0] < 200  # no jump to three times the guess
    assert estimates[-1] == pytest.approx(3.0 * 40, rel=0.1)


def test_bundles_of_other_workers_count_as_half_finished(now):
    clock = RunClock({}, workers=4)
    clock.begin("one", {str(k): 1.0 for k in range(40)}, {})
    now[0] = 10.0
    clock.finished("0")
    assert clock.seconds_left < 10.0 * 39  # as if one bundle had been worked on


def test_the_teacher_counts_in_time_and_share(now):
    clock = RunClock({}, before=30.0)
    clock.begin("one", {"a": 1.0, "b": 1.0}, {})
    now[0] = 10.0
    clock.finished("a")
    fields = clock.fields()
    assert fields["run_seconds"] == pytest.approx(40.0)
    assert fields["share"] == pytest.approx(40.0 / 50.0)


@given(
    costs=st.lists(st.floats(0.1, 100), min_size=1, max_size=30),
    workers=st.integers(1, 8),
    pace=st.none() | st.floats(1e-3, 10),
)
@settings(max_examples=50, deadline=None)
def test_it_ends_at_nothing_left_and_is_never_negative(costs, workers, pace):
    clock = RunClock({"one": sum(costs), "two": 5.0}, pace, workers=workers)
    clock.begin("one", {str(k): cost for k, cost in enumerate(costs)}, {"two": 5.0})
    for k in range(len(costs)):
        clock.finished(str(k))
        assert clock.seconds_left >= 0
        assert 0 <= clock.fields()["share"] <= 1
    clock.begin("two", {}, {"two": 5.0})
    assert clock.seconds_left == 0
    assert clock.fields()["share"] == 1.0
