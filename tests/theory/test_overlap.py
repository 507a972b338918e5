"""The top of H^∞'s spectrum and overlaps, against a dense eigen-solve."""

import numpy as np
import pytest

from softlabel.errors import InputError
from softlabel.theory.kernel import kernel_matrix
from softlabel.theory.overlap import Spectrum, overlap, top_spectrum


def data(n: int = 50, d: int = 6):
    x = np.random.default_rng(0).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("stored", [0, 100])  # streaming, and held whole
@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-9), ("float32", 1e-4)])
def test_eigenvectors_are_those_of_the_full_matrix(precision, tolerance, stored, monkeypatch):
    monkeypatch.setattr("softlabel.theory.overlap.DENSE_ROWS", stored)
    x = data()
    values, vectors = np.linalg.eigh(kernel_matrix(x))
    result = top_spectrum(x, 5, precision)
    assert result.values == pytest.approx(values[::-1][:5], rel=tolerance)
    assert np.abs(np.sum(result.vectors * vectors.T[::-1][:5], axis=1)) == pytest.approx(np.ones(5), abs=tolerance)
    assert (result.vectors.sum(1) >= 0).all()


def test_overlap_is_its_definition():
    spectrum = Spectrum(np.array([2.0, 1.0]), np.eye(4)[:2])
    units = np.array([[3.0, 0, 0, 0], [0, 0, 5, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    result = overlap(units, spectrum)
    assert result.share == pytest.approx([1, 0, 0.5, 0])
    assert result.mean == pytest.approx([0.5, 0, 0.5, 0])


def test_bad_calls_say_what_is_wrong():
    x = data()
    with pytest.raises(InputError, match="between 1 and 49"):
        top_spectrum(x, 50)
    with pytest.raises(InputError, match="50 examples"):
        overlap(np.ones((3, 4)), top_spectrum(x, 2))
