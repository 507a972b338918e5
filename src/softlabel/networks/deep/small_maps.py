"""3 × 3 convolutions of 2 × 2 maps, as in the last stage of a VGG on 32 × 32 images, without products with padding.

A general convolution multiplies 9 taps for each of 4 outputs, and 20 of these 36 products are with the padding. Here
output (i, j) is the sum over both input rows k of two neighboring inputs times two neighboring taps:

    y[i, j] = Σ_k x[k, :] · w[k − i + 1, 1 − j : 3 − j]

With channels last, all factors are views of inputs and weights: eight exact matrix products without copies.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Convolution(nn.Conv2d):
    """A 3 × 3 convolution with padding 1 that uses the fast path for 2 × 2 maps in training."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size, 3, padding=1)

    def forward(self, input: Tensor) -> Tensor:
        if self.training and input.device.type == "cpu" and input.shape[2:] == (2, 2):
            kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else input.dtype
            output = _TwoByTwo.apply(input.to(kind), self.weight, kind)
            return output if self.bias is None else output + self.bias.to(kind)[:, None, None]  # type: ignore[operator]
        return functional.conv2d(input, self.weight, self.bias, padding=1)


class _TwoByTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, kind: torch.dtype) -> Tensor:
        images = x.permute(0, 2, 3, 1).contiguous()  # (n, 2, 2, c)
        taps = weight.detach().to(kind).permute(0, 2, 3, 1).contiguous()  # (o, 3, 3, c)
        n, size = len(images), len(taps)
        output = images.new_empty(n, 2, 2, size)
        for i in (0, 1):
            for j in (0, 1):
                first = images[:, 0].flatten(1) @ _pair(taps, 0, i, j).t()
                output[:, i, j] = torch.addmm(first, images[:, 1].flatten(1), _pair(taps, 1, i, j).t())
        ctx.save_for_backward(images, taps)
        return output.permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        images, taps = ctx.saved_tensors
        upstream = gradients[0].to(images.dtype).permute(0, 2, 3, 1).contiguous()
        by_image = torch.zeros_like(images)
        by_taps = torch.zeros(taps.shape, dtype=torch.promote_types(taps.dtype, torch.float32))
        for k in (0, 1):
            row = images[:, k].flatten(1)
            total = torch.zeros_like(row)
            for i in (0, 1):
                for j in (0, 1):
                    g = upstream[:, i, j]
                    total = torch.addmm(total, g, _pair(taps, k, i, j))
                    by_taps[:, k - i + 1, 1 - j : 3 - j] += (g.t() @ row).view(len(taps), 2, -1)
            by_image[:, k] = total.view_as(by_image[:, k])
        return by_image.permute(0, 3, 1, 2), by_taps.permute(0, 3, 1, 2), None


def _pair(taps: Tensor, k: int, i: int, j: int) -> Tensor:
    """Taps (o, 2c) between input row k and output (i, j); a view."""
    return taps[:, k - i + 1, 1 - j : 3 - j].flatten(1)
