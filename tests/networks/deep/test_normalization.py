"""Batch normalization of few channels against torch's own: outputs, gradients and running statistics."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from softlabel.networks.deep import build_network
from softlabel.networks.deep.normalization import FEW, Normalization


def images(n, channels, height, width, kind, layout=torch.channels_last, seed=0):
    torch.manual_seed(seed)
    x = 3 * torch.randn(n, channels, height, width, dtype=kind) + 5
    return x.contiguous(memory_format=layout).requires_grad_()


def both(channels, kind, layout=torch.channels_last):
    ours, theirs = Normalization(channels).to(kind), nn.BatchNorm2d(channels).to(kind)
    torch.manual_seed(1)
    for ours_value, theirs_value in zip(ours.parameters(), theirs.parameters(), strict=True):
        ours_value.data = theirs_value.data = torch.randn(channels, dtype=kind)
    x = images(6, channels, 4, 5, kind, layout)
    upstream = torch.randn_like(x)
    answers = []
    for layer in (ours, theirs):
        output = layer(x)
        gradients = torch.autograd.grad(output, (x, layer.weight, layer.bias), upstream)
        answers.append([output.detach(), *gradients, layer.running_mean, layer.running_var, layer.num_batches_tracked])
    return answers


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("channels", [1, 3, FEW - 1, FEW])
def test_it_is_batch_normalization(channels, layout):
    for ours, theirs in zip(*both(channels, torch.float64, layout), strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        assert (ours - theirs).abs().max() < 1e-12


def test_bfloat16_rounds_no_worse_than_torch():
    x = images(8, 4, 16, 16, torch.float32)
    layers = Normalization(4), nn.BatchNorm2d(4)
    truth = nn.BatchNorm2d(4).double()(x.detach().double())
    rounded = x.detach().bfloat16().requires_grad_()
    outputs = [layer(rounded) for layer in layers]
    assert outputs[0].dtype == outputs[1].dtype == torch.bfloat16
    errors = [float((output.double() - truth).norm().detach()) for output in outputs]
    assert errors[0] < 1.1 * errors[1]
    upstream = torch.randn_like(rounded)
    gradients = [torch.autograd.grad(output, (rounded, layer.weight), upstream)
                 for output, layer in zip(outputs, layers, strict=True)]  # fmt: skip
    for ours, theirs in zip(*gradients, strict=True):
        assert ours.dtype == theirs.dtype
        assert (ours.float() - theirs.float()).norm() < 0.01 * theirs.float().norm()


def test_a_constant_channel_and_large_means_are_no_problem():
    layer, x = Normalization(2), torch.full((4, 2, 3, 3), 1024.0)
    x[:, 1] += torch.randn(4, 3, 3)
    output = layer(x)
    assert (output[:, 0] == 0).all()
    assert abs(float(output.detach()[:, 1].std()) - 1) < 0.05


def test_evaluation_and_single_values_go_the_usual_way():
    layer = Normalization(3)
    with pytest.raises(ValueError, match="more than 1 value"):
        layer(torch.zeros(1, 3, 1, 1))
    layer.eval()
    assert torch.equal(layer(torch.ones(1, 3, 1, 1)), nn.BatchNorm2d(3).eval()(torch.ones(1, 3, 1, 1)))


def test_a_narrow_residual_network_trains_as_with_torch():
    network = build_network("resnet8", 2, (3, 16, 16), width_multiplier=0.25).double()
    plain = copy.deepcopy(network)
    for module in plain.modules():
        if isinstance(module, Normalization):
            module.forward = partial(nn.BatchNorm2d.forward, module)
    x, y = images(10, 3, 16, 16, torch.float64).detach(), torch.arange(10) % 2
    states = []
    for each in (network, plain):
        optimizer = torch.optim.SGD(each.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.cross_entropy(each(x), y).backward()
            optimizer.step()
        states.append(each.state_dict())
    assert states[0].keys() == states[1].keys()
    assert all((states[0][name] - states[1][name]).abs().max() < 1e-9 for name in states[0])
