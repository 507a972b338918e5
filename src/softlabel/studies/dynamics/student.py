"""The student of `dynamics`: its settings, its teacher, and its training beside the prediction of the kernel regime."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softlabel.errors import require
from softlabel.memory import check_memory
from softlabel.networks.privileged import (
    PrivilegedRun,
    PrivilegedStudent,
    check_strength,
    draw_privileged_init,
    kernel_problem,
    select_units,
    train_privileged,
    unit_outputs,
)
from softlabel.networks.two_layer import TwoLayer
from softlabel.ranges import check_count, check_positive, check_seed
from softlabel.theory.dynamics import Dynamics, kernel_dynamics

SEEDS = 3  # of every point of a sweep
SHARE = 0.2  # default learning rate, as a share of the largest one that converges
RECORDS = 40
SCALES = (1e-6, 1e6)  # range of the standard deviation of initial weights


TestRows = tuple[np.ndarray, np.ndarray]
StepProgress = Callable[[int], None]


class Forecast(NamedTuple):
    """The predicted outputs of a student at the steps that are recorded, on its rows and on test rows."""

    dynamics: Dynamics
    learning_rate: float
    steps: list[int]
    predicted: np.ndarray
    test_predicted: np.ndarray | None


class Simulation(NamedTuple):
    """A prediction, the training of the same student, and how far they are apart, relative to ‖f(0) − y‖."""

    dynamics: Dynamics
    run: PrivilegedRun
    predicted: np.ndarray
    deviation: float


@dataclass(frozen=True)
class StudentSettings:
    """The student, its teacher, and their training; the parameters of `dynamics` have the same names."""

    width: int
    teacher_width: int
    strength: float
    activation: str
    init_scale: float
    iterations: int
    learning_rate: float | None
    seed: int

    def __post_init__(self) -> None:
        require(
            1 <= self.width <= self.teacher_width,
            f"width must lie between 1 and the teacher's {self.teacher_width}, got {self.width}",
        )
        check_count(self.iterations, "iterations")
        check_positive(self.init_scale, "init_scale", *SCALES)
        check_strength(self.strength)
        check_seed(self.seed)

    @property
    def seeds(self) -> range:
        """The seeds over which a sweep averages."""
        return range(self.seed, self.seed + SEEDS)

    @property
    def record_every(self) -> int:
        """Number of steps between records."""
        return max(1, self.iterations // RECORDS)

    def teacher(self, x: np.ndarray, y: np.ndarray, seed: int, progress: StepProgress | None = None) -> TwoLayer:
        """A teacher trained on the labels only."""
        check_units(self.teacher_width, x, "teacher_width")
        hidden, output = draw_privileged_init(self.teacher_width, x.shape[1], self.init_scale, seed)
        teacher = PrivilegedStudent(hidden, output, activation=self.activation, name="teacher")
        learning_rate = SHARE * kernel_dynamics(kernel_problem(teacher, x, y), vectors=20).max_learning_rate
        (run,) = train_privileged(
            x, y, [teacher], iterations=self.iterations, learning_rate=learning_rate, record_every=self.record_every,
            progress=progress,
        )  # fmt: skip
        return run.network

    def informed(
        self, x: np.ndarray, y: np.ndarray, seed: int, progress: StepProgress | None = None
    ) -> PrivilegedStudent:
        """A student initialized with units of a teacher trained on the labels, with their outputs as knowledge."""
        hidden, output = select_units(self.teacher(x, y, seed, progress), self.width, seed)
        known = unit_outputs(hidden, x, self.activation)
        return PrivilegedStudent(hidden, output, self.strength, known, self.activation)

    def predict(
        self, student: PrivilegedStudent, x: np.ndarray, y: np.ndarray, test: TestRows | None = None
    ) -> Forecast:
        """Predict the training of a student; a learning rate with which it would diverge is refused."""
        dynamics = kernel_dynamics(kernel_problem(student, x, y, unseen=None if test is None else test[0]))
        largest = max_learning_rate([dynamics])
        learning_rate = self.learning_rate or SHARE * largest
        require(
            learning_rate < largest,
            f"learning_rate must be below 2/λ_max = {largest:.4g}, otherwise gradient descent diverges; got "
            f"{learning_rate:.4g}",
        )
        steps = sorted({*range(0, self.iterations, self.record_every), self.iterations})
        predicted = np.stack([dynamics.descent(step, learning_rate) for step in steps])
        unseen = None if test is None else np.stack([dynamics.descent(k, learning_rate, unseen=True) for k in steps])
        return Forecast(dynamics, learning_rate, steps, predicted, unseen)

    def train(
        self,
        student: PrivilegedStudent,
        x: np.ndarray,
        y: np.ndarray,
        forecast: Forecast,
        test: TestRows | None = None,
        progress: StepProgress | None = None,
    ) -> tuple[PrivilegedRun, float]:
        """Train a student; returns the run, and how far it is from its prediction, relative to ‖f(0) − y‖."""
        (run,) = train_privileged(
            x,
            y,
            [student],
            iterations=self.iterations,
            learning_rate=forecast.learning_rate,
            record_every=self.record_every,
            test=test,
            keep_outputs=True,
            precision="float64",
            progress=progress,
        )
        assert run.outputs is not None
        deviation = float(np.linalg.norm(forecast.predicted - run.outputs, axis=1).max())
        initial = float(np.linalg.norm(run.outputs[0] - y))
        return run, deviation / initial

    def simulate(self, student: PrivilegedStudent, x: np.ndarray, y: np.ndarray) -> Simulation:
        """Predict the training of a student, and train it."""
        forecast = self.predict(student, x, y)
        run, deviation = self.train(student, x, y, forecast)
        return Simulation(forecast.dynamics, run, forecast.predicted, deviation)


def max_learning_rate(predictions: Iterable[Dynamics]) -> float:
    """The largest learning rate with which all of these students converge; a student that never moves is refused."""
    predictions = list(predictions)
    largest = min(one.max_learning_rate for one in predictions)
    require(
        not (math.isinf(largest) and predictions[0].problem.alone),
        "there is nothing to learn: with an infinite `strength` a student learns its privileged knowledge alone, and "
        "this student is initialized with it; use a finite `strength`, or without a sweep `init` 'random'",
    )
    return largest


def check_units(count: int, x: np.ndarray, parameter: str) -> None:
    """Raise if the outputs of the units on all rows do not fit in memory."""
    n, d = x.shape
    check_memory(4 * count * (n + d), f"{parameter} = {count:,} units", "use fewer units or fewer rows")
