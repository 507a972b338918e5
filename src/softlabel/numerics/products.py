"""The two matrix products of a training step, in a chosen precision.

`forward` is W Xᵀ (neurons × examples), `accumulate` adds G X (neurons × inputs) to a running sum. Sums over
examples are always kept in the precision of the weights; with bfloat16 only the factors of a product are rounded.
"""

import torch
from torch import Tensor

from softlabel.errors import InputError


def has_bfloat16() -> bool:
    """Whether this processor has native bfloat16 products."""
    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, probe, lambda: False)()) for probe in probes)


class Products:
    """Matrix products of one training run; `precision` is float32, float64 or bfloat16."""

    def __init__(self, precision: str) -> None:
        if precision == "bfloat16" and not has_bfloat16():
            raise InputError("`precision` bfloat16: this processor has no bfloat16 products; use float32")
        if precision not in ("float32", "float64", "bfloat16"):
            raise InputError(f"precision must be float32, float64 or bfloat16, got '{precision}'")
        self.rounded = precision == "bfloat16"
        self.dtype = torch.float64 if precision == "float64" else torch.float32
        self.input_dtype = torch.bfloat16 if self.rounded else self.dtype

    def forward(self, weights: Tensor, block: Tensor, out: Tensor) -> None:
        """out[h] = weights[h] @ blockᵀ for both halves h; equal halves give equal bits.

        weights (2, rows, columns) in `input_dtype`, block (examples, columns), out (2, rows, examples).
        Both halves use products of the same shape, so the halves of a symmetric initialization cancel exactly.
        """
        for half in range(2):
            if self.rounded:
                out[half].copy_(torch.mm(weights[half], block.t()))
            else:
                torch.mm(weights[half], block.t(), out=out[half])

    def accumulate(self, total: Tensor, signal: Tensor, block: Tensor) -> None:
        """total += signal @ block, with total (2, rows, columns) and signal (2, rows, examples)."""
        flat_total, flat_signal = total.flatten(0, 1), signal.flatten(0, 1)
        if self.rounded:
            flat_total.add_(torch.mm(flat_signal.to(torch.bfloat16), block))
        else:
            flat_total.addmm_(flat_signal, block)
