"""Training of a bundle: the teachers or the students of one seed."""

import math
from collections.abc import Sequence

import numpy as np

from softlabel.lab.cells import CellArrays, CellResult
from softlabel.networks import Labels, Student, TrainedStudent, Validation, teacher_logits, train_students
from softlabel.studies.conditions.cells import ConditionCell, ConditionTeacherCell, teacher_cell
from softlabel.studies.conditions.problem import ConditionRows, Rows, condition_rows
from softlabel.studies.conditions.settings import ConditionsSettings
from softlabel.studies.conditions.teachers import teacher_outputs


def train_teachers(
    settings: ConditionsSettings, cells: Sequence[ConditionTeacherCell], arrays: CellArrays
) -> list[CellResult]:
    """Train teachers; store their logits on the training rows, and where they are right on the test rows."""
    results = []
    for cell in cells:
        rows = condition_rows(cell.condition, cell.seed)
        train, validation, test = teacher_outputs(cell.condition.teacher, rows, settings.teacher_epochs, cell.seed)
        right = correct(test, rows.test)
        metrics = {
            "validation": 100 * float(correct(validation, rows.validation).mean()),
            "test": 100 * float(right.mean()),
            "examples": len(right),
            "logit_size": float(np.sqrt(np.mean(_centered(train) ** 2))),
        }
        results.append(CellResult(metrics, {"logits": train.astype(np.float32), "correct": np.packbits(right)}))
    return results


def correct(logits: np.ndarray, rows: Rows) -> np.ndarray:
    """On which rows the largest logit is that of the class; a logit of 0 for two classes is wrong."""
    if logits.ndim == 1:
        return logits * np.where(rows.y == 1, 1, -1) > 0
    return logits.argmax(1) == rows.y


def _centered(logits: np.ndarray) -> np.ndarray:
    """Logits of several classes relative to their mean, which probabilities do not depend on."""
    return logits if logits.ndim == 1 else logits - logits.mean(1, keepdims=True)


def softened(logits: np.ndarray, scale: float) -> Labels:
    """Soft labels at the temperature at which the root mean square of the teacher's logits is `scale`."""
    z = _centered(logits.astype(np.float64))
    return teacher_logits(z * (scale / max(float(np.sqrt(np.mean(z**2))), 1e-12)))


def train(settings: ConditionsSettings, cells: Sequence[ConditionCell], arrays: CellArrays) -> list[CellResult]:
    """Train students together; only those of the test stage are evaluated on the test rows."""
    recipe, seed = settings.recipe, cells[0].seed
    rows = condition_rows(cells[0].condition, seed)
    labels: dict[str, Labels] = {"hard": rows.hard}
    students = []
    for cell in cells:
        name = "hard"
        if cell.label_scale is not None:
            teacher = teacher_cell(cell.condition, seed).key
            name = f"{teacher} {cell.label_scale}"
            if name not in labels:
                labels[name] = softened(arrays[teacher]["logits"], cell.label_scale)
        students.append(
            Student(
                width=cell.condition.width,
                seed=seed,
                labels=name,
                radius=cell.condition.radius,
                learning_rate=cell.learning_rate,
                init=cell.condition.init,
                train_output=recipe.train_output,
                biases=recipe.biases,
            )
        )
    every = math.ceil(recipe.iterations / recipe.checks)
    run = train_students(
        rows.train.X,
        students,
        labels,
        iterations=recipe.iterations,
        batch_size=recipe.batch_size,
        seed=seed,
        optimizer=recipe.optimizer,
        schedule=recipe.schedule,
        validation=Validation(rows.validation.X, rows.validation.y, every=every, patience=recipe.checks + 1),
    )
    return [_measured(cell, trained, rows) for cell, trained in zip(cells, run, strict=True)]


def _measured(cell: ConditionCell, trained: TrainedStudent, rows: ConditionRows) -> CellResult:
    metrics: dict[str, float] = {
        "validation": 100 * (1 - (trained.validation_error or 0.0)),
        "best_step": trained.best_step,
    }
    if cell.stage == "choose":
        return CellResult(metrics)
    right = correct(trained.network.logits(rows.test.X), rows.test)
    return CellResult(metrics | {"test": 100 * float(right.mean())}, {"correct": np.packbits(right)})
