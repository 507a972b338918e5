"""Convolutions on 2 × 2 maps against torch's own: outputs and all gradients, in every precision."""

import pytest
import torch
from torch.nn import functional

from softlabel.networks.deep.small_maps import Convolution


def both(kind, channels=5, size=7, n=6, layout=torch.channels_last):
    torch.manual_seed(0)
    layer = Convolution(channels, size).to(kind).to(memory_format=layout).train()
    x = torch.randn(n, channels, 2, 2, dtype=kind).contiguous(memory_format=layout).requires_grad_()
    other = torch.randn(n, size, 2, 2, dtype=kind)
    answers = []
    for value in (layer(x), functional.conv2d(x, layer.weight, layer.bias, padding=1)):
        gradients = torch.autograd.grad(value, (x, layer.weight, layer.bias), other)
        answers.append((value.detach(), *gradients))
    return answers


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_outputs_and_gradients_are_those_of_the_convolution(layout):
    ours, theirs = both(torch.float64, layout=layout)
    for output, truth in zip(ours, theirs, strict=True):
        assert output.shape == truth.shape
        assert (output - truth).abs().max() < 1e-12


def test_under_autocast_it_rounds_no_worse_than_the_convolution():
    torch.manual_seed(1)
    layer = Convolution(32, 32).to(memory_format=torch.channels_last).train()
    x = torch.randn(40, 32, 2, 2).contiguous(memory_format=torch.channels_last).requires_grad_()
    truth = functional.conv2d(x, layer.weight, layer.bias, padding=1)
    with torch.autocast("cpu", torch.bfloat16):
        ours, theirs = layer(x), functional.conv2d(x, layer.weight, layer.bias, padding=1)
    assert ours.dtype == theirs.dtype == torch.bfloat16
    errors = [float((output.float() - truth).norm().detach()) for output in (ours, theirs)]
    assert errors[0] < 1.5 * errors[1]
    (gradient,) = torch.autograd.grad(ours.float().sum(), layer.weight)
    assert gradient.dtype == torch.float32


def test_other_maps_and_evaluation_go_the_usual_way(monkeypatch):
    layer = Convolution(3, 4)
    calls = []
    monkeypatch.setattr(functional, "conv2d", lambda *a, **k: calls.append(a[0].shape) or torch.zeros(1))
    layer.train()
    layer(torch.zeros(2, 3, 4, 4))
    layer(torch.zeros(2, 3, 2, 2))
    layer.eval()
    layer(torch.zeros(2, 3, 2, 2))
    assert [tuple(shape[2:]) for shape in calls] == [(4, 4), (2, 2)]
