"""The loss of distillation against its formula written out, and its limits."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from softlabel.errors import InputError
from softlabel.networks.deep import Objective
from softlabel.networks.deep.objective import two_columns


def tables(seed=0, n=5, k=3):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3, (n, k)), rng.normal(0, 3, (n, k)), rng.integers(0, k, n)


def by_hand(z, t, y, o: Objective) -> float:
    k = z.shape[1]
    hard = (1 - o.smoothing) * np.eye(k)[y] + o.smoothing / k
    ce = -(hard * log_softmax(z, 1)).sum(1).mean()
    p = softmax(t / o.temperature, 1)
    own = z / o.temperature if o.temperature_on == "both" else z
    kl = (p * (log_softmax(t / o.temperature, 1) - log_softmax(own, 1))).sum(1).mean()
    factor = o.temperature**2 if o.temperature_on == "both" else 1
    return (1 - o.soft_share) * ce + o.soft_share * factor * kl


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    temperature=st.floats(0.2, 20),
    side=st.sampled_from(["both", "labels"]),
    smoothing=st.sampled_from([0.0, 0.1]),
)
def test_the_loss_is_its_formula(seed, share, temperature, side, smoothing):
    z, t, y = tables(seed)
    objective = Objective(share, temperature, side, smoothing)
    result = objective.loss(torch.from_numpy(z), torch.from_numpy(y), torch.from_numpy(t))
    assert float(result) == pytest.approx(by_hand(z, t, y, objective), rel=1e-9, abs=1e-9)


def test_the_square_of_the_temperature_keeps_the_gradients_size():
    """T² KL tends to ‖centred z − centred t‖²/(2K) as T grows: without T² the gradient would vanish."""
    z, t, _ = tables(n=4)
    logits = torch.tensor(z, requires_grad=True)
    loss = Objective(1.0, 1e4).soft(logits, torch.from_numpy(t))
    away = (z - z.mean(1, keepdims=True)) - (t - t.mean(1, keepdims=True))
    assert loss.item() == pytest.approx((away**2).sum(1).mean() / 6, rel=1e-3)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.numpy() == pytest.approx(away / 3 / 4, rel=1e-2, abs=1e-4)


def test_a_student_that_says_what_its_teacher_says_has_nothing_to_learn():
    z, _, _ = tables()
    same = torch.from_numpy(z)
    assert float(Objective(1.0, 3.0).soft(same, same)) == pytest.approx(0, abs=1e-12)


def test_one_output_is_the_log_odds_of_class_1():
    z = torch.tensor([0.3, -2.0])
    assert two_columns(z).softmax(1)[:, 1].tolist() == pytest.approx(
        [1 / (1 + math.exp(-0.3)), 1 / (1 + math.exp(2.0))]
    )
    assert torch.equal(two_columns(z[:, None]), two_columns(z))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"soft_share": 1.1}, "soft_share must lie"),
        ({"temperature": 0}, "temperature must be a positive"),
        ({"temperature": math.nan}, "temperature must be a positive"),
        ({"temperature_on": "students"}, "unknown `temperature_on`"),
        ({"smoothing": 1.0}, "smoothing must lie"),
        ({"feature_weight": -1}, "feature_weight"),
    ],
)
def test_bad_objectives(values, message):
    with pytest.raises(InputError, match=message):
        Objective(**values)


def test_a_soft_share_needs_logits():
    z, _, y = tables()
    with pytest.raises(InputError, match="needs a teacher's logits"):
        Objective(0.5).loss(torch.from_numpy(z), torch.from_numpy(y))
