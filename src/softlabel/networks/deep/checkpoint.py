"""A training's state after an epoch, in one safetensors file, replaced as a whole: what a killed training goes on from.

An epoch draws all its randomness from the seed and its number, so no generator's state needs keeping.
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
    """The network now, the best one so far, the optimiser's moments, and the records as they stand."""

    network: dict[str, Tensor]
    best: dict[str, Tensor]
    moments: dict[str, Tensor]
    state: dict[str, Any]


def write_checkpoint(
    path: Path, network: nn.Module, best: dict[str, Tensor], optimiser: torch.optim.Optimizer, state: dict[str, Any]
) -> None:
    """Replace the file by this state; a kill at any moment leaves the old file or the new one."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    for place, parameter in enumerate(optimiser.param_groups[0]["params"]):
        held = optimiser.state.get(parameter, {})
        tensors |= {f"moments.{place}.{name}": held[name] for name in MOMENTS if name in held}
    copies = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    save_tensors(path, copies, KIND, {"state": json.dumps(state)})


def read_checkpoint(path: Path, belongs_to: dict[str, Any]) -> Checkpoint | None:
    """The state in this file, if there is one; a file of another training is refused."""
    if not path.exists():
        return None
    tensors, metadata = read_tensors(path, KIND, "checkpoint of a deep training", "; remove it to start again")
    try:
        state = json.loads(metadata["state"])
        held = dict(state["belongs_to"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError(f"checkpoint '{path}' is not complete; remove it to start again") from None
    if held != belongs_to:
        other = next((name for name in belongs_to if held.get(name) != belongs_to[name]), "its description")
        raise InputError(
            f"checkpoint '{path}' is of another training ({other} differs); remove it or choose another folder"
        )

    def part(name: str) -> dict[str, Tensor]:
        return {key.removeprefix(name): value for key, value in tensors.items() if key.startswith(name)}

    return Checkpoint(part("network."), part("best."), part("moments."), state)


def restore_moments(optimiser: torch.optim.Optimizer, moments: dict[str, Tensor]) -> None:
    """Put Adam's moments back, laid out in memory as their parameters are: the fused update walks both in step."""
    for place, parameter in enumerate(optimiser.param_groups[0]["params"]):
        held = {name: moments[f"{place}.{name}"] for name in MOMENTS if f"{place}.{name}" in moments}
        optimiser.state[parameter] = {
            name: value.to(parameter.device) if name == "step" else torch.empty_like(parameter).copy_(value)
            for name, value in held.items()
        }
