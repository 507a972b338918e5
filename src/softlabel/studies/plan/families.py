"""Students of every family behind one door: trained from cells, asked for probabilities, kept as arrays.

A width is a number of neurons, or for deep families the channels of the first layer (their width multiplier times 64 or
16). Deep students train one after another, with the temperature on both sides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from softlabel.data.problem import Problem
from softlabel.errors import require
from softlabel.networks import TwoLayer
from softlabel.networks.deep import Images, Objective, Training, build_network, network_logits, parameter_count
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.networks.deep.teaching import CachedLogits
from softlabel.networks.deep.training import train_network
from softlabel.networks.softening import Softening
from softlabel.studies.plan.settings import NETWORKS, PlanSettings
from softlabel.studies.practice import Held, StudentCell, train_cells
from softlabel.studies.practice.students import course_numbers, probabilities

TENSORS = ("hidden", "output", "hidden_bias", "output_bias")


@dataclass(frozen=True, eq=False)
class Grown:
    """A trained student of any family: what it says about a part (n, K), its size, its weights as arrays."""

    cell: StudentCell
    say: Callable[[str], np.ndarray]
    parameters: int
    weights: Callable[[], dict[str, np.ndarray]]
    course: dict[str, Any]


def grow(settings: PlanSettings, held: Held, cells: Sequence[StudentCell]) -> list[Grown]:
    """Train students of the plan's family."""
    if settings.family != "two-layer":
        return [_deep(settings, held, cell) for cell in cells]
    return [
        Grown(
            measured.cell,
            lambda part, measured=measured: probabilities(measured.network.logits(held.inputs[part])),
            measured.network.parameters,
            lambda measured=measured: network_arrays(measured.network),
            course_numbers(measured),
        )
        for measured in train_cells(held, settings.recipe, cells)
    ]


def network_arrays(network: TwoLayer) -> dict[str, np.ndarray]:
    """The weights of a two-layer network by name."""
    return {name: held.numpy() for name in TENSORS if (held := getattr(network, name)) is not None}


def network_of(arrays: dict[str, np.ndarray]) -> TwoLayer:
    """The two-layer network with these weights."""
    return TwoLayer(*(torch.from_numpy(arrays[name].copy()) if name in arrays else None for name in TENSORS))  # type: ignore[arg-type]


def images_of(problem: Problem, part: str) -> Images:
    """One part of a problem of images."""
    shape = problem.image_shape
    require(shape is not None, "deep students need images: a named set of images, an NPZ of images, or a folder")
    assert shape is not None
    pixels = problem.inputs[problem.parts[part]].reshape(-1, *shape)
    return Images.of(pixels, problem.truth(part), len(problem.classes))


def _build(settings: PlanSettings, held: Held, width: int, seed: int) -> torch.nn.Module:
    name, full = NETWORKS[settings.family]
    images = images_of(held.problem, "validation")
    return build_network(name, images.classes, images.shape, width / full, seed)


def build_prepared(settings: PlanSettings, held: Held, width: int, seed: int) -> Prepared:
    """An untrained deep student with the pixels' preparation in front of it."""
    return prepared_for(_build(settings, held, width, seed), images_of(held.problem, "train"))


def objective_of(cell: StudentCell) -> Objective:
    """What a deep student of the plan is trained to match."""
    return Objective(1.0, cell.temperature) if cell.arm == "soft" else Objective()


def softening_of(settings: PlanSettings, cell: StudentCell) -> Softening:
    """Of the labels that a student of the plan's family imitates."""
    return cell.softening if settings.family == "two-layer" else objective_of(cell).softening


def _deep(settings: PlanSettings, held: Held, cell: StudentCell) -> Grown:
    train, validation = images_of(held.problem, "train"), images_of(held.problem, "validation")
    network = build_prepared(settings, held, cell.width, cell.seed)
    recipe = settings.recipe
    training = Training(
        epochs=recipe.epochs, patience=recipe.epochs, batch=recipe.batch, rate=cell.step, seed=cell.seed
    )
    soft = None
    if cell.arm == "soft":
        logits = torch.from_numpy(held.answers.logits[held.problem.parts["train"]].astype(np.float32))
        soft = CachedLogits(logits, train.fingerprint)
    run = train_network(network, train, validation, training, objective_of(cell), soft=soft)

    def say(part: str) -> np.ndarray:
        return softmax(network_logits(run.network, images_of(held.problem, part).pixels).double().numpy(), axis=1)

    def weights() -> dict[str, np.ndarray]:
        return {name: value.cpu().contiguous().numpy() for name, value in run.network.state_dict().items()}

    course = {"course": {"step": list(range(len(run.epochs))), "loss": [epoch.loss for epoch in run.epochs]}}
    return Grown(cell, say, parameter_count(run.network), weights, course)
