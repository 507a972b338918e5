"""Training of a bundle of Table 1: teachers or students are trained together and evaluated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from softlabel.data import load, split
from softlabel.lab.cells import CellArrays, CellResult
from softlabel.networks import (
    Labels,
    Student,
    TrainedStudent,
    TwoLayer,
    Validation,
    hard_labels,
    teacher_logits,
    train_students,
)
from softlabel.networks.initialization import draw_weights
from softlabel.studies.table1.cells import Table1Cell, TeacherCell
from softlabel.studies.table1.settings import Table1Settings
from softlabel.studies.tested_rows import known_and_test

ON_THE_BALL = 0.999


@dataclass(frozen=True, eq=False)
class Table1Images:
    """Inputs and sides ±1 of one data set: for training, validation and test."""

    description: str
    train: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=2)  # keyed by the settings; saves each worker from loading the data once per bundle
def images(
    data: str, task: str, leave_out: tuple[int, ...], validation_share: float, test_share: float
) -> Table1Images:
    """The images of one data set; where it has no test set, one is split off first."""
    problem = load(data, task=task, leave_out=list(leave_out) or None, scale="max")
    known, test = known_and_test(problem, test_share)
    inputs, y = known.in_unit_ball, known.signs
    train, validation = split(len(y), (1 - validation_share, validation_share), seed=0, stratify=y, salt=0)
    return Table1Images(
        str(problem), (inputs[train], y[train]), (inputs[validation], y[validation]), (test.in_unit_ball, test.signs)
    )


def _images(settings: Table1Settings, leave_out: tuple[int, ...]) -> Table1Images:
    return images(settings.data, settings.task, leave_out, settings.validation_share, settings.test_share)


def train_teachers(settings: Table1Settings, cells: Sequence[TeacherCell], arrays: CellArrays) -> list[CellResult]:
    """Train teachers; store their logits on the training images."""
    data = _images(settings, cells[0].leave_out)
    teaching = cells[0].teaching
    network = teaching.model_dump(exclude={"epochs", "patience"})
    students = [Student(seed=cell.seed, radius=None, **network) for cell in cells]
    results = []
    for trained, shared in _train(
        settings, data, students, data.train[1], teaching.epochs, teaching.patience, "adam", "cosine"
    ):
        right = correct(trained.network, *data.test)
        logits = trained.network.logits(data.train[0])
        metrics = shared | {
            "test": 100 * float(right.mean()),
            "train": 100 * float((logits * data.train[1] > 0).mean()),
            "examples": len(right),
        }
        results.append(CellResult(metrics, {"logits": logits.astype(np.float32), "correct": np.packbits(right)}))
    return results


def train(settings: Table1Settings, cells: Sequence[Table1Cell], arrays: CellArrays) -> list[CellResult]:
    """Train students together; only those of the test stage are evaluated on the test images."""
    protocol = settings.protocol(cells[0].protocol)
    data = _images(settings, cells[0].leave_out)
    labels: dict[str, Labels] = {"hard": hard_labels(data.train[1])}
    for cell in cells:
        if cell.arm == "soft":
            teacher = TeacherCell(leave_out=cell.leave_out, seed=cell.seed, teaching=settings.teacher)
            labels[f"teacher {cell.seed}"] = teacher_logits(arrays[teacher.key]["logits"])
    students = [
        Student(
            width=cell.width,
            seed=cell.seed,
            labels="hard" if cell.arm == "hard" else f"teacher {cell.seed}",
            temperature=cell.temperature or 1.0,
            radius=cell.radius,
            learning_rate=cell.learning_rate,
            init=cell.init,
            train_output=protocol.train_output,
            biases=protocol.biases,
        )
        for cell in cells
    ]
    run = _train(
        settings, data, students, labels, protocol.epochs, protocol.epochs + 1, protocol.optimizer, protocol.schedule
    )
    results = []
    for cell, (trained, shared) in zip(cells, run, strict=True):
        metrics = shared | {"on_the_ball": on_the_ball(trained.network, trained.settings)}
        stored = {}
        if cell.stage == "test":
            right = correct(trained.network, *data.test)
            metrics["test"] = 100 * float(right.mean())
            stored["correct"] = np.packbits(right)
        results.append(CellResult(metrics, stored))
    return results


def _train(
    settings: Table1Settings,
    data: Table1Images,
    students: list[Student],
    labels: np.ndarray | dict[str, Labels],
    epochs: int,
    patience: int,
    optimizer: str,
    schedule: str,
) -> list[tuple[TrainedStudent, dict[str, float]]]:
    """Train networks, each with the weights of its best epoch; returns them with validation accuracy and epochs."""
    steps = math.ceil(len(data.train[1]) / settings.batch_size)
    run = train_students(
        data.train[0],
        students,
        labels,
        epochs=epochs,
        batch_size=settings.batch_size,
        optimizer=optimizer,
        schedule=schedule,
        validation=Validation(*data.validation, every=steps, patience=patience),
    )
    return [
        (
            trained,
            {"validation": 100 * (1 - (trained.validation_error or 0.0)), "epochs": trained.best_step / steps},
        )
        for trained in run
    ]


def correct(network: TwoLayer, inputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """On which examples y f > 0."""
    return network.logits(inputs) * y > 0


def on_the_ball(network: TwoLayer, student: Student) -> float:
    """Share of the neurons that the projection restrains: those at distance B/√m from their initialization."""
    if student.radius is None:
        return 0.0
    initial = draw_weights(student.init, width=student.width, inputs=network.inputs, seed=student.seed).hidden
    distance = np.linalg.norm(network.hidden.double().numpy() - initial, axis=1)
    return float((distance >= ON_THE_BALL * student.radius / math.sqrt(student.width)).mean())
