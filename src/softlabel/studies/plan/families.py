"""Students of every family behind one interface: trained from cells, evaluated, and stored as arrays.

A width is a number of neurons, or for deep families the channels of the first layer (their width multiplier times 64 or
16). Deep students train one after another, with the temperature applied to teacher and student.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from softlabel.networks import TwoLayer
from softlabel.networks.deep import DeepTraining, Images, Objective, build_network, network_logits, parameter_count
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.networks.deep.teaching import CachedLogits
from softlabel.networks.deep.training import train_network
from softlabel.networks.softening import Softening
from softlabel.studies.plan.settings import NETWORKS, PlanSettings
from softlabel.studies.students.recipe import StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.students.training import course_numbers, probabilities, train_cells

TENSORS = ("hidden", "output", "hidden_bias", "output_bias")


@dataclass(frozen=True, eq=False)
class FamilyStudent:
    """A trained student of any family: its probabilities (n, K) on a part, its size, its weights as arrays."""

    cell: StudentCell
    probabilities: Callable[[str], np.ndarray]
    parameters: int
    weights: Callable[[], dict[str, np.ndarray]]
    course: dict[str, Any]


def train_family(settings: PlanSettings, problem: TaughtProblem, cells: Sequence[StudentCell]) -> list[FamilyStudent]:
    """Train students of the plan's family."""
    if settings.family != "two-layer":
        return [_deep(settings, problem, cell) for cell in cells]
    return [
        FamilyStudent(
            measured.cell,
            lambda part, measured=measured: probabilities(measured.network.logits(problem.part(part).X)),
            measured.network.parameters,
            lambda measured=measured: network_arrays(measured.network),
            course_numbers(measured),
        )
        for measured in train_cells(problem, settings.recipe, cells)
    ]


def network_arrays(network: TwoLayer) -> dict[str, np.ndarray]:
    """The weights of a two-layer network by name."""
    tensors = {name: getattr(network, name) for name in TENSORS}
    return {name: tensor.numpy() for name, tensor in tensors.items() if tensor is not None}


def network_from(arrays: dict[str, np.ndarray]) -> TwoLayer:
    """The two-layer network with these weights."""
    return TwoLayer(*(torch.from_numpy(arrays[name].copy()) if name in arrays else None for name in TENSORS))  # type: ignore[arg-type]


def part_images(problem: TaughtProblem, part: str) -> Images:
    """The images of one part."""
    assert problem.image_shape is not None
    rows = problem.part(part)
    return Images.from_arrays(rows.X.reshape(-1, *problem.image_shape), rows.y, len(problem.classes))


def build_prepared(settings: PlanSettings, problem: TaughtProblem, width: int, seed: int) -> Prepared:
    """An untrained deep student with the pixels' preparation in front of it."""
    name, full = NETWORKS[settings.family]
    images = part_images(problem, "train")
    return prepared_for(build_network(name, images.classes, images.shape, width / full, seed), images)


def objective_of(cell: StudentCell) -> Objective:
    """The objective of a deep student of the plan."""
    return Objective(1.0, cell.temperature) if cell.arm == "soft" else Objective()


def softening_of(settings: PlanSettings, cell: StudentCell) -> Softening:
    """Softening of the labels that a student of the plan's family imitates."""
    return cell.softening if settings.family == "two-layer" else objective_of(cell).softening


def _deep(settings: PlanSettings, problem: TaughtProblem, cell: StudentCell) -> FamilyStudent:
    train, validation = part_images(problem, "train"), part_images(problem, "validation")
    network = build_prepared(settings, problem, cell.width, cell.seed)
    recipe = settings.recipe
    training = DeepTraining(
        epochs=recipe.epochs, patience=recipe.epochs, batch_size=recipe.batch_size, learning_rate=cell.learning_rate,
        seed=cell.seed,
    )  # fmt: skip
    soft = None
    if cell.arm == "soft":
        logits = torch.from_numpy(problem.train.logits.astype(np.float32))
        soft = CachedLogits(logits, train.fingerprint)
    run = train_network(network, train, validation, training, objective_of(cell), soft=soft)

    def predict(part: str) -> np.ndarray:
        return softmax(network_logits(run.network, part_images(problem, part).pixels).double().numpy(), axis=1)

    def weights() -> dict[str, np.ndarray]:
        return {name: value.cpu().contiguous().numpy() for name, value in run.network.state_dict().items()}

    course = {"course": {"step": list(range(len(run.epochs))), "loss": [epoch.loss for epoch in run.epochs]}}
    return FamilyStudent(cell, predict, parameter_count(run.network), weights, course)
