"""Misprints of Rahbar's formulas that no function of ours is built on: shown wrong, and right as corrected."""

import numpy as np
import pytest
import torch

from softlabel.theory.dynamics import printed_limit
from tests.theory.dynamics.problems import problem


def grams(p):
    inner = (p.x @ p.x.t()).numpy()
    return [np.outer(s, s) * inner for s in p.slopes.numpy()]


def test_equation_15_lacks_the_output_weights():
    """The Laplace transform of δ(t) at s, from the eigenvectors of A, against both forms."""
    p = problem(n=5, d=7, m=3, strength=0.7)
    mix, eye, s = p.mix.numpy(), np.eye(p.n), 0.4
    final = printed_limit(p)
    start = p.features - torch.outer(p.mix, p.y - final) / p.strength - p.privileged
    poles, vectors = torch.linalg.eigh(p.dense())
    moved = vectors @ ((vectors.t() @ p.coupled(start).reshape(-1)) / (s + poles))
    truth = mix @ p.coupled(moved.reshape(p.units, p.n), -0.5).numpy()
    solve = [np.linalg.inv(s * eye + p.strength * h) for h in grams(p)]
    t = sum(a**2 * inverse @ h for a, inverse, h in zip(mix, solve, grams(p), strict=True))
    parts = [inverse @ delta for inverse, delta in zip(solve, start.numpy(), strict=True)]
    right = np.linalg.solve(eye + t, sum(a * part for a, part in zip(mix, parts, strict=True)))
    printed = np.linalg.solve(eye + t, sum(parts))
    assert right == pytest.approx(truth, abs=1e-10)
    assert np.abs(printed - truth).max() > 0.1


@pytest.mark.parametrize("strength", [0.3, 2.0])
def test_section_7_4_lacks_squares_and_2_7_has_m_for_its_root(strength):
    """‖f_∞ − y‖ = λ/(λ+a) ‖Σ a_k φ_k/√m − y‖: the factor squared belongs to squared norms."""
    p = problem(strength=strength)
    left = float((printed_limit(p) - p.y).norm())
    factor = strength / (strength + p.a)
    teacher = float((p.mix @ p.privileged - p.y).norm())
    assert left == pytest.approx(factor * teacher, rel=1e-12)
    assert abs(left - factor**2 * teacher) > 0.05 * left
    by_m = float((p.output @ p.privileged / p.units - p.y).norm())
    assert abs(left - factor * by_m) > 0.01 * left
