import numpy as np
import pytest
from scipy.special import entr

from softlabel.errors import InputError
from softlabel.networks import TwoLayer
from softlabel.theory.invariants import FORMULAS, Invariants
from softlabel.theory.projected_run import Run


def a_run(**changes) -> tuple[Run, TwoLayer]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((12, 4))
    x /= np.linalg.norm(x, axis=1).max()
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    initial = TwoLayer.initialized("symmetric", width=10, inputs=4, seed=3)
    v = np.tile(np.eye(4)[0], (10, 1))
    settings = {"arm": "soft", "radius": 2.0, "learning_rate": 0.5, "kappa": 1.0} | changes
    run = Run(x=x, y=y, z=0.5 * x[:, 0], init=initial.hidden.numpy(), signs=initial.output.numpy()[0], v=v, **settings)
    return run, initial


def test_quantities_are_their_definitions():
    """Drift, comparison loss and band, each by a slow loop over neurons and points."""
    run, _ = a_run()
    invariants = Invariants(run)
    m = 10
    u = np.array([run.signs[j] / np.sqrt(m) * run.v[j] for j in range(m)])
    for i, x in enumerate(run.x):
        f0 = sum(run.signs[j] * (run.init[j] @ x > 0) * ((run.init[j] + u[j]) @ x) for j in range(m)) / np.sqrt(m)
        assert invariants.output_init[i] == pytest.approx(f0)
        band = sum(abs(run.init[j] @ x) <= np.linalg.norm(x) * run.radius / np.sqrt(m) for j in range(m // 2))
        assert invariants.pairs_in_band[i] == band
    np.testing.assert_allclose(invariants.reach, run.init + u)


def test_a_displaced_weight_outside_the_ball_fails_the_radius():
    run, _ = a_run()
    invariants = Invariants(run)
    invariants.check_step(0, run.init, np.zeros(12))
    moved = run.init.copy()
    moved[3] += 5.0
    invariants.check_step(1, moved, np.zeros(12))
    failing = {check.name: check.step for check in invariants.checks() if not check.holds}
    assert failing["radius"] == 1
    assert "flips" in failing
    assert "start" not in failing


def test_noise_at_the_start_fails_exactly():
    run, _ = a_run()
    invariants = Invariants(run)
    invariants.check_step(0, run.init, np.full(12, 1e-17))
    assert [check.name for check in invariants.checks() if not check.holds] == ["start"]


def test_a_step_towards_nothing_fails_the_descent():
    """Weights that run away from W̄ while the loss is not small break the inequality at that step."""
    run, _ = a_run(radius=50.0)
    invariants = Invariants(run)
    invariants.check_step(0, run.init, np.zeros(12))
    away = run.init - 3 * (invariants.reach - run.init)
    logits = np.maximum(run.x @ away.T, 0) @ run.signs / np.sqrt(10)
    invariants.check_step(1, away, logits)
    invariants.check_step(2, away - 3 * (invariants.reach - run.init), logits)
    assert {c.name for c in invariants.checks() if not c.holds} >= {"descent"}


def test_every_check_has_its_formula_and_steps_come_in_order():
    run, _ = a_run()
    invariants = Invariants(run)
    invariants.check_step(0, run.init, np.zeros(12))
    invariants.check_step(1, run.init, np.zeros(12))
    assert {check.name for check in invariants.checks()} == set(FORMULAS)
    with pytest.raises(InputError, match="in order: got 5 after 1"):
        invariants.check_step(5, run.init, np.zeros(12))


def test_no_error_check_where_the_teacher_errs():
    run, _ = a_run()
    wrong = Run(**{**vars(run), "y": -run.y})
    invariants = Invariants(wrong)
    invariants.check_step(0, run.init, np.zeros(12))
    assert "error" not in {check.name for check in invariants.checks()}


def test_unknown_arm():
    with pytest.raises(InputError, match="`arm` must be 'soft' or 'hard'"):
        a_run(arm="firm")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"learning_rate": 4.0},
            r"`learning_rate` must lie in \(0, 4\) with soft labels, got 4.0: the certificate divides",
        ),
        ({"learning_rate": 5.0, "arm": "hard"}, r"`learning_rate` must lie in \(0, 4.911\) with hard labels, got 5.0"),
        ({"learning_rate": np.nan}, "`learning_rate` must lie in"),
        ({"learning_rate": np.inf}, "`learning_rate` must lie in"),
        ({"learning_rate": -1.0}, "`learning_rate` must lie in"),
        ({"learning_rate": 1e-310}, "`learning_rate` is too small for this `radius`, got 1e-310"),
        ({"radius": 1e200}, "`radius` must lie in"),
        ({"radius": np.nan}, "`radius` must lie in"),
        ({"radius": 0.5}, "`radius` must be at least `kappa`"),
        ({"kappa": np.inf}, "`kappa` must satisfy"),
        ({"delta": 0.0}, "`delta` must satisfy"),
    ],
)
def test_what_the_theorem_does_not_cover(changes, message):
    with pytest.raises(InputError, match=message):
        a_run(**changes)


def test_each_check_says_how_much_rounding_it_allows():
    """Allowances are positive but for what holds to the bit, and far below anything that a mistake would do."""
    run, _ = a_run()
    invariants = Invariants(run)
    invariants.check_step(0, run.init, np.zeros(12))
    invariants.check_step(1, run.init, np.zeros(12))
    allowances = {check.name: check.allowance for check in invariants.checks()}
    assert allowances.pop("start") == allowances.pop("flips") == 0
    assert 0 < allowances.pop("error") < 1e-6  # divided by ψ(κγ), with a γ of a few thousandths
    assert all(0 < allowance < 1e-11 for allowance in allowances.values())
    assert 0 < invariants.certificate().rounding < 1e-11


def test_losses_keep_their_digits_where_labels_are_nearly_even():
    """KL(μ(κz) ‖ ½) = (κz)²/8 for tiny κ, far below the rounding of the logarithms it is a difference of."""
    run, _ = a_run(kappa=1e-9, radius=1e-9)
    invariants = Invariants(run)
    loss, error = invariants._loss(np.zeros(12), np.zeros(12))
    assert loss == pytest.approx(np.mean((1e-9 * run.z) ** 2) / 8, rel=1e-6)
    assert error < 1e-3 * loss
    wide, _ = a_run(kappa=30.0, radius=30.0)
    p = wide.targets
    for f in (np.zeros(12), np.linspace(-40, 40, 12), 30 * wide.z + 0.3):
        expected = np.mean(np.logaddexp(0, f) - p * f - entr(p) - entr(1 - p))
        assert Invariants(wide)._loss(f, np.zeros(12))[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
