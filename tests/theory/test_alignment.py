"""alignf against a quadratic program on whole kernels; Nyström features against the kernel itself."""

import cvxpy as cp
import numpy as np
import pytest
import torch

from softlabel.errors import InputError
from softlabel.theory import alignment as module
from softlabel.theory.alignment import align_kernels, gaussian_kernels, kernel_embedding


def data(n: int = 60, d: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, np.where(np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] > 0, 1.0, -1.0)


def full(x, kernels):
    points = torch.from_numpy(x)
    centre = np.eye(len(x)) - 1 / len(x)
    return [centre @ kernel(points, points).numpy() @ centre for kernel in kernels]


@pytest.mark.parametrize("block", [7, 1024])
def test_weights_solve_the_quadratic_program(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    x, y = data()
    kernels = gaussian_kernels(x, 5)
    result = align_kernels(x, y, kernels)
    centered = full(x, kernels)
    m = np.array([[np.sum(k * l) for l in centered] for k in centered])  # noqa: E741
    a = np.array([y @ k @ y for k in centered])
    v = cp.Variable(5, nonneg=True)
    cp.Problem(cp.Minimize(cp.quad_form(v, cp.psd_wrap(m)) - 2 * v @ a)).solve(solver=cp.CLARABEL)
    truth = v.value / np.linalg.norm(v.value)
    assert result.weights == pytest.approx(truth, abs=1e-4)
    assert np.linalg.norm(result.weights) == pytest.approx(1)
    objective = [w @ m @ w * (w @ a) ** 2 / (w @ m @ w) ** 2 for w in (result.weights, truth)]
    assert objective[0] >= objective[1] * (1 - 1e-9)
    target = np.outer(y - y.mean(), y - y.mean())
    single = [np.sum(k * target) / np.linalg.norm(k) / np.linalg.norm(target) for k in centered]
    assert result.single == pytest.approx(single, abs=1e-9)
    assert result.together >= max(single) - 1e-9


def test_the_labels_own_kernel_takes_all():
    x, y = data()
    x = np.column_stack([x, y])

    def own(a, b):
        return torch.outer(a[:, -1], b[:, -1])

    result = align_kernels(x, y, [*gaussian_kernels(x, 3), own])
    assert result.weights[-1] == pytest.approx(1, abs=1e-3)
    assert result.together == pytest.approx(1, abs=1e-6)


def test_features_with_all_points_as_landmarks_are_the_kernel():
    x, _ = data(40)
    kernels = gaussian_kernels(x, 3)
    weights = np.array([0.6, 0.0, 0.8])
    embedding = kernel_embedding(x, kernels, weights, landmarks=40)
    features = embedding(x)
    points = torch.from_numpy(x)
    kernel = 0.6 * kernels[0](points, points).numpy() + 0.8 * kernels[2](points, points).numpy()
    assert features @ features.T == pytest.approx(kernel, abs=1e-6)


def test_more_landmarks_come_nearer():
    x, _ = data(120)
    kernels = gaussian_kernels(x, 3)
    points = torch.from_numpy(x)
    kernel = kernels[1](points, points).numpy()
    errors = []
    for landmarks in (5, 20, 80):
        features = kernel_embedding(x, kernels, [0, 1, 0], landmarks)(x)
        errors.append(np.linalg.norm(features @ features.T - kernel))
    assert errors == sorted(errors, reverse=True)
    assert kernel_embedding(x, kernels, [0, 1, 0], 20)(x[:3]).shape[0] == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, y: align_kernels(x, np.ones(60), gaussian_kernels(x)), "labels are all equal"),
        (lambda x, y: align_kernels(x, y[:5], gaussian_kernels(x)), "`inputs` have 60 rows"),
        (lambda x, y: align_kernels(x, y, []), "the list is empty"),
        (lambda x, y: align_kernels(x, y, [lambda a, b: a @ b.t() + a[:, :1]]), "kernel 0 is not symmetric"),
        (lambda x, y: align_kernels(x, y, [*gaussian_kernels(x), lambda a, b: a]), "kernel 7 gives shape"),
        (lambda x, y: align_kernels(x, y, [lambda a, b: (a @ b.t()) / 0]), "kernel 0 gives values that are not"),
        (lambda x, y: align_kernels(x, np.where(y > 0, np.nan, 1.0), gaussian_kernels(x)), "finite numbers"),
        (lambda x, y: gaussian_kernels(np.ones((5, 2))), "all equal"),
        (lambda x, y: kernel_embedding(x, gaussian_kernels(x), [1.0]), "one entry per kernel"),
        (lambda x, y: kernel_embedding(x, gaussian_kernels(x), np.ones(7))(x[:, :2]), "3 columns"),
        (
            lambda x, y: align_kernels(x, y, [lambda a, b: -torch.outer(a[:, 0], b[:, 0]) * 0 + 1.0]),
            "every weight is 0",
        ),
    ],
)
def test_bad_calls_say_what_is_wrong(call, message):
    x, y = data()
    with pytest.raises(InputError, match=message):
        call(x, y)
