import numpy as np
import pytest

from softlabel.errors import InputError
from softlabel.networks import Student, TrainingOptions, train_students
from softlabel.numerics import Products, has_bfloat16


@pytest.mark.skipif(not has_bfloat16(), reason="this processor has no bfloat16 products")
def test_bfloat16_runs_report_how_near_they_are():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 50)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(x[:, 0] + 0.5 * x[:, 1] > 0, 1, -1)
    students = [Student(width=8, seed=k, radius=20.0) for k in range(3)]
    exact = train_students(x, students, y, iterations=60)
    rounded = train_students(x, students, y, iterations=60, options=TrainingOptions(precision="bfloat16"))
    assert exact.parity is None
    assert rounded.parity is not None
    assert rounded.parity.rows == 2000
    assert 1e-4 < rounded.parity.relative_error < 2e-2
    assert rounded.parity.cosine > 0.9995
    for one, other in zip(exact, rounded, strict=True):
        np.testing.assert_allclose(one.network.logits(x), other.network.logits(x), atol=0.03)


def test_bfloat16_is_refused_where_there_is_none(monkeypatch):
    monkeypatch.setattr("softlabel.numerics.products.has_bfloat16", lambda: False)
    with pytest.raises(InputError, match="use float32"):
        Products("bfloat16")
