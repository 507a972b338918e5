"""Privileged students against plain autograd, and against what the kernel regime predicts."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from softlabel.errors import DivergedError, InputError
from softlabel.networks.privileged import (
    PrivilegedStudent,
    draw_privileged_init,
    kernel_problem,
    select_units,
    train_privileged,
    unit_outputs,
)
from softlabel.networks.two_layer import TwoLayer
from softlabel.theory.dynamics import exact_dynamics, kernel_dynamics, limit, printed_limit

SIGMA = {"relu": torch.relu, "softplus": functional.softplus, "tanh": torch.tanh}


def data(n: int = 20, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True), rng.choice((-1.0, 1.0), n)


def student(x, width=5, strength=0.5, seed=0, activation="tanh", scale=1.0, away=0.3) -> PrivilegedStudent:
    hidden, output = draw_privileged_init(width, x.shape[1], scale, seed)
    rng = np.random.default_rng([seed, 1])
    known = unit_outputs(hidden, x, activation) + away * rng.standard_normal((width, len(x)))
    return PrivilegedStudent(hidden, output, strength, known, activation)


def plain(x, y, s: PrivilegedStudent, iterations: int, learning_rate: float) -> np.ndarray:
    """f after plain autograd descent on half of loss (2), or of its second term at λ = ∞."""
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    w = torch.tensor(s.hidden, requires_grad=True)
    a = torch.from_numpy(s.output) / math.sqrt(s.width)
    for _ in range(iterations):
        features = SIGMA[s.activation](w @ x.t())
        loss = torch.zeros(())
        if not math.isinf(s.strength):
            loss = loss + (y - a @ features).square().sum()
        if s.strength > 0:
            weight = 1.0 if math.isinf(s.strength) else s.strength
            loss = loss + weight * (torch.from_numpy(s.privileged) - features).square().sum()
        (gradient,) = torch.autograd.grad(0.5 * loss, w)
        w = (w - learning_rate * gradient).detach().requires_grad_()
    return (a @ SIGMA[s.activation](w @ x.t())).detach().numpy()


@pytest.mark.parametrize("activation", SIGMA)
@pytest.mark.parametrize("shape", [(20, 6), (5, 30)])
def test_students_of_all_kinds_together_equal_plain_ones(activation, shape):
    x, y = data(*shape)
    group = [
        student(x, width, strength, seed, activation)
        for seed, (width, strength) in enumerate([(5, 0.0), (3, 0.01), (7, 2.0), (4, math.inf), (1, 0.5)])
    ]
    runs = train_privileged(x, y, group, iterations=25, learning_rate=0.05, precision="float64", keep_outputs=True)
    for run in runs:
        truth = plain(x, y, run.student, 25, 0.05)
        assert run.network.logits(x) == pytest.approx(truth, abs=1e-10)
        assert run.outputs[-1] == pytest.approx(truth, abs=1e-10)
        assert run.train[-1] == pytest.approx(np.mean((truth - y) ** 2))


def test_records_and_test_errors():
    x, y = data()
    x_test, y_test = data(seed=9)
    (run,) = train_privileged(
        x, y, [student(x)], iterations=10, learning_rate=0.1, record_every=4, test=(x_test, y_test), precision="float64"
    )
    assert run.steps == [0, 4, 8, 10]
    assert len(run.train) == len(run.test) == 4
    assert run.test[-1] == pytest.approx(np.mean((run.network.logits(x_test) - y_test) ** 2))
    assert run.outputs is None


def test_blocks_of_rows_change_nothing(monkeypatch):
    x, y = data(50)
    full = train_privileged(x, y, [student(x)], iterations=5, learning_rate=0.1, precision="float64")[0]
    monkeypatch.setattr("softlabel.networks.privileged.BLOCK", 7)
    parts = train_privileged(x, y, [student(x)], iterations=5, learning_rate=0.1, precision="float64")[0]
    assert parts.network.logits(x) == pytest.approx(full.network.logits(x), abs=1e-12)


@pytest.mark.parametrize("activation", ["softplus", "tanh"])
def test_the_kernel_prediction_improves_with_the_width(activation):
    """Deviation relative to ‖f(0) − y‖ falls like 1/√m or faster: λ = 1, n = 40, φ_k = f_k(0)."""
    x, y = data(40, 50, seed=2)
    deviations = []
    for width in (50, 200, 800):
        hidden, output = draw_privileged_init(width, 50, 1.0, 3)
        s = PrivilegedStudent(hidden, output, 1.0, unit_outputs(hidden, x, activation), activation)
        dynamics = kernel_dynamics(kernel_problem(s, x, y))
        learning_rate = 0.02 * dynamics.max_learning_rate
        (run,) = train_privileged(
            x,
            y,
            [s],
            iterations=400,
            learning_rate=learning_rate,
            record_every=20,
            keep_outputs=True,
            precision="float64",
        )
        predicted = np.stack([dynamics.descent(k, learning_rate) for k in run.steps])
        size = np.linalg.norm(run.outputs[0] - y)
        deviations.append(np.linalg.norm(predicted - run.outputs, axis=1).max() / size)
    slope = np.polyfit(np.log([50, 200, 800]), np.log(deviations), 1)[0]
    assert slope < -0.5
    assert deviations[0] < 2e-2


@pytest.mark.parametrize(("n", "d", "activation"), [(40, 10, "softplus"), (16, 20, "relu")])
def test_the_true_limit_is_reached_where_the_printed_one_is_far(n, d, activation):
    x, y = data(n, d, seed=4)
    hidden, output = draw_privileged_init(1000, d, 1.0, 5)
    s = PrivilegedStudent(hidden, output, 1.0, unit_outputs(hidden, x, activation), activation)
    problem = kernel_problem(s, x, y)
    dynamics = kernel_dynamics(problem)
    (run,) = train_privileged(
        x, y, [s], iterations=3000, learning_rate=0.4 * dynamics.max_learning_rate, precision="float64"
    )
    end = run.network.logits(x)
    size = np.linalg.norm(problem.initial.numpy() - y)
    assert np.abs(end - printed_limit(problem).numpy()).max() > 0.1
    assert np.linalg.norm(end - limit(problem).numpy()) / size < (1e-3 if activation != "relu" else 2e-2)


def test_a_kernel_problem_is_the_students_own():
    x, y = data()
    s = student(x, activation="relu")
    p = kernel_problem(s, x, y)
    assert p.initial.numpy() == pytest.approx(plain(x, y, s, 0, 0.1))
    assert exact_dynamics(p).descent(1, 1e-6) == pytest.approx(plain(x, y, s, 1, 1e-6), abs=1e-10)


def test_units_are_selected_without_replacement():
    network = TwoLayer(torch.arange(30.0).reshape(10, 3), torch.arange(10.0)[None])
    hidden, output = select_units(network, 6, seed=1)
    assert len(set(output)) == 6
    assert hidden == pytest.approx(network.hidden.numpy()[output.astype(int)])
    again, _ = select_units(network, 6, seed=1)
    assert again == pytest.approx(hidden)
    with pytest.raises(InputError, match="cannot select 11 of 10 units"):
        select_units(network, 11, seed=1)


def test_divergence_is_named():
    x, y = data()
    s = PrivilegedStudent(*draw_privileged_init(4, 6, 1.0, 0), activation="softplus", name="small")
    with pytest.raises(DivergedError, match="student 'small' diverged"):
        train_privileged(x, y, [s], iterations=400, learning_rate=1e4, record_every=10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: PrivilegedStudent(np.ones((3, 6)), np.ones(3), 0.5), "needs privileged knowledge"),
        (lambda x: PrivilegedStudent(np.ones((3, 6)), np.ones(3), -0.5), "strength must lie between 0 and"),
        (lambda x: PrivilegedStudent(np.ones((2, 6)), np.ones(3)), "hidden weights must be"),
        (lambda x: PrivilegedStudent(np.ones((3, 4)), np.ones(3)), "have 4 columns, inputs have 6"),
        (lambda x: PrivilegedStudent(np.ones((3, 6)), np.ones(3), 1.0, np.ones((3, 2))), r"= \(3, 20\)"),
        (lambda x: PrivilegedStudent(np.ones((3, 6)), np.ones(3), activation="step"), "unknown activation"),
    ],
)
def test_bad_students_are_named(make, message):
    x, y = data()
    with pytest.raises(InputError, match=message):
        train_privileged(x, y, [make(x)], iterations=1, learning_rate=0.1)
