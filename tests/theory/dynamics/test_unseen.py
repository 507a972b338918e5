"""Predicted outputs on rows that a student is not trained on, and the movement of f along each pole."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from softlabel.errors import InputError
from softlabel.theory.dynamics import KernelProblem, UnseenRows, exact_dynamics, kernel_dynamics
from tests.theory.dynamics.problems import problem

SHAPES = [{"n": 7, "d": 9}, {"n": 9, "d": 3}]  # fewer rows than inputs, and more
STRENGTHS = [0.0, 0.7, float("inf")]


def joined(p: KernelProblem, count: int) -> tuple[KernelProblem, KernelProblem]:
    """The problem without its last rows, which are unseen, and these rows as the training rows of another problem."""
    first, last = (
        replace(p, x=p.x[rows], features=p.features[:, rows], slopes=p.slopes[:, rows],
                privileged=p.privileged[:, rows], y=p.y[rows])
        for rows in (slice(None, -count), slice(-count, None))
    )  # fmt: skip
    return replace(first, unseen=UnseenRows(last.x, last.features, last.slopes)), last


def by_euler(p: KernelProblem, time: float, steps: int = 20000) -> np.ndarray:
    """f on the unseen rows: the weights of linear networks move in small steps."""
    assert p.unseen is not None
    weights = torch.zeros(p.units, p.x.shape[1], dtype=torch.float64)
    for _ in range(steps):
        features = p.features + p.slopes * (weights @ p.x.t())
        f = p.mix @ features
        r = p.privileged - features
        if not p.alone:
            r = torch.outer(p.mix, p.y - f) + p.strength * r
        weights += time / steps * (p.slopes * r) @ p.x
    return (p.mix @ (p.unseen.features + p.unseen.slopes * (weights @ p.unseen.x.t()))).numpy()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("strength", STRENGTHS)
def test_unseen_training_rows_have_the_outputs_of_training_rows(shape, strength):
    p = problem(**shape, strength=strength)
    again = replace(p, unseen=UnseenRows(p.x, p.features, p.slopes))
    for predict in (kernel_dynamics, exact_dynamics):
        dynamics = predict(again)
        for time in (0.0, 0.3, 4.0):
            np.testing.assert_allclose(dynamics(time, unseen=True), dynamics(time), atol=1e-12)
        np.testing.assert_allclose(dynamics(4.0), predict(p)(4.0), atol=1e-12)
        np.testing.assert_allclose(dynamics.descent(5, 0.1, unseen=True), dynamics.descent(5, 0.1), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("strength", STRENGTHS)
def test_other_rows_against_small_steps_of_the_linear_network(shape, strength):
    p, _ = joined(problem(**shape, strength=strength), 3)
    for predict in (kernel_dynamics, exact_dynamics):
        np.testing.assert_allclose(predict(p)(1.5, unseen=True), by_euler(p, 1.5), atol=1e-3)
    assert kernel_dynamics(p)([0.0, 1.0], unseen=True).shape == (2, 3)


def test_a_student_that_never_moves():
    p, last = joined(problem(strength=float("inf"), away=0.0), 2)
    np.testing.assert_allclose(kernel_dynamics(p)(2.0, unseen=True), last.initial.numpy(), atol=1e-15)


def test_there_must_be_unseen_rows():
    with pytest.raises(InputError, match="need a problem with `unseen` rows"):
        kernel_dynamics(problem())(1.0, unseen=True)


@pytest.mark.parametrize("iterations", [0, 1, 30])
def test_movement_is_that_along_each_pole_alone(iterations):
    dynamics = kernel_dynamics(problem(n=9, d=3))  # its kernels are singular: some poles are 0
    rate = 0.3 * dynamics.max_learning_rate
    initial = dynamics(0.0)
    alone = [
        replace(dynamics, poles=np.array([pole]), modes=mode[None]).descent(iterations, rate) - initial
        for pole, mode in zip(dynamics.poles, dynamics.modes, strict=True)
    ]
    np.testing.assert_allclose(dynamics.movement(iterations, rate), np.linalg.norm(alone, axis=1), atol=1e-12)
