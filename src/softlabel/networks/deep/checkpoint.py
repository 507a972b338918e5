"""The state of a training after an epoch in one safetensors file, from which an interrupted training resumes.

The file is replaced atomically. The randomness of an epoch depends on the seed and the epoch's number only, so that no
state of a generator is stored.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softlabel.errors import InputError
from softlabel.numerics.tensor_files import read_tensors, save_tensors

KIND = "softlabel deep training"
MOMENTS = ("exp_avg", "exp_avg_sq", "step")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The current network, the best network, the optimizer's moments, and the records."""

    network: dict[str, Tensor]
    best: dict[str, Tensor]
    moments: dict[str, Tensor]
    state: dict[str, Any]


def write_checkpoint(
    path: Path, network: nn.Module, best: dict[str, Tensor], optimizer: torch.optim.Optimizer, state: dict[str, Any]
) -> None:
    """Replace the file with this state; an interruption leaves either the old or the new file."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    for index, parameter in enumerate(optimizer.param_groups[0]["params"]):
        moments = optimizer.state.get(parameter, {})
        tensors |= {f"moments.{index}.{name}": moments[name] for name in MOMENTS if name in moments}
    copies = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    save_tensors(path, copies, KIND, {"state": json.dumps(state)})


def read_checkpoint(path: Path, belongs_to: dict[str, Any]) -> Checkpoint | None:
    """The state in this file, or None if there is no file; a file of another training is rejected."""
    if not path.exists():
        return None
    tensors, metadata = read_tensors(path, KIND, "checkpoint of a deep training", "; remove it to start over")
    try:
        state = json.loads(metadata["state"])
        stored = dict(state["belongs_to"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError(f"checkpoint '{path}' is incomplete; remove it to start over") from None
    if stored != belongs_to:
        other = next((name for name in belongs_to if stored.get(name) != belongs_to[name]), "its description")
        raise InputError(
            f"checkpoint '{path}' belongs to another training ({other} differs); remove it or choose another directory"
        )

    def part(name: str) -> dict[str, Tensor]:
        return {key.removeprefix(name): value for key, value in tensors.items() if key.startswith(name)}

    return Checkpoint(part("network."), part("best."), part("moments."), state)


def restore_moments(optimizer: torch.optim.Optimizer, moments: dict[str, Tensor]) -> None:
    """Restore Adam's moments in the memory layout of their parameters, which the fused update needs."""
    for index, parameter in enumerate(optimizer.param_groups[0]["params"]):
        stored = {name: moments[f"{index}.{name}"] for name in MOMENTS if f"{index}.{name}" in moments}
        optimizer.state[parameter] = {
            name: value.to(parameter.device) if name == "step" else torch.empty_like(parameter).copy_(value)
            for name, value in stored.items()
        }
