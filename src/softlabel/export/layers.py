"""A student as arrays, common to all file formats:

    p = softmax(output · σ(hidden · scaled(x) + hidden_bias) + output_bias)

with the factor 1/√m in `output`. Two classes have two rows of `output`, the first all zeros, which is the sigmoid.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from softlabel.networks.student_model import StudentModel


@dataclass(frozen=True, eq=False)
class Layers:
    """float64: `shift` and `spread` (d,) or a number, `hidden` (m, d), `output` (K, m), biases (m,) and (K,).

    shift, spread   scaled(x) = (x − shift)/spread; None if this part does not apply
    unit            whether scaled(x) = x/‖x‖ instead
    """

    shift: np.ndarray | None
    spread: np.ndarray | None
    unit: bool
    hidden: np.ndarray
    hidden_bias: np.ndarray
    output: np.ndarray
    output_bias: np.ndarray

    @property
    def bytes(self) -> int:
        """Size of the weights in float32."""
        return 4 * sum(part.size for part in (self.hidden, self.hidden_bias, self.output, self.output_bias))


def student_layers(model: StudentModel) -> Layers:
    """The arrays of a student."""
    network, scaler = model.network, model.scaler
    hidden = _array(network.hidden)
    output = _array(network.output) / np.sqrt(network.width)
    output_bias = np.zeros(network.outputs) if network.output_bias is None else _array(network.output_bias)
    if network.outputs == 1:
        output, output_bias = np.vstack([np.zeros_like(output), output]), np.append(0.0, output_bias)
    return Layers(
        shift=np.array(scaler.shift) if scaler.how == "standard" else None,
        spread={
            "max": np.array(scaler.factor),
            "standard": np.array(scaler.spread) * scaler.factor,
        }.get(scaler.how),
        unit=scaler.how == "unit",
        hidden=hidden,
        hidden_bias=np.zeros(network.width) if network.hidden_bias is None else _array(network.hidden_bias),
        output=output,
        output_bias=output_bias,
    )


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()
