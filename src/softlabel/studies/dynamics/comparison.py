"""Kernel-regime prediction against simulation, on a data set: does linear theory describe this student?

A teacher is trained on the labels; some of its units, chosen at random, become the privileged knowledge of a smaller
student. The student is initialized with the weights of these units (so that φ_k = f_k(0), as the theorems assume) or
with random ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softlabel.errors import unknown
from softlabel.networks.privileged import PrivilegedRun, draw_privileged_init, kernel_problem
from softlabel.report.charts import Series
from softlabel.studies.dynamics.forecast import DynamicsPrediction, DynamicsProgress, simulated_curves
from softlabel.studies.dynamics.student import Forecast, StudentSettings
from softlabel.studies.signed_rows import SignedRows
from softlabel.theory.dynamics import LIPSCHITZ, KernelProblem, check_assumptions, drift, limit, printed_limit

INITS = ("teacher", "random")
LARGEST_LIMIT = 2e11  # operations that the true limit may take


@dataclass(frozen=True, eq=False, repr=False)
class DynamicsResult(DynamicsPrediction):
    """Prediction and simulation of one student.

    Attributes
    ----------
    problem : KernelProblem
        The student's training in the kernel regime.
    dynamics : Dynamics
        The predicted outputs f(t) for every time.
    learning_rate : float
        Learning rate of the simulation.
    steps : list of int
        The recorded steps of gradient descent.
    predicted : ndarray of shape (records, n)
        Predicted outputs at the recorded steps.
    test_predicted : list of float
        Predicted mean (y − f)² on the test rows at the recorded steps; empty without test rows.
    limits : tuple of float or None
        Mean (y − f)² of the true limit and of the printed one; None if too expensive to compute.
    assumptions : list of Assumption
        The assumptions of the theorems, checked; empty if too expensive.
    run : PrivilegedRun
        The simulated student, with its outputs at the recorded steps.
    deviation : float
        Largest ‖predicted − simulated‖ divided by ‖f(0) − y‖.
    drift : float or None
        max_k σ_max(ΔH_k)/max_k σ_max(H_k) at the end of the run; None if too expensive.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.dynamics("digits", rows=20, width=5, teacher_width=10, iterations=10)
    >>> result.deviation < 0.1, result.predicted.shape[1]
    (True, 20)
    """

    run: PrivilegedRun
    deviation: float
    drift: float | None

    @property
    def curve(self) -> list[dict[str, float]]:
        """Mean (y − f)² at the recorded iterations, predicted and simulated."""
        rows = []
        for row, error, test_errors in zip(super().curve, self.run.train, self._test_errors, strict=True):
            rows.append(
                {"iteration": row["iteration"], "predicted": row["predicted"], "simulated": error} | test_errors
            )
        return rows

    @property
    def _test_errors(self) -> list[dict[str, float]]:
        """Mean (y − f)² on the test rows at the recorded iterations; nothing without test rows."""
        if not self.test_predicted:
            return [{} for _ in self.steps]
        return [
            {"test_predicted": predicted, "test_simulated": simulated}
            for predicted, simulated in zip(self.test_predicted, self.run.test, strict=True)
        ]

    def _numbers(self) -> dict[str, Any]:
        return super()._numbers() | {"deviation": self.deviation, "kernel_drift": self.drift}

    @property
    def summary(self) -> list[str]:
        """What the comparison says, in plain sentences."""
        lines = [f"Largest deviation of prediction from simulation: {self.deviation:.2%} of ‖f(0) − y‖."]
        if self.drift is not None:
            lines.append(f"The kernel moved by {self.drift:.2%} (largest change of an H_k).")
        return [*lines, *super().summary]

    def _curves(self) -> list[Series]:
        return [*super()._curves(), *simulated_curves(self.curve)]


def compare_dynamics(
    data: SignedRows, settings: StudentSettings, init: str, progress: Callable[[DynamicsProgress], None]
) -> DynamicsResult:
    """Predict and simulate a student, initialized with the weights of its teacher's units ("teacher") or at random."""
    if init not in INITS:
        raise unknown("init", init, INITS)
    x, y = data.X, data.y
    total = settings.iterations
    student = settings.informed(x, y, settings.seed, lambda step: progress(DynamicsProgress("teacher", step, total)))
    if init == "random":
        hidden, _ = draw_privileged_init(settings.width, x.shape[1], settings.init_scale, settings.seed + 1)
        student = replace(student, hidden=hidden)
    progress(DynamicsProgress("prediction", 0, 1))
    forecast = settings.predict(student, x, y, data.test)
    prediction = _prediction(forecast, settings, data)
    progress(DynamicsProgress("simulation", 0, total, prediction))
    run, deviation = settings.train(
        student, x, y, forecast, data.test,
        lambda step: progress(DynamicsProgress("simulation", step, total, prediction)),
    )  # fmt: skip
    moved = None if prediction.limits is None else _drift(prediction.problem, run, x, y)
    return DynamicsResult(**vars(prediction), run=run, deviation=deviation, drift=moved)


def _prediction(forecast: Forecast, settings: StudentSettings, data: SignedRows) -> DynamicsPrediction:
    """What can be known before the student is trained; limits and assumptions unless they are too expensive."""
    problem = forecast.dynamics.problem
    test_errors: list[float] = []
    if forecast.test_predicted is not None and data.test is not None:
        test_errors = np.mean((forecast.test_predicted - data.test[1]) ** 2, axis=1).tolist()
    n, d = data.X.shape
    limits, assumptions = None, []
    if problem.units * n * d * min(n, d) <= LARGEST_LIMIT:
        true, printed = (float((f - problem.y).square().mean()) for f in (limit(problem), printed_limit(problem)))
        limits = (true, printed)
        assumptions = check_assumptions(problem, settings.activation in LIPSCHITZ, forecast.learning_rate)
    return DynamicsPrediction(
        problem, forecast.dynamics, forecast.learning_rate, forecast.steps, forecast.predicted, test_errors, limits,
        assumptions,
    )  # fmt: skip


def _drift(problem: KernelProblem, run: PrivilegedRun, x: np.ndarray, y: np.ndarray) -> float:
    trained = replace(run.student, hidden=run.network.hidden.numpy())
    moved = np.linalg.norm(trained.hidden - run.student.hidden, axis=1)
    return drift(problem, kernel_problem(trained, x, y).slopes, moved, LIPSCHITZ.get(trained.activation, 1.0)).relative
