"""Kernel-regime prediction against simulation, on a data set: does linear theory describe this student?

A teacher is trained on the labels; some of its units, chosen at random, become the privileged knowledge of a smaller
student, which starts from their weights (so φ_k = f_k(0), as the theorems want it) or afresh.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softlabel.errors import require, unknown
from softlabel.memory import check_memory
from softlabel.networks.privileged import (
    PrivilegedRun,
    PrivilegedStudent,
    check_strength,
    draw_privileged_start,
    kernel_problem,
    select_units,
    train_privileged,
    unit_outputs,
)
from softlabel.ranges import check_count, check_positive, check_seed
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

STARTS = ("teacher", "random")
SHARE = 0.2  # of the largest step that converges, where none is given
LARGEST_LIMIT = 2e11  # operations that the true limit may take
RECORDS = 40
SCALES = (1e-6, 1e6)  # standard deviations of starting weights


@dataclass(frozen=True, eq=False)
class DynamicsOutcome:
    """Prediction and simulation of one student.

    dynamics        f(t) as predicted
    run             the simulated student, with its outputs at the recorded steps
    predicted       (records, n) f at those steps by the kernel
    drift           max_k σ_max(ΔH_k)/max_k σ_max(H_k) at the end of the run; None where too large to compute
    deviation       largest ‖predicted − simulated‖ over ‖f(0) − y‖
    limits          mean (y − f)² of the true limit and of the printed one; None where too large to compute
    """

    problem: KernelProblem
    dynamics: Dynamics
    run: PrivilegedRun
    step: float
    predicted: np.ndarray
    deviation: float
    limits: tuple[float, float] | None
    assumptions: list[Assumption]
    drift: float | None


def compare_dynamics(
    x: np.ndarray,
    y: np.ndarray,
    *,
    width: int = 100,
    teacher_width: int = 400,
    strength: float = 1.0,
    activation: str = "softplus",
    start: str = "teacher",
    scale: float = 1.0,
    iterations: int = 1000,
    step: float | None = None,
    seed: int = 0,
) -> DynamicsOutcome:
    """Predict and simulate a student with privileged knowledge on inputs x (n, d) and labels y = ±1."""
    if start not in STARTS:
        raise unknown("start", start, STARTS)
    check_count(iterations, "iterations")
    require(1 <= width <= teacher_width, f"width must lie between 1 and the teacher's {teacher_width}, got {width}")
    check_positive(scale, "scale", *SCALES)
    check_strength(strength)
    check_seed(seed)
    check_units(teacher_width, x, "teacher_width")
    teacher = train_teacher(x, y, teacher_width, activation, scale, iterations, seed)
    hidden, output = select_units(teacher.network, width, seed)
    known = unit_outputs(hidden, x, activation)
    if start == "random":
        hidden, _ = draw_privileged_start(width, x.shape[1], scale, seed + 1)
    student = PrivilegedStudent(hidden, output, strength, known, activation)
    dynamics, run, predicted, deviation = predict_and_train(student, x, y, iterations, step)
    problem, step = dynamics.problem, step or SHARE * dynamics.largest_step
    return DynamicsOutcome(
        problem,
        dynamics,
        run,
        step,
        predicted,
        deviation,
        _limits(problem),
        check_assumptions(problem, activation in LIPSCHITZ, step) if _small(problem) else [],
        _drift(problem, run, x, y) if _small(problem) else None,
    )


def check_units(count: int, x: np.ndarray, parameter: str) -> None:
    """Refuse a network whose units on all rows no memory would hold."""
    n, d = x.shape
    check_memory(4 * count * (n + d), f"{parameter} = {count:,} units", "take fewer units, or fewer rows")


def _drift(problem: KernelProblem, run: PrivilegedRun, x: np.ndarray, y: np.ndarray) -> float:
    trained = replace(run.student, hidden=run.network.hidden.numpy())
    moved = np.linalg.norm(trained.hidden - run.student.hidden, axis=1)
    return drift(problem, kernel_problem(trained, x, y).slopes, moved, LIPSCHITZ.get(trained.activation, 1.0)).relative


def predict_and_train(
    student: PrivilegedStudent, x: np.ndarray, y: np.ndarray, iterations: int, step: float | None
) -> tuple[Dynamics, PrivilegedRun, np.ndarray, float]:
    """Prediction, simulation, the prediction at the simulation's records, and their largest deviation."""
    dynamics = kernel_dynamics(kernel_problem(student, x, y))
    step = step or SHARE * dynamics.largest_step
    require(
        step < dynamics.largest_step,
        f"step must be below 2/λ_max = {dynamics.largest_step:.4g}, else gradient descent diverges; got {step:.4g}",
    )
    (run,) = train_privileged(
        x,
        y,
        [student],
        iterations=iterations,
        step=step,
        record_every=max(1, iterations // RECORDS),
        keep_outputs=True,
        precision="float64",
    )
    predicted = np.stack([dynamics.descent(iteration, step) for iteration in run.steps])
    assert run.outputs is not None
    size = float(np.linalg.norm(run.outputs[0] - y))
    return dynamics, run, predicted, float(np.linalg.norm(predicted - run.outputs, axis=1).max()) / size


def train_teacher(
    x: np.ndarray, y: np.ndarray, width: int, activation: str, scale: float, iterations: int, seed: int
) -> PrivilegedRun:
    """A teacher trained on the labels alone."""
    hidden, output = draw_privileged_start(width, x.shape[1], scale, seed)
    teacher = PrivilegedStudent(hidden, output, activation=activation, name="teacher")
    step = SHARE * kernel_dynamics(kernel_problem(teacher, x, y), vectors=20).largest_step
    return train_privileged(x, y, [teacher], iterations=iterations, step=step)[0]


def _small(problem: KernelProblem) -> bool:
    n, d = problem.x.shape
    return problem.units * n * d * min(n, d) <= LARGEST_LIMIT


def _limits(problem: KernelProblem) -> tuple[float, float] | None:
    if not _small(problem):
        return None
    true, printed = (float((f - problem.y).square().mean()) for f in (limit(problem), printed_limit(problem)))
    return true, printed


def document(found: DynamicsOutcome, dataset: str) -> dict[str, Any]:
    """What `softlabel dynamics --json` prints."""
    poles = found.dynamics.poles
    y = found.problem.y.numpy()
    strength = found.problem.strength
    return {
        "dataset": dataset,
        "n": found.problem.n,
        "d": found.problem.x.shape[1],
        "width": found.problem.units,
        "strength": None if found.problem.alone else strength,
        "step": found.step,
        "largest_step": found.dynamics.largest_step,
        "poles": {"largest": float(poles.max()), "slowest_excited": float(poles[poles > 0].min())},
        "limit": None if found.limits is None else {"error": found.limits[0], "printed_error": found.limits[1]},
        "deviation": found.deviation,
        "kernel_drift": found.drift,
        "curve": [
            {"iteration": step, "predicted": float(np.mean((f - y) ** 2)), "simulated": error}
            for step, f, error in zip(found.run.steps, found.predicted, found.run.train, strict=True)
        ],
        "assumptions": [{"name": a.name, "holds": a.holds, "meaning": a.meaning} for a in found.assumptions],
    }
