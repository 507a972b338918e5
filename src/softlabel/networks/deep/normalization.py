"""Batch normalization of few channels, which PyTorch's kernel for channels last computes slowly on a CPU.

That kernel works along the channels, and fewer than eight of them do not fill a vector. Here a row of an image is one
row of a matrix, its pixels' channels one after another: sums over the images run along entire rows, and statistics of
a channel are folded from those of its columns.

    ŷ = (x − mean)·r,  r = 1/√(variance + ε),  y = w ŷ + b
    ∂x = w r (g − mean(g) − ŷ mean(g ŷ)),  ∂w = Σ g ŷ,  ∂b = Σ g
"""

from typing import Any

import torch
from torch import Tensor, nn

FEW = 8


class Normalization(nn.BatchNorm2d):
    """Batch normalization that uses the fast path for few channels in training on a CPU."""

    def forward(self, input: Tensor) -> Tensor:
        count = input.numel() // self.num_features
        if not self.training or input.device.type != "cpu" or self.num_features >= FEW or count < 2:
            return super().forward(input)
        output, mean, variance = _FewChannels.apply(input, self.weight, self.bias, self.eps)  # type: ignore[misc]
        with torch.no_grad():
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            assert self.momentum is not None
            self.num_batches_tracked.add_(1)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        return output


class _FewChannels(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        centered, count = _rows(x), x.numel() // x.shape[1]
        mean = _by_channel(centered.sum(0), x) / count
        centered -= _along(mean, x)
        variance = _by_channel(centered.square().sum(0), x) / count
        scale = torch.rsqrt(variance + eps)
        output = torch.addcmul(_along(bias, x), centered, _along(weight * scale, x))
        ctx.save_for_backward(x, weight, mean, scale)
        ctx.mark_non_differentiable(mean, variance)
        return _images(output, x), mean, variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, weight, mean, scale = ctx.saved_tensors
        upstream, count = _rows(gradients[0]), x.numel() // x.shape[1]
        normalized = _rows(x).sub_(_along(mean, x)).mul_(_along(scale, x))
        by_bias = _by_channel(upstream.sum(0), x)
        by_weight = _by_channel((upstream * normalized).sum(0), x)
        by_input = normalized.mul_(_along(-by_weight / count, x)).add_(upstream).sub_(_along(by_bias / count, x))
        return _images(by_input.mul_(_along(weight * scale, x)), x), by_weight, by_bias, None


def _rows(x: Tensor) -> Tensor:
    """A copy (images · height, width · channels) in at least single precision."""
    kind = torch.promote_types(x.dtype, torch.float32)
    return x.detach().permute(0, 2, 3, 1).reshape(-1, x.shape[3] * x.shape[1]).to(kind, copy=True)


def _images(rows: Tensor, like: Tensor) -> Tensor:
    """Rows as images of the precision and shape of others, channels last; no view, so that it may change in place."""
    images = torch.empty_like(like, memory_format=torch.channels_last)
    images.permute(0, 2, 3, 1).copy_(rows.view(images.permute(0, 2, 3, 1).shape))
    return images


def _by_channel(columns: Tensor, like: Tensor) -> Tensor:
    """Sums (width · channels,) of columns, summed to those of channels."""
    return columns.view(like.shape[3], like.shape[1]).sum(0)


def _along(channels: Tensor, like: Tensor) -> Tensor:
    """Values of the channels for every column."""
    return channels.repeat(like.shape[3])
