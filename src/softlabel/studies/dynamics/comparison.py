"""Kernel-regime prediction against simulation, on a data set: does linear theory describe this student?

A teacher is trained on the labels; some of its units, chosen at random, become the privileged knowledge of a smaller
student. The student is initialized with the weights of these units (so that φ_k = f_k(0), as the theorems assume) or
with random ones.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.errors import require, unknown
from softlabel.lab.study import Result
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
from softlabel.ranges import check_count, check_positive, check_seed
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.theory.dynamics import (
    LIPSCHITZ,
    Assumption,
    Dynamics,
    KernelProblem,
    check_assumptions,
    drift,
    kernel_dynamics,
    limit,
    printed_limit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INITS = ("teacher", "random")
SHARE = 0.2  # default learning rate, as a share of the largest one that converges
LARGEST_LIMIT = 2e11  # operations that the true limit may take
RECORDS = 40
SCALES = (1e-6, 1e6)  # range of the standard deviation of initial weights


@dataclass(frozen=True, eq=False, repr=False)
class DynamicsResult(Result):
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
            Series("simulated", x, [row["simulated"] for row in curve], role="soft"),
            Series("predicted by the kernel", x, [row["predicted"] for row in curve], role="hard", dashed=True),
        ]
        panel = Panel(f"{self.problem.units} units", series, "iterations", "mean (y − f)²")
        caption = "Mean squared error on the training rows."
        return Chart("dynamics", "Kernel regime: prediction and simulation", caption, [panel])

    def plot(self) -> "Figure":
        """Training error against the iterations, predicted and simulated, as a Matplotlib figure."""
        from softlabel.report.drawing import chart_figure

        return chart_figure(self.chart)

    def _repr_html_(self) -> str:
        from softlabel.report.notebook import result_html

        return result_html(self.summary, self.plot(), self.table)


def compare_dynamics(
    x: np.ndarray,
    y: np.ndarray,
    *,
    width: int = 100,
    teacher_width: int = 400,
    strength: float = 1.0,
    activation: str = "softplus",
    init: str = "teacher",
    init_scale: float = 1.0,
    iterations: int = 1000,
    learning_rate: float | None = None,
    seed: int = 0,
) -> DynamicsResult:
    """Predict and simulate a student with privileged knowledge.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Inputs.
    y : ndarray of shape (n,)
        Labels −1 and +1.
    width, teacher_width : int
        Units of the student, and of the teacher from which they are chosen.
    strength : float, default=1.0
        λ, the weight of the privileged knowledge, from 0 to infinity.
    activation : {"relu", "softplus", "tanh", "erf", "gelu"}, default="softplus"
        Activation of the units.
    init : {"teacher", "random"}, default="teacher"
        Initialize the student with the weights of the chosen units, or at random.
    init_scale : float, default=1.0
        Standard deviation of random initial weights.
    iterations : int, default=1000
        Steps of gradient descent, for teacher and student.
    learning_rate : float, optional
        Learning rate of the student. Default: a fifth of 2/λ_max.
    seed : int, default=0
        Random seed.

    Returns
    -------
    DynamicsResult
        The predicted and the simulated curve, their deviation, the poles and the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from softlabel.studies.dynamics import compare_dynamics
    >>> x = np.array([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]])
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> compare_dynamics(x, y, width=10, teacher_width=40, iterations=20).deviation < 0.1
    True
    """
    if init not in INITS:
        raise unknown("init", init, INITS)
    check_count(iterations, "iterations")
    require(1 <= width <= teacher_width, f"width must lie between 1 and the teacher's {teacher_width}, got {width}")
    check_positive(init_scale, "init_scale", *SCALES)
    check_strength(strength)
    check_seed(seed)
    check_units(teacher_width, x, "teacher_width")
    teacher = train_teacher(x, y, teacher_width, activation, init_scale, iterations, seed)
    hidden, output = select_units(teacher.network, width, seed)
    known = unit_outputs(hidden, x, activation)
    if init == "random":
        hidden, _ = draw_privileged_init(width, x.shape[1], init_scale, seed + 1)
    student = PrivilegedStudent(hidden, output, strength, known, activation)
    dynamics, run, predicted, deviation = predict_and_train(student, x, y, iterations, learning_rate)
    problem, learning_rate = dynamics.problem, learning_rate or SHARE * dynamics.max_learning_rate
    return DynamicsResult(
        problem,
        dynamics,
        run,
        learning_rate,
        predicted,
        deviation,
        _limits(problem),
        check_assumptions(problem, activation in LIPSCHITZ, learning_rate) if _small(problem) else [],
        _drift(problem, run, x, y) if _small(problem) else None,
    )


def check_units(count: int, x: np.ndarray, parameter: str) -> None:
    """Raise if the outputs of the units on all rows do not fit in memory."""
    n, d = x.shape
    check_memory(4 * count * (n + d), f"{parameter} = {count:,} units", "use fewer units or fewer rows")


def _drift(problem: KernelProblem, run: PrivilegedRun, x: np.ndarray, y: np.ndarray) -> float:
    trained = replace(run.student, hidden=run.network.hidden.numpy())
    moved = np.linalg.norm(trained.hidden - run.student.hidden, axis=1)
    return drift(problem, kernel_problem(trained, x, y).slopes, moved, LIPSCHITZ.get(trained.activation, 1.0)).relative


def predict_and_train(
    student: PrivilegedStudent, x: np.ndarray, y: np.ndarray, iterations: int, learning_rate: float | None
) -> tuple[Dynamics, PrivilegedRun, np.ndarray, float]:
    """The prediction, the simulation, the prediction at the recorded steps, and their largest deviation."""
    dynamics = kernel_dynamics(kernel_problem(student, x, y))
    learning_rate = learning_rate or SHARE * dynamics.max_learning_rate
    require(
        learning_rate < dynamics.max_learning_rate,
        f"learning_rate must be below 2/λ_max = {dynamics.max_learning_rate:.4g}, otherwise gradient descent diverges; "
        f"got {learning_rate:.4g}",
    )
    (run,) = train_privileged(
        x,
        y,
        [student],
        iterations=iterations,
        learning_rate=learning_rate,
        record_every=max(1, iterations // RECORDS),
        keep_outputs=True,
        precision="float64",
    )
    predicted = np.stack([dynamics.descent(iteration, learning_rate) for iteration in run.steps])
    assert run.outputs is not None
    size = float(np.linalg.norm(run.outputs[0] - y))
    return dynamics, run, predicted, float(np.linalg.norm(predicted - run.outputs, axis=1).max()) / size


def train_teacher(
    x: np.ndarray, y: np.ndarray, width: int, activation: str, init_scale: float, iterations: int, seed: int
) -> PrivilegedRun:
    """A teacher trained on the labels only."""
    hidden, output = draw_privileged_init(width, x.shape[1], init_scale, seed)
    teacher = PrivilegedStudent(hidden, output, activation=activation, name="teacher")
    learning_rate = SHARE * kernel_dynamics(kernel_problem(teacher, x, y), vectors=20).max_learning_rate
    return train_privileged(x, y, [teacher], iterations=iterations, learning_rate=learning_rate)[0]


def _small(problem: KernelProblem) -> bool:
    n, d = problem.x.shape
    return problem.units * n * d * min(n, d) <= LARGEST_LIMIT


def _limits(problem: KernelProblem) -> tuple[float, float] | None:
    if not _small(problem):
        return None
    true, printed = (float((f - problem.y).square().mean()) for f in (limit(problem), printed_limit(problem)))
    return true, printed
