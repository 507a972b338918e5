"""Closed forms against drawing and against one-line formulas; streaming against dense."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import erf

from softlabel.errors import InputError
from softlabel.theory import kernel as module
from softlabel.theory.kernel import KINDS, KernelRows, kernel_matrix, kernel_product

CASES = [(kind, activation) for kind in KINDS for activation in ("relu", "erf")]


def slow_kernel(x: np.ndarray, other: np.ndarray, kind: str, activation: str) -> np.ndarray:
    """The textbook formulas, entry by entry, with NumPy's arccos and arcsin in float64."""
    out = np.zeros((len(x), len(other)))
    for i, u in enumerate(x):
        for j, v in enumerate(other):
            inner, lengths = u @ v, np.linalg.norm(u) * np.linalg.norm(v)
            if activation == "relu":
                cosine = np.clip(inner / lengths, -1, 1) if lengths > 0 else 0.0
                theta = np.arccos(cosine)
                gradient = inner * (np.pi - theta) / (2 * np.pi)
                output = lengths * (np.sin(theta) + (np.pi - theta) * cosine) / (2 * np.pi)
            else:
                s = (1 + 2 * u @ u) * (1 + 2 * v @ v)
                gradient = inner * 4 / np.pi / np.sqrt(s - 4 * inner**2)
                output = 2 / np.pi * np.arcsin(2 * inner / np.sqrt(s))
            out[i, j] = {"gradient": gradient, "output": output, "both": gradient + output}[kind]
    return out


def empirical_kernel(x: np.ndarray, w: np.ndarray, kind: str, activation: str) -> np.ndarray:
    """The kernel at finite width: expectations over w are means over the rows of w (m, d)."""
    z = x @ w.T
    if activation == "relu":
        value, slope = np.maximum(z, 0), (z > 0).astype(np.float64)
    else:
        value, slope = erf(z), 2 / math.sqrt(math.pi) * np.exp(-z * z)
    gradient = (x @ x.T) * (slope @ slope.T) / len(w)
    output = value @ value.T / len(w)
    return {"gradient": gradient, "output": output, "both": gradient + output}[kind]


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * np.linspace(0.3, 1, n)[:, None]


@pytest.mark.parametrize(("kind", "activation"), CASES)
@pytest.mark.parametrize("shape", [(30, 5), (6, 40), (9, 1), (1, 3)])
def test_equals_the_textbook_formula(kind, activation, shape):
    x, other = points(*shape), points(7, shape[1], seed=1)
    truth = slow_kernel(x, x, kind, activation)
    assert kernel_matrix(x, kind=kind, activation=activation) == pytest.approx(truth, abs=2e-8)  # arccos's own error
    assert kernel_matrix(x, other, kind=kind, activation=activation) == pytest.approx(
        slow_kernel(x, other, kind, activation), abs=1e-9 if shape[1] > 1 else 2e-8
    )


@pytest.mark.parametrize(("kind", "activation"), CASES)
def test_finite_width_converges_like_one_over_its_root(kind, activation):
    x, rng = points(12, 4), np.random.default_rng(3)
    exact = kernel_matrix(x, kind=kind, activation=activation)

    def error(m: int) -> float:
        gaps = [
            empirical_kernel(x, rng.standard_normal((m, 4)), kind=kind, activation=activation) - exact for _ in "abcd"
        ]
        return float(np.sqrt(np.mean(np.square(gaps))))

    errors = np.array([error(m) for m in (400, 6400, 102_400)])
    assert errors[-1] < 0.002
    assert errors[:-1] / errors[1:] == pytest.approx(4, rel=0.5)


def test_finite_width_is_what_a_networks_gradient_says():
    """The empirical kernel is the sum of products of gradients, here by autograd."""
    x, m = points(5, 3), 40
    hidden = torch.randn(m, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    output = torch.sign(
        torch.randn(m, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ).requires_grad_()
    for activation, function in (("relu", torch.relu), ("erf", torch.erf)):
        parts = {"gradient": [], "output": []}
        for row in torch.from_numpy(x):
            f = function(hidden @ row) @ output / math.sqrt(m)
            w, a = torch.autograd.grad(f, (hidden, output))
            parts["gradient"].append(w.ravel())
            parts["output"].append(a)
        for kind, rows in parts.items():
            jacobian = torch.stack(rows)
            expected = (jacobian @ jacobian.t()).numpy()
            assert empirical_kernel(x, hidden.detach().numpy(), kind=kind, activation=activation) == pytest.approx(
                expected
            )


def difficult(dtype) -> np.ndarray:
    """Rows nearly parallel, equal, opposite, nearly opposite, orthogonal, zero, and tiny."""
    rng = np.random.default_rng(5)
    u, w = rng.standard_normal((2, 20))
    u /= np.linalg.norm(u)
    w -= (w @ u) * u
    w /= np.linalg.norm(w)
    rows = [u, u, -u, w, -w, 0 * u, 1e-3 * u]
    for angle in (1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-7):
        rows += [math.cos(angle) * u + math.sin(angle) * w, -math.cos(angle) * u - math.sin(angle) * w]
    return np.array(rows).astype(dtype)


@pytest.mark.parametrize(("kind", "activation"), CASES)
@pytest.mark.parametrize("rectangular", [False, True])
def test_float32_is_good_to_1e_5_where_angles_are_hard(kind, activation, rectangular):
    x = difficult(np.float32)
    truth = slow_kernel(x.astype(np.float64), x.astype(np.float64), kind, activation)
    fast = kernel_matrix(x, x if rectangular else None, kind=kind, activation=activation, precision="float32")
    assert fast.dtype == np.float32
    assert np.isfinite(fast).all()
    assert np.abs(fast - truth).max() < 1e-6
    assert (fast[5] == 0).all()  # the row of zeros


@pytest.mark.parametrize(("norm", "error"), [(1e-3, 1e-6), (1.0, 1e-6), (30.0, 1e-5), (1000.0, 1e-4)])
def test_erf_in_float32_is_good_at_every_scale(norm, error):
    """Directions in float32 leave 1e-7 of an angle, which large norms magnify; beyond that nothing is lost."""
    x = norm * difficult(np.float32)
    for kind in KINDS:
        truth = kernel_matrix(x, kind=kind, activation="erf")
        fast = kernel_matrix(x, kind=kind, activation="erf", precision="float32")
        assert np.abs(fast - truth).max() <= error * np.abs(truth).max()


def test_angles_in_float64_are_exact_beside_parallel():
    """A closed form at angle t: K_1 = cos t (π − t)/2π, where arccos(cos t) has lost t."""
    t = 1e-7
    x = np.array([[1.0, 0], [math.cos(t), math.sin(t)], [-math.cos(t), -math.sin(t)]])
    k = kernel_matrix(x)
    assert k[0, 1] == pytest.approx(math.cos(t) * (math.pi - t) / (2 * math.pi), abs=1e-15)
    assert k[0, 2] == pytest.approx(-math.cos(t) * t / (2 * math.pi), rel=1e-7)


def test_known_values():
    x = np.array([[1.0, 0], [0, 1], [-1, 0]])
    assert kernel_matrix(x)[0] == pytest.approx([0.5, 0, 0], abs=1e-16)
    assert kernel_matrix(x, kind="output")[0] == pytest.approx([0.5, 1 / (2 * math.pi), 0], abs=1e-16)
    assert kernel_matrix(x, kind="output", activation="erf")[0, 0] == pytest.approx(2 / math.pi * math.asin(2 / 3))
    draw = np.random.default_rng(0).standard_normal(10**6)
    assert np.mean(erf(draw) ** 2) == pytest.approx(2 / math.pi * math.asin(2 / 3), abs=2e-3)


def test_relu_kernels_are_homogeneous_and_all_are_blind_to_rotation():
    x = points(8, 5)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    for kind, activation in CASES:
        k = kernel_matrix(x, kind=kind, activation=activation)
        assert kernel_matrix(x @ turn, kind=kind, activation=activation) == pytest.approx(k, abs=1e-14)
        if activation == "relu":
            assert kernel_matrix(3 * x, kind=kind) == pytest.approx(9 * k, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(-3, 3)),
    st.sampled_from(CASES),
)
def test_positive_semi_definite(x, case):
    kind, activation = case
    k = kernel_matrix(x, kind=kind, activation=activation)
    assert k == pytest.approx(k.T, rel=1e-14, abs=1e-15)
    assert np.linalg.eigvalsh(k).min() >= -1e-12 * max(1, np.trace(k))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 100])
@pytest.mark.parametrize(("kind", "activation"), CASES)
def test_streams_as_the_dense_one(n, kind, activation, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 32)
    x, vectors = points(n, 6), np.random.default_rng(1).standard_normal((n, 3))
    dense = slow_kernel(x, x, kind, activation)
    options = {"kind": kind, "activation": activation}
    assert kernel_matrix(x, **options) == pytest.approx(dense, abs=2e-8)
    for precision, error in (("float64", 1e-6), ("float32", 1e-4)):
        product = kernel_product(x, vectors, precision=precision, **options)
        assert product == pytest.approx(dense @ vectors, abs=error)
        assert kernel_product(x, vectors[:, 0], precision=precision, **options) == pytest.approx(
            product[:, 0], abs=error
        )


@pytest.mark.parametrize("n", [1023, 1024, 1025, 2100])
def test_streams_as_the_dense_one_at_its_own_blocks(n):
    x, v = points(n, 9), np.random.default_rng(1).standard_normal(n)
    dense = kernel_matrix(x, kind="both")
    assert np.abs(kernel_matrix(x[:, ::-1], x[:, ::-1], kind="both") - dense).max() < 1e-9
    calls = []
    product = kernel_product(x, v, kind="both", precision="float64", progress=lambda done, of: calls.append((done, of)))
    assert product == pytest.approx(dense @ v, abs=1e-9)
    blocks = -(-n // 1024)
    assert calls == [(k, blocks * (blocks + 1) // 2) for k in range(1, len(calls) + 1)]
    assert calls[-1][0] == calls[-1][1]


def test_prepared_rows_keep_their_precision():
    x, v = points(40, 5), np.ones(40)
    rows = KernelRows.from_inputs(x, torch.float64)
    assert kernel_product(rows, v) == pytest.approx(kernel_matrix(x) @ v, rel=1e-12)


def test_integers_and_empty_columns_are_as_good_as_floats():
    x = np.array([[1, 0, 2], [0, 0, 3], [2, 0, 0]])
    assert kernel_matrix(x) == pytest.approx(kernel_matrix(x[:, [0, 2]].astype(float)), abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: kernel_matrix(x, kind="gradent"), "did you mean 'gradient'"),
        (lambda x: kernel_matrix(x, activation="tanh"), "there are relu, erf"),
        (lambda x: kernel_matrix(x, precision="float16"), "float32 or float64, got 'float16'"),
        (lambda x: kernel_matrix(x, x[:, :2]), "`inputs` have 3 columns, `others` 2"),
        (lambda x: kernel_matrix(np.where(x > 1, np.nan, x) * np.nan), "row 0"),
        (lambda x: kernel_matrix(x[0]), "table of rows and columns"),
        (lambda x: kernel_product(x, np.ones(3)), "`vectors` have 3 rows, `inputs` have 4"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message):
        call(points(4, 3))
