import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, rel_entr

from softlabel.errors import InputError
from softlabel.networks import hard_labels, soft_labels, teacher_logits
from softlabel.networks.losses import loss_gradient, loss_values, mistakes

logit = st.floats(-30, 30)


def divergence(p: float, f: float) -> float:
    return float(rel_entr(p, expit(f)) + rel_entr(1 - p, expit(-f)))


@given(z=logit, f=logit, temperature=st.floats(0.2, 20), smoothing=st.floats(0, 0.9))
def test_binary_loss_is_the_divergence(z, f, temperature, smoothing):
    p = teacher_logits([z]).targets(temperature, smoothing)
    assert p.shape == (1, 1)
    assert p[0, 0] == pytest.approx((1 - smoothing) / (1 + np.exp(-z / temperature)) + smoothing / 2, abs=1e-15)
    got = loss_values(torch.tensor([[[f]]], dtype=torch.float64), torch.from_numpy(p)[None], None)
    assert float(got) == pytest.approx(divergence(p[0, 0], f), abs=1e-12)


@given(f=logit, y=st.sampled_from([-1, 1]))
def test_hard_loss_is_logistic(f, y):
    p = torch.from_numpy(hard_labels([y, -y]).targets())[None, :, :1]
    got = loss_values(torch.tensor([[[f]]], dtype=torch.float64), p, None)
    assert float(got) == pytest.approx(np.logaddexp(0, -y * f), abs=1e-14)


@pytest.mark.parametrize("outputs", [1, 5])
@pytest.mark.parametrize("temperature", [None, 3.0])
def test_gradient_is_that_of_the_loss(outputs, temperature):
    generator = torch.Generator().manual_seed(0)
    f = torch.randn(2, outputs, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    raw = torch.randn(2, outputs, 6, generator=generator, dtype=torch.float64)
    p = torch.sigmoid(raw) if outputs == 1 else torch.softmax(raw, 1)
    warm = None if temperature is None else torch.full((2, 1, 1), temperature, dtype=torch.float64)
    loss_values(f, p, warm).sum().backward()
    assert f.grad is not None
    torch.testing.assert_close(loss_gradient(f.detach().clone(), p, warm), f.grad)


def test_both_sides_warm_tends_to_matching_logits():
    """T²·KL(μ(z/T) ‖ μ(f/T)) → (z − f)²/8 as T grows: why Hinton's factor is T²."""
    z, f, hot = 2.0, -1.0, 1e4
    p = torch.from_numpy(teacher_logits([z]).targets(hot))[None]
    loss = loss_values(torch.tensor([[[f]]], dtype=torch.float64), p, torch.full((1, 1, 1), hot, dtype=torch.float64))
    assert float(loss) == pytest.approx((z - f) ** 2 / 8, rel=1e-3)


def test_two_classes_as_softmax_equal_one_output_at_the_logit_difference():
    z3 = np.array([[0.3, 1.0, -2.0], [2.0, 0.0, 0.1]])
    p = teacher_logits(z3).targets(2.0)
    np.testing.assert_allclose(p.sum(0), 1)
    np.testing.assert_allclose(p[0] / p[1], np.exp((z3[:, 0] - z3[:, 1]) / 2))


def test_probabilities_and_their_logits_are_the_same_labels():
    z = np.array([-3.0, 0.2, 5.0])
    p = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(soft_labels(p).targets(3.0), teacher_logits(z).targets(3.0), atol=1e-14)
    np.testing.assert_array_equal(soft_labels([0.0, 1.0]).targets(3.0), [[0.0, 1.0]])
    z3 = np.array([[0.3, 1.0, -2.0], [2.0, 0.0, 0.1]])
    p3 = np.exp(z3) / np.exp(z3).sum(1, keepdims=True)
    np.testing.assert_allclose(soft_labels(p3).targets(3.0), teacher_logits(z3).targets(3.0), atol=1e-14)
    np.testing.assert_array_equal(soft_labels(np.eye(3)).targets(3.0), np.eye(3))


def test_a_tie_is_a_mistake():
    assert mistakes(torch.tensor([[[0.0, 0.1, -0.1]]]), torch.tensor([1.0, 1.0, 1.0])).tolist() == [[True, False, True]]
    logits = torch.tensor([[[1.0, 1.0], [1.0, 0.0], [0.0, 2.0]]])
    assert mistakes(logits, torch.tensor([0, 2])).tolist() == [[True, False]]


def test_hard_labels_take_the_usual_forms():
    expected = [1.0, -1.0, 1.0]
    for y in ([1, -1, 1], [1, 0, 1], [True, False, True], [1.0, 0.0, 1.0]):
        np.testing.assert_array_equal(hard_labels(y).values, expected)
    np.testing.assert_array_equal(hard_labels([2, 0, 1]).values, np.eye(3)[[2, 0, 1]])
    np.testing.assert_array_equal(hard_labels([2, 0, 1]).decisions(), [2, 0, 1])


@pytest.mark.parametrize(
    ("make", "values", "message"),
    [
        (hard_labels, [1, 1, 1], "one class only"),
        (hard_labels, [0, 2], "all class indices"),
        (hard_labels, ["a", "b"], "encode class names"),
        (hard_labels, [0.5, 1], "class indices"),
        (hard_labels, [[1, -1]], "one dimension"),
        (soft_labels, [0.5, 1.2], r"lie in \[0, 1\], got 1.2 at row 1"),
        (soft_labels, [0.5, -0.1], "at row 1"),
        (soft_labels, [[0.2, 0.3, 0.5], [0.2, 0.2, 0.2]], "sum to 1, got 0.6 at row 1"),
        (soft_labels, [0.5, np.nan], "nan at row 1"),
        (teacher_logits, [1.0, np.inf], "inf at row 1"),
        (teacher_logits, [[0.0, 1.0]], "one column"),
        (teacher_logits, np.zeros((0,)), "one column"),
    ],
)
def test_wrong_labels_are_refused(make, values, message):
    with pytest.raises(InputError, match=message):
        make(values)
