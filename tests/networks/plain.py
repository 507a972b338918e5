"""The slow truth: one network, trained alone, by autograd and a few plain lines."""

import math

import numpy as np
import torch
from torch.nn import functional

from softlabel.networks import Labels, Student
from softlabel.networks.initialization import draw_weights

SIGMA = {
    "relu": torch.relu,
    "softplus": lambda z: functional.softplus(z, threshold=50),
    "tanh": torch.tanh,
    "erf": torch.erf,
    "gelu": functional.gelu,
}


def targets_of(student: Student, labels: Labels) -> torch.Tensor:
    """Target distribution over two or K classes, (n, classes)."""
    values, temperature = labels.values, student.temperature
    if labels.kind == "logits":
        z = np.stack([np.zeros(len(values)), values], axis=1) if values.ndim == 1 else values
        p = torch.softmax(torch.from_numpy(z) / temperature, dim=1)
    elif labels.kind == "hard":
        p = torch.from_numpy(np.stack([values < 0, values > 0], axis=1) if values.ndim == 1 else values).double()
    else:
        p = torch.from_numpy(np.stack([1 - values, values], axis=1) if values.ndim == 1 else values)
        p = p ** (1 / temperature)
        p = p / p.sum(1, keepdim=True)
    return (1 - student.smoothing) * p + student.smoothing / p.shape[1]


def plain_training(
    inputs: np.ndarray,
    student: Student,
    labels: Labels,
    *,
    iterations: int,
    dtype: torch.dtype = torch.float64,
    batches: list[np.ndarray] | None = None,
    optimizer: str = "gradient",
) -> tuple[np.ndarray, list[float]]:
    """Logits on the inputs after training, and the loss before each step."""
    x = torch.from_numpy(inputs).to(dtype)
    drawn = draw_weights(
        student.init, width=student.width, inputs=x.shape[1], outputs=labels.outputs, seed=student.seed
    )
    w = torch.tensor(drawn.hidden, dtype=dtype, requires_grad=True)
    b = torch.tensor(student.biases * drawn.hidden_bias, dtype=dtype, requires_grad=student.biases)
    a = torch.tensor(drawn.output, dtype=dtype, requires_grad=student.train_output)
    c = torch.tensor(student.biases * drawn.output_bias, dtype=dtype, requires_grad=student.biases)
    initial_w, initial_b = w.detach().clone(), b.detach().clone()
    learning = [tensor for tensor in (w, b, a, c) if tensor.requires_grad]
    rule = {"gradient": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer](learning, lr=student.learning_rate)
    target = targets_of(student, labels).to(dtype)
    losses = []

    def forward(rows: torch.Tensor) -> torch.Tensor:
        f = SIGMA[student.activation](rows @ w.t() + b) @ a.t() * (student.output_scale / math.sqrt(student.width)) + c
        return torch.cat([torch.zeros_like(f), f], dim=1) if labels.outputs == 1 else f

    for step in range(iterations):
        rows = slice(None) if batches is None else batches[step]
        warm = student.temperature if student.temperature_on == "both" else 1.0
        log_q = torch.log_softmax(forward(x[rows]) / warm, dim=1)
        p = target[rows]
        loss = warm**2 * (torch.special.entr(p).neg() - p * log_q).sum(1).mean()
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
        if student.radius is not None:
            with torch.no_grad():
                for j in range(student.width):
                    change = torch.cat([w[j] - initial_w[j], (b[j] - initial_b[j])[None]])
                    limit = student.radius / math.sqrt(student.width)
                    if change.norm() > limit:
                        change *= limit / change.norm()
                        w[j] = initial_w[j] + change[:-1]
                        b[j] = initial_b[j] + change[-1]
    with torch.no_grad():
        f = forward(x)
        f = f[:, 1] if labels.outputs == 1 else f
    return f.numpy(), losses
