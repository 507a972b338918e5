"""Two-layer networks, trained by the fused engine: all students of a call in one stack of weights."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from softlabel.data.problem import Problem
from softlabel.export import export_student
from softlabel.networks import TwoLayer
from softlabel.networks.student_model import StudentModel
from softlabel.studies.students.calibration import expected_temperature, fit_temperature
from softlabel.studies.students.checks import check_width
from softlabel.studies.students.families.family import FamilyStudent, StudentFamily
from softlabel.studies.students.families.files import file_latency
from softlabel.studies.students.recipe import Recipe, StudentCell, recipe_for, threads_of
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.students.training import Measured, course_numbers, log_probabilities, train_cells

TENSORS = ("hidden", "output", "hidden_bias", "output_bias")


class TwoLayerFamily(StudentFamily):
    """Students with one hidden layer; their size is the number of its neurons."""

    name, unit, size, bundle = "two-layer", "neurons", 32, 6_000.0
    ladder = (2, 4, 8, 16, 32, 64, 128, 256, 512)
    independent: ClassVar[bool] = False  # students that train together share the rounding of their products

    def recipe(self, rows: int, epochs: int | None, batch_size: int | None, search_radius: bool) -> Recipe:
        return recipe_for(rows, epochs, batch_size, search_radius)

    def check(self, size: int, problem: Problem) -> None:
        self.check_size(size)
        check_width(size, problem)

    def threads(self, recipe: Recipe, inputs: int, sizes: int) -> int:
        return threads_of(recipe, inputs, sizes)

    def train(self, problem: TaughtProblem, recipe: Recipe, cells: Sequence[StudentCell]) -> list[FamilyStudent]:
        students: dict[int, FamilyStudent] = {}
        for epochs in dict.fromkeys(cell.epochs or recipe.epochs for cell in cells):
            numbers = [k for k, cell in enumerate(cells) if (cell.epochs or recipe.epochs) == epochs]
            longer = recipe.model_copy(update={"epochs": epochs})
            trained = train_cells(problem, longer, [cells[k] for k in numbers])
            students |= {k: calibrated(problem, one) for k, one in zip(numbers, trained, strict=True)}
        return [students[k] for k in range(len(cells))]

    def method(self, recipe: Recipe) -> str:
        return (
            "two layers, biases and output layer trained, Adam with cosine schedule, "
            f"{recipe.epochs} epochs, batch size {recipe.batch_size}, {recipe.precision} products"
        )

    def parameters(self, size: int, inputs: int, classes: int) -> int:
        outputs = 1 if classes == 2 else classes
        return size * (inputs + 1 + outputs) + outputs

    def export(
        self, problem: TaughtProblem, cell: StudentCell, weights: dict[str, np.ndarray], folder: Path, name: str
    ) -> dict[str, Any]:
        softening = self.softening(cell, float(weights["calibration"]))
        model = student_model(problem, network_from(weights), softening)
        example: Any = problem.example  # rows, or a frame of raw columns
        files = export_student(model, folder, name, example)
        return {"files": [str(path) for path in files.paths], "bytes": files.bytes,
                **file_latency(files.paths[0], example)}  # fmt: skip


def calibrated(problem: TaughtProblem, measured: Measured) -> FamilyStudent:
    """A trained student whose output weights and biases are divided by the temperature of its calibration."""
    network, rows = measured.network, problem.validation
    temperature = fit_temperature(
        log_probabilities(network.logits(rows.X)), rows.y, expected_temperature(measured.cell)
    )
    bias = network.output_bias
    network = replace(
        network, output=network.output / temperature, output_bias=None if bias is None else bias / temperature
    )
    return FamilyStudent(
        measured.cell,
        lambda X: log_probabilities(network.logits(X)),
        network.parameters,
        temperature,
        lambda: network_arrays(network) | {"calibration": np.array(temperature)},
        course_numbers(measured),
    )


def student_model(problem: TaughtProblem, network: TwoLayer, softening: Any) -> StudentModel:
    """The student with its preprocessing and names, ready to be exported."""
    return StudentModel(network, problem.scaler, problem.classes, problem.columns, softening, problem.encoder)


def network_arrays(network: TwoLayer) -> dict[str, np.ndarray]:
    """The weights of a two-layer network by name."""
    tensors = {name: getattr(network, name) for name in TENSORS}
    return {name: tensor.numpy() for name, tensor in tensors.items() if tensor is not None}


def network_from(arrays: dict[str, np.ndarray]) -> TwoLayer:
    """The two-layer network with these weights."""
    return TwoLayer(*(torch.from_numpy(arrays[name].copy()) if name in arrays else None for name in TENSORS))  # type: ignore[arg-type]
