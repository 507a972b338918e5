"""What the kernel regime predicts for one student before it is trained: curve, poles, limits, assumptions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.report.result import ReportedResult
from softlabel.theory.dynamics import Assumption, Dynamics, KernelProblem

SMALLEST_SHARE = 1e-3  # of the movement of f, below which a pole is not drawn
LOWEST_DRAWN = 0.01  # limits, as a share of the smallest predicted error
STATES = {True: "holds", False: "fails", None: "unknown"}


@dataclass(frozen=True, eq=False, repr=False)
class DynamicsPrediction(ReportedResult):
    """Prediction of the training of one student; `sl.dynamics` passes it to its `progress` callback.

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

    Examples
    --------
    >>> import softlabel as sl
    >>> predictions = []
    >>> options = sl.DynamicsOptions(progress=lambda state: predictions.append(state.prediction))
    >>> result = sl.dynamics("digits", rows=20, width=5, teacher_width=10, iterations=10, options=options)
    >>> [row["iteration"] for row in predictions[-1].curve] == result.run.steps
    True
    """

    problem: KernelProblem
    dynamics: Dynamics
    learning_rate: float
    steps: list[int]
    predicted: np.ndarray
    test_predicted: list[float]
    limits: tuple[float, float] | None
    assumptions: list[Assumption]

    @property
    def curve(self) -> list[dict[str, float]]:
        """Mean (y − f)² at the recorded iterations."""
        errors = np.mean((self.predicted - self.problem.y.numpy()) ** 2, axis=1)
        rows: list[dict[str, float]] = [
            {"iteration": step, "predicted": float(error)} for step, error in zip(self.steps, errors, strict=True)
        ]
        for row, error in zip(rows, self.test_predicted, strict=False):
            row["test_predicted"] = error
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        assumptions = [{"name": a.name, "holds": a.holds, "meaning": a.meaning} for a in self.assumptions]
        return {**self._numbers(), "curve": self.curve, "assumptions": assumptions}

    def _numbers(self) -> dict[str, Any]:
        """The numbers of `to_dict`."""
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
        }

    @property
    def summary(self) -> list[str]:
        """What the prediction says, in plain sentences."""
        poles = self.dynamics.poles
        lines = [
            f"Poles from {float(poles[poles > 0].min()):.3g} to {float(poles.max()):.4g}; learning rates must stay "
            f"below {self.dynamics.max_learning_rate:.3g}."
        ]
        if self.limits is not None:
            true, printed = self.limits
            lines.append(f"Limit: mean (y − f)² = {true:.3g}; Theorem 1 as printed says {printed:.3g}.")
        return [*lines, *(f"{a.name}: {STATES[a.holds]}; {a.meaning}." for a in self.assumptions)]

    @property
    def table(self) -> Table:
        """Mean (y − f)² at some of the recorded iterations."""
        names = [name for name in self.curve[0] if name != "iteration"]
        last = len(self.curve) - 1
        rows = [self.curve[k] for k in sorted({0, last // 8, last // 4, last // 2, last})]
        strength = "∞" if self.problem.alone else f"{self.problem.strength:g}"
        title = f"{self.problem.n} rows, {self.problem.units} units, λ = {strength}: mean (y − f)² in training"
        lines = [[f"{r['iteration']:,.0f}", *(f"{r[name]:.5f}" for name in names)] for r in rows]
        return Table(title, title, ["iterations", *(name.replace("test_", "test, ") for name in names)], lines)

    @property
    def chart(self) -> Chart:
        """Error against the iterations, with the limits of the training error."""
        panel = Panel(
            f"{self.problem.units} units", self._curves(), "iterations of gradient descent", "mean (y − f)²", log_y=True
        )
        caption = "Mean squared error on the rows that the student is trained on"
        caption += ", and on test rows." if self.test_predicted else "."
        if self.limits is not None and len(self._drawn_limits()) < len(self.limits):
            caption += f" A limit below {LOWEST_DRAWN:.0%} of the smallest error is not drawn."
        return Chart("dynamics", "Kernel regime: prediction and simulation", caption, [panel])

    def _drawn_limits(self) -> dict[str, tuple[float, str]]:
        """Names of the limits with their values and roles; a limit near 0 would leave no room for the curves."""
        if self.limits is None:
            return {}
        lowest = LOWEST_DRAWN * min(row["predicted"] for row in self.curve)
        limits = {"true limit": (self.limits[0], "teacher"), "printed limit": (self.limits[1], "paper")}
        return {name: limit for name, limit in limits.items() if limit[0] >= lowest}

    def _curves(self) -> list[Series]:
        """The predicted curves and the limits."""
        lines = [_line("training, predicted", self.curve, "predicted", "teacher")]
        if self.test_predicted:
            lines.append(_line("test, predicted", self.curve, "test_predicted", "other"))
        ends = [self.steps[0], self.steps[-1]]
        for name, (value, role) in self._drawn_limits().items():
            hover = [f"{name}: {value:.4g}"] * 2
            lines.append(Series(name, ends, [value] * 2, role=role, dashed=True, points=False, hover=hover))
        return lines

    @property
    def pole_chart(self) -> Chart:
        """How much of the movement of f, until the end of the run, lies along each pole."""
        lengths = self.dynamics.movement(self.steps[-1], self.learning_rate)
        shares = lengths / lengths.sum() if lengths.any() else lengths
        drawn = shares >= SMALLEST_SHARE
        poles, heights = self.dynamics.poles[drawn].tolist(), shares[drawn].tolist()
        hover = [f"pole {pole:.4g}: {height:.2%}" for pole, height in zip(poles, heights, strict=True)]
        series = Series("poles", poles, heights, role="teacher", marks=True, stems=True, hover=hover)
        panel = Panel("", [series], "pole", "share of the movement of f", log_x=True)
        caption = (
            f"Poles with at least {SMALLEST_SHARE:.1%} of the movement of f until the end of the run. Along a pole p, "
            f"f approaches its limit like e^(−pt), where t = {self.learning_rate:.3g} × iterations."
        )
        return Chart("poles", "Poles", caption, [panel])


def _line(name: str, curve: list[dict[str, float]], key: str, role: str, *, marks: bool = False) -> Series:
    """One column of a curve."""
    hover = [f"after {row['iteration']:,} iterations: {row[key]:.4g}" for row in curve]
    x, y = [row["iteration"] for row in curve], [row[key] for row in curve]
    return Series(name, x, y, role=role, marks=marks, points=False, hover=hover)


def simulated_curves(curve: list[dict[str, float]]) -> list[Series]:
    """The errors of a trained student, as points beside the predicted curves."""
    lines = [_line("training, simulated", curve, "simulated", "teacher", marks=True)]
    if "test_simulated" in curve[0]:
        lines.append(_line("test, simulated", curve, "test_simulated", "other", marks=True))
    return lines


@dataclass(frozen=True)
class DynamicsProgress:
    """The state of `sl.dynamics`, as its `progress` callback receives it.

    Attributes
    ----------
    stage : str
        What is done now: "teacher" (it is trained), "prediction" or "simulation" (the student is trained).
    done, total : int
        Steps of training done in this stage, and steps of the stage; a prediction is one step.
    prediction : DynamicsPrediction or None
        The prediction, from the beginning of the simulation on.

    Examples
    --------
    >>> import softlabel as sl
    >>> stages = []
    >>> options = sl.DynamicsOptions(progress=lambda state: stages.append(state.stage))
    >>> result = sl.dynamics("digits", rows=20, width=5, teacher_width=10, iterations=10, options=options)
    >>> list(dict.fromkeys(stages))
    ['teacher', 'prediction', 'simulation']
    """

    stage: str
    done: int
    total: int
    prediction: DynamicsPrediction | None = None

    @property
    def sentence(self) -> str:
        """What is done now, in words."""
        if self.stage == "prediction":
            return "predicting the student's training"
        return (
            f"training the {'teacher' if self.stage == 'teacher' else 'student'}: {self.done:,} of {self.total:,} steps"
        )
