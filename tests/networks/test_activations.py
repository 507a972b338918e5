import pytest
import torch

from softlabel.errors import InputError
from softlabel.networks.activations import ACTIVATIONS, activation
from tests.networks.plain import SIGMA


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_value_and_derivative(name):
    z = torch.linspace(-12, 12, 4001, dtype=torch.float64, requires_grad=True)
    value = SIGMA[name](z)
    torch.testing.assert_close(activation(name).value(z.detach()), value.detach())
    upstream = torch.linspace(-2, 3, 4001, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(value, z, upstream)
    overwritten = z.detach().clone()
    activation(name).backward(upstream, overwritten)
    torch.testing.assert_close(overwritten, gradient, atol=1e-12, rtol=1e-12)


def test_relu_at_zero_is_inactive():
    z = torch.zeros(3)
    activation("relu").backward(torch.ones(3), z)
    assert z.tolist() == [0, 0, 0]


def test_unknown_activation():
    with pytest.raises(InputError, match="did you mean 'softplus'"):
        activation("softpluss")
