"""Kernel-regime prediction against simulation, on a data set: does linear theory describe this student?

A teacher is trained on the labels; some of its units, chosen at random, become the privileged knowledge of a smaller
student. The student is initialized with the weights of these units (so that φ_k = f_k(0), as the theorems assume) or
with random ones.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softlabel.errors import unknown
from softlabel.networks.privileged import PrivilegedRun, draw_privileged_init, kernel_problem
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.report.result import ReportedResult
from softlabel.studies.dynamics.student import StudentSettings
from softlabel.theory.dynamics import (
    LIPSCHITZ,
    Assumption,
    Dynamics,
    KernelProblem,
    check_assumptions,
    drift,
    limit,
    printed_limit,
)

INITS = ("teacher", "random")
LARGEST_LIMIT = 2e11  # operations that the true limit may take


@dataclass(frozen=True, eq=False, repr=False)
class DynamicsResult(ReportedResult):
    """Prediction and simulation of one student.

    Attributes
    ----------
    problem : KernelProblem
        The student's training in the kernel regime.
    dynamics : Dynamics
        The predicted outputs f(t) for every time.
    run : PrivilegedRun
        The simulated student, with its outputs at the recorded steps.
    learning_rate : float
        Learning rate of the simulation.
    predicted : ndarray of shape (records, n)
        Predicted outputs at the recorded steps.
    deviation : float
        Largest ‖predicted − simulated‖ divided by ‖f(0) − y‖.
    limits : tuple of float or None
        Mean (y − f)² of the true limit and of the printed one; None if too expensive to compute.
    assumptions : list of Assumption
        The assumptions of the theorems, checked; empty if too expensive.
    drift : float or None
        max_k σ_max(ΔH_k)/max_k σ_max(H_k) at the end of the run; None if too expensive.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.dynamics("digits", rows=20, width=5, teacher_width=10, iterations=10)
    >>> result.deviation < 0.1, result.predicted.shape[1]
    (True, 20)
    """

    problem: KernelProblem
    dynamics: Dynamics
    run: PrivilegedRun
    learning_rate: float
    predicted: np.ndarray
    deviation: float
    limits: tuple[float, float] | None
    assumptions: list[Assumption]
    drift: float | None

    @property
    def curve(self) -> list[dict[str, float]]:
        """Mean (y − f)² at the recorded iterations, predicted and simulated."""
        y = self.problem.y.numpy()
        return [
            {"iteration": step, "predicted": float(np.mean((f - y) ** 2)), "simulated": error}
            for step, f, error in zip(self.run.steps, self.predicted, self.run.train, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        poles, problem = self.dynamics.poles, self.problem
        return {
            "n": problem.n,
            "d": problem.x.shape[1],
            "width": problem.units,
            "strength": None if problem.alone else problem.strength,
            "learning_rate": self.learning_rate,
            "largest_step": self.dynamics.max_learning_rate,
            "poles": {"largest": float(poles.max()), "slowest_excited": float(poles[poles > 0].min())},
            "limit": None if self.limits is None else {"error": self.limits[0], "printed_error": self.limits[1]},
            "deviation": self.deviation,
            "kernel_drift": self.drift,
            "curve": self.curve,
            "assumptions": [{"name": a.name, "holds": a.holds, "meaning": a.meaning} for a in self.assumptions],
        }

    @property
    def summary(self) -> list[str]:
        """What the comparison says, in plain sentences."""
        poles = self.dynamics.poles
        lines = [f"Largest deviation of prediction from simulation: {self.deviation:.2%} of ‖f(0) − y‖."]
        if self.drift is not None:
            lines.append(f"The kernel moved by {self.drift:.2%} (largest change of an H_k).")
        lines.append(
            f"Poles from {float(poles[poles > 0].min()):.3g} to {float(poles.max()):.4g}; learning rates must stay "
            f"below {self.dynamics.max_learning_rate:.3g}."
        )
        if self.limits is not None:
            true, printed = self.limits
            lines.append(f"Limit: mean (y − f)² = {true:.3g}; Theorem 1 as printed says {printed:.3g}.")
        states = {True: "holds", False: "fails", None: "unknown"}
        return [*lines, *(f"{a.name}: {states[a.holds]}; {a.meaning}." for a in self.assumptions)]

    @property
    def table(self) -> Table:
        """Predicted and simulated error at some of the recorded iterations."""
        curve = self.curve
        last = len(curve) - 1
        rows = [curve[k] for k in sorted({0, last // 8, last // 4, last // 2, last})]
        strength = "∞" if self.problem.alone else f"{self.problem.strength:g}"
        title = f"{self.problem.n} rows, {self.problem.units} units, λ = {strength}: mean (y − f)² in training"
        lines = [[f"{r['iteration']:,}", f"{r['predicted']:.5f}", f"{r['simulated']:.5f}"] for r in rows]
        return Table(title, title, ["iterations", "predicted", "simulated"], lines)

    @property
    def chart(self) -> Chart:
        """Training error against the iterations, predicted and simulated."""
        curve = self.curve
        x = [row["iteration"] for row in curve]
        series = [
            Series("predicted by the kernel", x, [row["predicted"] for row in curve], role="hard"),
            Series("simulated", x, [row["simulated"] for row in curve], role="soft", marks=True),
        ]
        panel = Panel(f"{self.problem.units} units", series, "iterations", "mean (y − f)²")
        caption = "Mean squared error on the training rows."
        return Chart("dynamics", "Kernel regime: prediction and simulation", caption, [panel])


def compare_dynamics(x: np.ndarray, y: np.ndarray, settings: StudentSettings, init: str) -> DynamicsResult:
    """Predict and simulate a student, initialized with the weights of its teacher's units ("teacher") or at random."""
    if init not in INITS:
        raise unknown("init", init, INITS)
    student = settings.informed(x, y, settings.seed)
    if init == "random":
        hidden, _ = draw_privileged_init(settings.width, x.shape[1], settings.init_scale, settings.seed + 1)
        student = replace(student, hidden=hidden)
    simulation = settings.simulate(student, x, y)
    problem = simulation.dynamics.problem
    n, d = x.shape
    if problem.units * n * d * min(n, d) > LARGEST_LIMIT:
        return DynamicsResult(problem, *simulation, limits=None, assumptions=[], drift=None)
    true, printed = (float((f - problem.y).square().mean()) for f in (limit(problem), printed_limit(problem)))
    assumptions = check_assumptions(problem, settings.activation in LIPSCHITZ, simulation.learning_rate)
    return DynamicsResult(problem, *simulation, (true, printed), assumptions, _drift(problem, simulation.run, x, y))


def _drift(problem: KernelProblem, run: PrivilegedRun, x: np.ndarray, y: np.ndarray) -> float:
    trained = replace(run.student, hidden=run.network.hidden.numpy())
    moved = np.linalg.norm(trained.hidden - run.student.hidden, axis=1)
    return drift(problem, kernel_problem(trained, x, y).slopes, moved, LIPSCHITZ.get(trained.activation, 1.0)).relative
