"""The contract of a family of students as a test that anyone can run on a family of their own.

>>> from softlabel.testing import check_student_family
>>> check_student_family(lambda: "tree")
"""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.studies.students.families import FamilyStudent, StudentFamily, family_of
from softlabel.studies.students.families.family import REFUSED
from softlabel.studies.students.images import image_problem
from softlabel.studies.students.recipe import Arm, Recipe, StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.teachers.sources import query_teacher

ARMS: tuple[Arm, ...] = ("hard", "soft", "smooth", "transfer")
PARITY = 1e-3  # of probabilities


def check_student_family(factory: Callable[[], Any], *, epochs: int | None = None) -> None:
    """Check that a family of students keeps the promises that `verdict` and `plan` rely on.

    Every arm has equally many settings to choose from; the same seed gives the same bits; students do not depend on
    their company if the family says so; probabilities sum to 1; a larger size has at least as many parameters; the
    calibration improves the log loss on validation rows and changes no prediction; the exported file predicts the same
    with onnxruntime; impossible sizes are refused.

    Parameters
    ----------
    factory : callable
        Returns the family: a `StudentFamily`, or anything that `verdict` takes as `student`.
    epochs : int, optional
        Passes over the training rows, for families that have such a number.

    Raises
    ------
    AssertionError
        If a promise is not kept; the message names it.

    Examples
    --------
    >>> from softlabel.testing import check_student_family
    >>> check_student_family(lambda: "logistic")
    """
    family = family_of(factory())
    check = _Contract(family, *_problems(family), epochs)
    for part in (check.names, check.budgets, check.sizes, check.bits, check.outputs, check.calibration, check.export):
        part()


@dataclass(frozen=True, eq=False)
class _Contract:
    """The checks, on one small problem."""

    family: StudentFamily
    problem: Problem
    taught_problem: TaughtProblem
    epochs: int | None

    @property
    def recipe(self) -> Recipe:
        return self.family.recipe(len(self.problem.train), self.epochs, None, False)

    def cell(self, arm: Arm, seed: int = 0, size: int | None = None, choice: int = 0) -> StudentCell:
        settings = self.family.choices(self.recipe, arm)[choice]
        return StudentCell(stage="test", arm=arm, width=size or self.family.ladder[0], seed=seed, **settings)

    def trained(self, *cells: StudentCell) -> list[FamilyStudent]:
        return self.family.train(self.taught_problem, self.recipe, list(cells))

    def probabilities(self, student: FamilyStudent) -> np.ndarray:
        return student.probabilities(self.taught_problem.test.X)

    def names(self) -> None:
        family = self.family
        for name in ("name", "unit"):
            value = getattr(family, name)
            assert isinstance(value, str), f"{name} must be a string, got {value!r}"
            assert value, f"{name} must not be empty"
        assert all(a < b for a, b in pairwise(family.ladder)), f"ladder must be increasing, got {family.ladder}"
        assert family.cost(self.cell("hard")) > 0, "the cost of a student must be positive"
        threads = family.threads(self.recipe, self.problem.X.shape[1], family.size)
        assert threads >= 1, f"threads must be at least 1, got {threads}"

    def budgets(self) -> None:
        counts = {arm: len(self.family.choices(self.recipe, arm)) for arm in ARMS}
        assert min(counts.values()) >= 1, f"every arm must have at least one setting, got {counts}"
        assert len(set(counts.values())) == 1, f"arms must have equally many settings to choose from, got {counts}"
        for arm in ARMS:
            cells = [self.cell(arm, choice=k) for k in range(counts[arm])]
            distinct = {cell.choice for cell in cells}
            assert len(distinct) == len(cells), f"the settings of the arm '{arm}' must differ from each other"

    def sizes(self) -> None:
        self.family.check(self.family.size, self.problem)
        for size in (0, -1, 2.5, math.nan):
            try:
                self.family.check(size, self.problem)  # pyright: ignore[reportArgumentType]
            except InputError:
                continue
            raise AssertionError(f"a size of {size} must be refused with InputError")
        if len(self.family.ladder) > 1:
            small, large = self.trained(self.cell("hard"), self.cell("hard", size=self.family.ladder[1]))
            message = "a larger student must have at least as many parameters"
            assert large.parameters >= small.parameters, f"{message}, got {small.parameters} and {large.parameters}"

    def bits(self) -> None:
        cells = [self.cell("hard"), self.cell("soft"), self.cell("soft", seed=1)]
        first, again = self.trained(*cells), self.trained(*cells)
        for one, other in zip(first, again, strict=True):
            same = np.array_equal(self.probabilities(one), self.probabilities(other))
            assert same, f"the same seed must give the same bits ({one.cell.arm} labels)"
        assert [one.cell for one in first] == cells, "students must be in the order of their cells"
        if self.family.independent:
            (alone,) = self.trained(cells[1])
            same = np.array_equal(self.probabilities(alone), self.probabilities(first[1]))
            assert same, "a student must not depend on its company, since the family says that it is independent"

    def outputs(self) -> None:
        classes = len(self.taught_problem.classes)
        for student in self.trained(*(self.cell(arm) for arm in ARMS)):
            arm, p = student.cell.arm, self.probabilities(student)
            assert p.shape == (len(self.taught_problem.test.X), classes), f"probabilities have shape {p.shape} ({arm})"
            assert np.isfinite(p).all(), f"probabilities must be finite ({arm})"
            assert np.abs(p.sum(axis=1) - 1).max() < 1e-6, f"probabilities must sum to 1 ({arm})"
            assert student.parameters > 0, f"a student must have parameters ({arm})"

    def calibration(self) -> None:
        (student,) = self.trained(self.cell("hard"))
        rows = self.taught_problem.validation
        logits = student.logits(rows.X).astype(np.float64)
        after, before = (_log_loss(z, rows.y) for z in (logits, logits * student.calibration))
        assert after <= before + 1e-6, f"calibration must not increase the log loss, got {before:.6f} and {after:.6f}"

    def export(self) -> None:
        from softlabel.export import load_model

        (student,) = self.trained(self.cell("soft"))
        weights = student.weights()
        if REFUSED in weights:
            return  # the reason is shown to the user
        example: Any = self.taught_problem.example
        with tempfile.TemporaryDirectory() as folder:
            written = self.family.export(self.taught_problem, student.cell, weights, Path(folder), "student")
            for name in ("files", "bytes", "milliseconds", "milliseconds_thousand"):
                assert name in written, f"an export must say its '{name}'"
            file = next(path for path in written["files"] if path.endswith(".onnx"))
            model = load_model(file)
            shape = self.taught_problem.image_shape
            raw = example.reshape(-1, *shape) if model.takes_images and shape is not None else example
            difference = float(np.abs(model.probabilities(raw) - self.probabilities(student)[: len(raw)]).max())
            assert difference <= PARITY, f"the exported file differs from the student by {difference:.2g}"
            assert tuple(model.classes) == self.taught_problem.classes, "the exported file must name the classes"
            recorded = model.softening.calibration
            assert recorded is not None, "the exported file must record its calibration"


def _log_loss(logits: np.ndarray, truth: np.ndarray) -> float:
    z = logits - logits.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(truth)), truth]))


def _problems(family: StudentFamily) -> tuple[Problem, TaughtProblem]:
    """A small problem of three classes, of images if the family needs them, with a teacher and unlabeled rows."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    if family.needs_images:
        X = rng.uniform(0, 0.5, (300, 1, 8, 8)).astype(np.float32)
        for k in range(3):
            X[labels == k, :, 2 * k : 2 * k + 3] += 0.3
        centers = [X[labels == k].mean(0).ravel() for k in range(3)]
    else:
        centers = [np.array(center, dtype=float) for center in ((2, 0, 0, 0, 1), (0, 2, 0, 1, 0), (0, 0, 2, 0, 0))]
        X = (np.array(centers)[labels] + rng.standard_normal((300, 5))).astype(np.float32)

    def teacher(inputs: Any) -> np.ndarray:
        flat = np.asarray(inputs, dtype=np.float64).reshape(len(inputs), -1)
        distances = np.stack([((flat - center) ** 2).sum(axis=1) for center in centers], axis=1)
        return -distances / 2

    names = np.array(["ash", "beech", "cedar"])[labels]
    problem = image_problem(Problem.from_arrays(X, names, name="trees"), family)
    unlabeled = problem.X[:40] + np.float32(0.01)
    predictions = query_teacher(problem, teacher, transfer=unlabeled)
    return problem, TaughtProblem.from_predictions(problem, predictions, unlabeled)
