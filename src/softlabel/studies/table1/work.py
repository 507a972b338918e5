"""What is done with a bundle of Table 1: train teachers or students together, and look at what they got right."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from softlabel.data import load_task, split
from softlabel.lab import Given, Outcome
from softlabel.networks import Labels, Student, TwoLayer, Validation, hard_labels, teacher_logits, train_students
from softlabel.networks.starts import draw_start
from softlabel.studies.table1.cells import StudentCell, TeacherCell
from softlabel.studies.table1.settings import Table1

ON_THE_BALL = 0.999


@dataclass(frozen=True, eq=False)
class Images:
    """Inputs and sides ±1 of one set: for training, for choosing, for the test."""

    description: str
    train: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=2)
def images(data: str, task: str, leave_out: tuple[int, ...], validation_share: float, test_share: float) -> Images:
    """The images of one set; where it has no test part of its own, one is cut off first."""
    posed = load_task(data, task=task, leave_out=list(leave_out) or None, scale="max")
    inputs, y = posed.train.inputs, posed.train.y
    assert y is not None
    if posed.test is not None:
        assert posed.test.y is not None
        held = posed.test.inputs, posed.test.y
    else:
        kept, cut = split(len(y), (1 - test_share, test_share), seed=1, stratify=y)
        held, inputs, y = (inputs[cut], y[cut]), inputs[kept], y[kept]
    train, chosen = split(len(y), (1 - validation_share, validation_share), seed=0, stratify=y)
    return Images(str(posed), (inputs[train], y[train]), (inputs[chosen], y[chosen]), held)


def _images(settings: Table1, leave_out: tuple[int, ...]) -> Images:
    return images(settings.data, settings.task, leave_out, settings.validation_share, settings.test_share)


def teach(settings: Table1, cells: Sequence[TeacherCell], given: Given) -> list[Outcome]:
    """Train teachers; keep their logits on the training images."""
    held = _images(settings, cells[0].leave_out)
    teaching = cells[0].teaching
    students = [
        Student(
            width=teaching.width,
            seed=cell.seed,
            radius=None,
            step=teaching.step,
            start=teaching.start,
            train_output=teaching.train_output,
            biases=teaching.biases,
        )
        for cell in cells
    ]
    run = train_students(
        held.train[0],
        students,
        held.train[1],
        epochs=teaching.epochs,
        batch_size=settings.batch_size,
        optimiser="adam",
        schedule="cosine",
        validation=_every_epoch(held, settings, teaching.patience),
    )
    outcomes = []
    for trained in run:
        right = correct(trained.network, *held.test)
        logits = trained.network.logits(held.train[0])
        metrics = {
            "validation": 100 * (1 - (trained.validation_error or 0.0)),
            "test": 100 * float(right.mean()),
            "train": 100 * float((logits * held.train[1] > 0).mean()),
            "epochs": trained.best_step / _steps(held, settings),
            "examples": len(right),
        }
        outcomes.append(Outcome(metrics, {"logits": logits.astype(np.float32), "correct": np.packbits(right)}))
    return outcomes


def train(settings: Table1, cells: Sequence[StudentCell], given: Given) -> list[Outcome]:
    """Train students together; those of the test stage, and only those, are shown the test images."""
    first = cells[0]
    protocol = settings.protocol(first.protocol)
    held = _images(settings, first.leave_out)
    labels: dict[str, Labels] = {"hard": hard_labels(held.train[1])}
    for cell in cells:
        if cell.arm == "soft":
            teacher = TeacherCell(leave_out=cell.leave_out, seed=cell.seed, teaching=settings.teacher)
            labels[f"teacher {cell.seed}"] = teacher_logits(given[teacher.key]["logits"])
    students = [
        Student(
            width=cell.width,
            seed=cell.seed,
            labels="hard" if cell.arm == "hard" else f"teacher {cell.seed}",
            temperature=cell.temperature or 1.0,
            radius=cell.radius,
            step=cell.step,
            start=cell.start,
            train_output=protocol.train_output,
            biases=protocol.biases,
        )
        for cell in cells
    ]
    run = train_students(
        held.train[0],
        students,
        labels,
        epochs=protocol.epochs,
        batch_size=settings.batch_size,
        optimiser=protocol.optimiser,
        schedule=protocol.schedule,
        validation=_every_epoch(held, settings, protocol.epochs + 1),
    )
    outcomes = []
    for cell, trained in zip(cells, run, strict=True):
        metrics = {
            "validation": 100 * (1 - (trained.validation_error or 0.0)),
            "epochs": trained.best_step / _steps(held, settings),
            "on_the_ball": on_the_ball(trained.network, trained.settings),
        }
        arrays = {}
        if cell.stage == "test":
            right = correct(trained.network, *held.test)
            metrics["test"] = 100 * float(right.mean())
            arrays["correct"] = np.packbits(right)
        outcomes.append(Outcome(metrics, arrays))
    return outcomes


def correct(network: TwoLayer, inputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """On which examples y f > 0."""
    return network.logits(inputs) * y > 0


def on_the_ball(network: TwoLayer, student: Student) -> float:
    """Share of the neurons that the projection holds: those at distance B/√m from their start."""
    if student.radius is None:
        return 0.0
    start, _ = draw_start(student.start, width=student.width, inputs=network.inputs, seed=student.seed)
    distance = np.linalg.norm(network.hidden.double().numpy() - start, axis=1)
    return float((distance >= ON_THE_BALL * student.radius / math.sqrt(student.width)).mean())


def _every_epoch(held: Images, settings: Table1, patience: int) -> Validation:
    return Validation(*held.validation, every=_steps(held, settings), patience=patience)


def _steps(held: Images, settings: Table1) -> int:
    """Steps an epoch has."""
    return math.ceil(len(held.train[1]) / settings.batch_size)
