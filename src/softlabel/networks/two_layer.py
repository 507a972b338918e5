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
from softlabel.networks.initialization import draw_weights
from softlabel.numerics import load_tensors, save_tensors

BLOCK = 8192
FORMAT = "softlabel-two-layer-1"
TENSORS = ("hidden", "output", "hidden_bias", "output_bias")


@dataclass(frozen=True, eq=False)
class TwoLayer:
    """A two-layer network: f(x) = (1/√m) Σ_j a_j σ(w_j·x + b_j) + b.

    Parameters
    ----------
    hidden : Tensor of shape (m, d)
        Hidden weights, one row per neuron.
    output : Tensor of shape (K, m)
        Output weights; K = 1 for two classes.
    hidden_bias : Tensor of shape (m,), optional
        Biases of the neurons.
    output_bias : Tensor of shape (K,), optional
        Biases of the outputs.
    activation : {"relu", "softplus", "tanh", "erf", "gelu"}, default="relu"
        Activation function σ.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> network = sl.TwoLayer.initialized("symmetric", width=4, inputs=3)
    >>> network.width, network.inputs, network.outputs, network.parameters
    (4, 3, 1, 16)
    >>> network.logits(np.ones((2, 3)))
    array([0., 0.])
    """

    hidden: Tensor
    output: Tensor
    hidden_bias: Tensor | None = None
    output_bias: Tensor | None = None
    activation: str = "relu"

    @classmethod
    def initialized(
        cls,
        init: str,
        *,
        width: int,
        inputs: int,
        outputs: int = 1,
        seed: int = 0,
        biases: bool = False,
        activation: str = "relu",
    ) -> "TwoLayer":
        """An untrained network in float64.

        Parameters
        ----------
        init : {"symmetric", "gaussian", "he", "glorot", "torch"}
            Initialization of the weights.
        width : int
            Number of neurons m.
        inputs, outputs : int
            Numbers of input columns d and outputs K.
        seed : int, default=0
            Seed of the initialization.
        biases : bool, default=False
            Whether neurons and outputs have biases.
        activation : str, default="relu"
            Activation function.

        Returns
        -------
        TwoLayer
            The network.
        """
        drawn = draw_weights(init, width=width, inputs=inputs, outputs=outputs, seed=seed)
        return cls(
            torch.from_numpy(drawn.hidden),
            torch.from_numpy(drawn.output),
            torch.from_numpy(drawn.hidden_bias) if biases else None,
            torch.from_numpy(drawn.output_bias) if biases else None,
            activation,
        )

    @property
    def width(self) -> int:
        """Number of neurons m."""
        return self.hidden.shape[0]

    @property
    def inputs(self) -> int:
        """Number of input columns d."""
        return self.hidden.shape[1]

    @property
    def outputs(self) -> int:
        """Number of outputs: 1 for two classes, K for K > 2 classes."""
        return self.output.shape[0]

    @property
    def parameters(self) -> int:
        """Number of stored weights and biases (fixed output signs included)."""
        return sum(tensor.numel() for tensor in self._tensors().values())

    def _tensors(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in TENSORS if getattr(self, name) is not None}

    def save(self, path: str | Path) -> None:
        """Write the network to a safetensors file."""
        save_tensors(path, self._tensors(), FORMAT, {"activation": self.activation})

    @classmethod
    def load(cls, path: str | Path) -> "TwoLayer":
        """Read a network from a file written by `save`."""
        tensors, metadata = load_tensors(path, FORMAT, "two-layer student", set(TENSORS[:2]), set(TENSORS[2:]))
        return cls(**tensors, activation=metadata.get("activation", "")).checked(f"'{path}'")

    def checked(self, what: str) -> "TwoLayer":
        """Return the network if its shapes and types are consistent; `what` is its name in error messages."""
        activation(self.activation)
        hidden, output = self.hidden, self.output
        require(
            hidden.ndim == 2 and output.ndim == 2 and hidden.numel() > 0 and output.numel() > 0,
            f"{what}: weights must have two dimensions, got shapes {tuple(hidden.shape)} and {tuple(output.shape)}",
        )
        wanted = {"hidden": (self.width, self.inputs), "output": (self.outputs, self.width),
                  "hidden_bias": (self.width,), "output_bias": (self.outputs,)}  # fmt: skip
        for name, tensor in self._tensors().items():
            shape, got = wanted[name], tuple(tensor.shape)
            require(got == shape, f"{what}: '{name}' must have shape {shape}, got {got}")
            require(
                tensor.dtype == hidden.dtype and tensor.dtype in (torch.float32, torch.float64),
                f"{what}: weights must all be float32 or all float64, see '{name}'",
            )
        return self

    def logits(self, inputs: Any) -> np.ndarray:
        """The network's outputs.

        Parameters
        ----------
        inputs : array-like of shape (n, d)
            Inputs, scaled as in training.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            f(x) of each row; one dimension for networks with one output.
        """
        # The two halves of the neurons are summed separately and in the same way, so that a symmetric initialization
        # gives exactly 0 and not rounding noise with a random sign. Products of equal numbers are equal to the bit
        # only if their memory is aligned equally: hence the copies in `_block`.
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
