"""What a family of students offers to `verdict` and `plan`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from softlabel.data.problem import Problem
from softlabel.networks.softening import Softening
from softlabel.ranges import LARGEST_COUNT, check_count
from softlabel.studies.students.recipe import Arm, Recipe, StudentCell, choices
from softlabel.studies.students.taught_problem import TaughtProblem

REFUSED = "refused"  # name among the arrays of a student that cannot be exported: the reason


@dataclass(frozen=True, eq=False)
class FamilyStudent:
    """A trained and calibrated student of any family.

    cell            its settings
    function        log-probabilities (n, K) of scaled inputs (n, d), up to a constant of each row
    parameters      number of its parameters
    calibration     temperature by which its logits were divided after training
    weights         arrays by name from which `StudentFamily.export` makes files
    course          records of its training, for `doctor`
    """

    cell: StudentCell
    function: Callable[[np.ndarray], np.ndarray]
    parameters: int
    calibration: float
    weights: Callable[[], dict[str, np.ndarray]]
    course: dict[str, Any] = field(default_factory=dict)

    def logits(self, X: np.ndarray) -> np.ndarray:
        """Calibrated logits (n, K) of scaled inputs (n, d)."""
        return self.function(X)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Calibrated probabilities (n, K) of scaled inputs (n, d)."""
        return softmax(self.logits(X).astype(np.float64), axis=1)

    @property
    def records(self) -> dict[str, Any]:
        """What a run records of it beside its scores."""
        return {**self.course, "parameters": self.parameters, "calibration": self.calibration}


class StudentFamily(ABC):
    """One kind of student: how many are trained at once, what is tuned, what size means, what it costs, its export.

    Every arm of a comparison has the same number of `choices`. Training is deterministic: the same cells in the same
    order give the same bits. Where `independent` is True, a student does not depend on the others of its call, either.

    name            as users write it
    unit            what a size counts, in the plural
    ladder          sizes that `plan` tries
    size            size of the students of `verdict`, unless a user chooses one
    bundle          sum of costs up to which students are trained in one bundle; 0: each has its own
    setting         name of the family's own hyperparameter, which `choices` tune; empty without one
    takes_images    whether inputs that are images are passed as images
    needs_images    whether the inputs must be images
    """

    name: str
    unit: str
    ladder: tuple[int, ...]
    size: int
    bundle: float = 0.0
    setting: str = ""
    independent: ClassVar[bool] = True
    takes_images: ClassVar[bool] = False
    needs_images: ClassVar[bool] = False

    @abstractmethod
    def recipe(self, rows: int, epochs: int | None, batch_size: int | None, search_radius: bool) -> Recipe:
        """How students are trained on a number of training rows; None stands for a default."""

    def choices(self, recipe: Recipe, arm: Arm) -> list[dict[str, Any]]:
        """Settings that an arm chooses from, equally many for every arm."""
        return choices(recipe, arm)

    @abstractmethod
    def check(self, size: int, problem: Problem) -> None:
        """Raise InputError if students of this size cannot be trained on the problem."""

    def check_size(self, size: int, *, least: int = 1, most: int = LARGEST_COUNT) -> None:
        """Raise InputError unless students of this family can have this size."""
        check_count(size, f"the number of {self.unit} of a student", least=least, most=most)

    @abstractmethod
    def threads(self, recipe: Recipe, inputs: int, sizes: int) -> int:
        """Number of threads, of those available, that training students of this total size is worth."""

    def cost(self, cell: StudentCell) -> float:
        """Rough cost of training one student, in a unit of the family's own."""
        return float(cell.width)

    def bundles(self, cells: Sequence[StudentCell], limit: float | None = None) -> list[list[StudentCell]]:
        """Cells cut into bundles whose costs do not exceed the limit (default: `bundle`)."""
        limit = self.bundle if limit is None else min(limit, self.bundle)
        bundles: list[list[StudentCell]] = []
        total = 0.0
        for cell in cells:
            if not bundles or total + self.cost(cell) > limit:
                bundles.append([])
                total = 0.0
            bundles[-1].append(cell)
            total += self.cost(cell)
        return bundles

    @abstractmethod
    def train(self, problem: TaughtProblem, recipe: Recipe, cells: Sequence[StudentCell]) -> list[FamilyStudent]:
        """Train and calibrate these students, in the order of the cells.

        Whatever is random of a student depends on its seed alone, and is the same for all arms of a seed.
        """

    def parameters(self, size: int, inputs: int, classes: int) -> int | None:
        """Parameters of a student of this size, if they are known before the training."""
        return None

    @abstractmethod
    def export(
        self, problem: TaughtProblem, cell: StudentCell, weights: dict[str, np.ndarray], folder: Path, name: str
    ) -> dict[str, Any]:
        """Write files of a student from its arrays: {"files", "bytes", "milliseconds", "milliseconds_thousand"}.

        weights     of `FamilyStudent.weights`, with its "calibration"
        """

    def softening(self, cell: StudentCell, calibration: float | None) -> Softening:
        """What is recorded of a student's labels in its files."""
        return Softening(cell.label_temperature, cell.smoothing, calibration)

    def words(self, cell: StudentCell) -> str:
        """The chosen settings of an arm in a few words."""
        parts = []
        if cell.learning_rate is not None:
            parts.append(f"learning rate {cell.learning_rate:g}")
        if cell.setting is not None:
            parts.append(f"{self.setting} {cell.setting:g}")
        if cell.learns_from_teacher:
            parts.append(f"T = {cell.temperature:g}" + (" on both sides" if cell.both_sides else ""))
        if cell.arm == "smooth":
            parts.append(f"smoothing {cell.smoothing:g}")
        if cell.radius is not None:
            parts.append(f"B = {cell.radius:g}")
        return ", ".join(parts)

    @abstractmethod
    def method(self, recipe: Recipe) -> str:
        """How the students are trained, in words."""

    @property
    def tuned(self) -> str:
        """What each arm chooses from, in words."""
        own = self.setting or "learning rate"
        return f"soft: temperature × {own}, smoothing: smoothing × {own}, hard: {own} alone"

    def phrase(self, size: int) -> str:
        """What follows "students" in a sentence: "of 16 leaves", or "of the family 'logistic'" for a single size."""
        return f"of {size:,} {self.unit}" if len(self.ladder) > 1 else f"of the family '{self.name}'"
