"""The two-layer network, Mandal's model (1):

    f(x) = (1/√m) Σ_j a_j σ(w_j·x + b_j) + b

with the output weights a fixed at ±1 and no biases in the papers' setting. K classes have K rows of output weights.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import require
from softlabel.networks.activations import activation
from softlabel.networks.starts import draw_start
from softlabel.numerics import load_tensors, save_tensors

BLOCK = 8192
FORMAT = "softlabel-two-layer-1"
_TENSORS = ("hidden", "output", "hidden_bias", "output_bias")


@dataclass(frozen=True, eq=False)
class TwoLayer:
    """A network's numbers: `hidden` (m, d), `output` (K, m), biases (m,) and (K,) or None."""

    hidden: Tensor
    output: Tensor
    hidden_bias: Tensor | None = None
    output_bias: Tensor | None = None
    activation: str = "relu"

    @classmethod
    def at_start(
        cls,
        start: str,
        *,
        width: int,
        inputs: int,
        outputs: int = 1,
        seed: int = 0,
        biases: bool = False,
        activation: str = "relu",
    ) -> "TwoLayer":
        """An untrained network in float64; biases start at zero."""
        hidden, output = draw_start(start, width=width, inputs=inputs, outputs=outputs, seed=seed)
        return cls(
            torch.from_numpy(hidden),
            torch.from_numpy(output),
            torch.zeros(width, dtype=torch.float64) if biases else None,
            torch.zeros(outputs, dtype=torch.float64) if biases else None,
            activation,
        )

    @property
    def width(self) -> int:
        return self.hidden.shape[0]

    @property
    def inputs(self) -> int:
        return self.hidden.shape[1]

    @property
    def outputs(self) -> int:
        return self.output.shape[0]

    @property
    def parameters(self) -> int:
        """Numbers that a stored student holds (fixed output signs included)."""
        tensors = (self.hidden, self.output, self.hidden_bias, self.output_bias)
        return sum(tensor.numel() for tensor in tensors if tensor is not None)

    def save(self, path: str | Path) -> None:
        """Write the network as safetensors."""
        tensors = {name: getattr(self, name) for name in _TENSORS if getattr(self, name) is not None}
        save_tensors(path, tensors, FORMAT, {"activation": self.activation})

    @classmethod
    def load(cls, path: str | Path) -> "TwoLayer":
        """Read what `save` wrote."""
        tensors, metadata = load_tensors(path, FORMAT, "two-layer student", set(_TENSORS[:2]), set(_TENSORS[2:]))
        return cls(**tensors, activation=metadata.get("activation", "")).checked(f"'{path}'")

    def checked(self, what: str) -> "TwoLayer":
        """The network itself, if its shapes and types fit together; `what` is what errors call it."""
        activation(self.activation)
        hidden, output = self.hidden, self.output
        require(
            hidden.ndim == 2 and output.ndim == 2 and hidden.numel() > 0 and output.numel() > 0,
            f"{what}: weights must be tables, got shapes {tuple(hidden.shape)} and {tuple(output.shape)}",
        )
        wanted = {"hidden": (self.width, self.inputs), "output": (self.outputs, self.width),
                  "hidden_bias": (self.width,), "output_bias": (self.outputs,)}  # fmt: skip
        for name, shape in wanted.items():
            tensor = getattr(self, name)
            require(
                tensor is None or tuple(tensor.shape) == shape,
                f"{what}: '{name}' must have shape {shape}, got {None if tensor is None else tuple(tensor.shape)}",
            )
            require(
                tensor is None or (tensor.dtype == hidden.dtype and tensor.dtype in (torch.float32, torch.float64)),
                f"{what}: weights must all be float32, or all float64; see '{name}'",
            )
        return self

    def logits(self, inputs: Any) -> np.ndarray:
        """f for each row: (n,) with one output, (n, K) with K.

        The two halves of the neurons are summed apart and in the same way, so that a symmetric start gives
        exactly 0, not rounding noise whose sign would be a coin toss. (Products give equal bits for equal numbers
        only from memory aligned alike: hence the copies.)
        """
        inputs = torch.as_tensor(inputs)
        require(
            inputs.ndim == 2 and inputs.shape[1] == self.inputs,
            f"inputs must have {self.inputs} columns as in training, got shape {tuple(inputs.shape)}",
        )
        blocks = [self._block(block) for block in inputs.split(BLOCK)]
        logits = torch.cat(blocks).numpy()
        return logits[:, 0] if self.outputs == 1 else logits

    def _block(self, inputs: Tensor) -> Tensor:
        inputs = inputs.to(self.hidden.dtype)
        half = self.width // 2 if self.width % 2 == 0 else self.width
        total = torch.zeros(len(inputs), self.outputs, dtype=self.hidden.dtype)
        for rows in (slice(0, half), slice(half, None)):
            if rows.start == self.width:
                continue
            z = inputs @ self.hidden[rows].clone().t()
            if self.hidden_bias is not None:
                z += self.hidden_bias[rows]
            total += activation(self.activation).value(z) @ self.output[:, rows].clone().t()
        total /= math.sqrt(self.width)
        return total if self.output_bias is None else total + self.output_bias
