"""Training of a bundle of Table 1: teachers or students are trained together and evaluated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from softlabel.data import load, split
from softlabel.lab.cells import CellArrays, CellResult
from softlabel.networks import Labels, Student, TwoLayer, Validation, hard_labels, teacher_logits, train_students
from softlabel.networks.initialization import draw_init
from softlabel.studies.table1.cells import Table1Cell, TeacherCell
from softlabel.studies.table1.settings import Table1Settings

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
    inputs, y = problem.full_train.in_unit_ball, problem.full_train.signs
    if problem.official_test:
        test = problem.test.in_unit_ball, problem.test.signs
    else:
        kept, cut = split(len(y), (1 - test_share, test_share), seed=1, stratify=y, salt=0)
        test, inputs, y = (inputs[cut], y[cut]), inputs[kept], y[kept]
    train, validation = split(len(y), (1 - validation_share, validation_share), seed=0, stratify=y, salt=0)
    return Table1Images(str(problem), (inputs[train], y[train]), (inputs[validation], y[validation]), test)


def _images(settings: Table1Settings, leave_out: tuple[int, ...]) -> Table1Images:
    return images(settings.data, settings.task, leave_out, settings.validation_share, settings.test_share)


def train_teachers(settings: Table1Settings, cells: Sequence[TeacherCell], arrays: CellArrays) -> list[CellResult]:
    """Train teachers; store their logits on the training images."""
    data = _images(settings, cells[0].leave_out)
    teaching = cells[0].teaching
    students = [
        Student(
            width=teaching.width,
            seed=cell.seed,
            radius=None,
            learning_rate=teaching.learning_rate,
            init=teaching.init,
            train_output=teaching.train_output,
            biases=teaching.biases,
        )
        for cell in cells
    ]
    run = train_students(
        data.train[0],
        students,
        data.train[1],
        epochs=teaching.epochs,
        batch_size=settings.batch_size,
        optimizer="adam",
        schedule="cosine",
        validation=_every_epoch(data, settings, teaching.patience),
    )
    results = []
    for trained in run:
        right = correct(trained.network, *data.test)
        logits = trained.network.logits(data.train[0])
        metrics = {
            "validation": 100 * (1 - (trained.validation_error or 0.0)),
            "test": 100 * float(right.mean()),
            "train": 100 * float((logits * data.train[1] > 0).mean()),
            "epochs": trained.best_step / _steps_per_epoch(data, settings),
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
    run = train_students(
        data.train[0],
        students,
        labels,
        epochs=protocol.epochs,
        batch_size=settings.batch_size,
        optimizer=protocol.optimizer,
        schedule=protocol.schedule,
        validation=_every_epoch(data, settings, protocol.epochs + 1),
    )
    results = []
    for cell, trained in zip(cells, run, strict=True):
        metrics = {
            "validation": 100 * (1 - (trained.validation_error or 0.0)),
            "epochs": trained.best_step / _steps_per_epoch(data, settings),
            "on_the_ball": on_the_ball(trained.network, trained.settings),
        }
        stored = {}
        if cell.stage == "test":
            right = correct(trained.network, *data.test)
            metrics["test"] = 100 * float(right.mean())
            stored["correct"] = np.packbits(right)
        results.append(CellResult(metrics, stored))
    return results


def correct(network: TwoLayer, inputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """On which examples y f > 0."""
    return network.logits(inputs) * y > 0


def on_the_ball(network: TwoLayer, student: Student) -> float:
    """Share of the neurons that the projection restrains: those at distance B/√m from their initialization."""
    if student.radius is None:
        return 0.0
    initial, _ = draw_init(student.init, width=student.width, inputs=network.inputs, seed=student.seed)
    distance = np.linalg.norm(network.hidden.double().numpy() - initial, axis=1)
    return float((distance >= ON_THE_BALL * student.radius / math.sqrt(student.width)).mean())


def _every_epoch(data: Table1Images, settings: Table1Settings, patience: int) -> Validation:
    return Validation(*data.validation, every=_steps_per_epoch(data, settings), patience=patience)


def _steps_per_epoch(data: Table1Images, settings: Table1Settings) -> int:
    return math.ceil(len(data.train[1]) / settings.batch_size)
