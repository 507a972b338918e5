"""`audit`: train a student as the theorems prescribe, and check every step against them.

The student has a symmetric initialization and is trained by full-batch projected gradient descent in float64, on the
labels of the kernel-limit teacher (soft) or on y (hard). `theory.invariants` checks the weights through a callback and
never changes the training.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softlabel.errors import InputError, unknown
from softlabel.memory import check_memory
from softlabel.networks import Labels, Student, TrainingOptions, TwoLayer, Weights, hard_labels, train_students
from softlabel.ranges import check_count
from softlabel.report.progress import step_progress
from softlabel.studies.audit.result import Audit
from softlabel.studies.margin import search_margin
from softlabel.studies.signed_rows import SignedRows, signed_rows
from softlabel.teachers import KernelLimitTeacher
from softlabel.theory import bounds
from softlabel.theory.bounds.setting import check_epsilon, check_width
from softlabel.theory.invariants import Invariants
from softlabel.theory.projected_run import Run, check_run

ARMS = ("soft", "hard")
PAIRS = 20_000  # pairs of random directions that estimate the teacher's logits
TEACHER_WORK = 1e12  # default limit on the floating-point operations that find the teacher


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Less common settings of `audit`.

    Parameters
    ----------
    epsilon : float, default=0.1
        Target error, for the radius of the hard arm and for the target loss.
    delta : float, default=0.05
        Failure probability of the probabilistic statements.
    kappa : float, default=1.0
        Inverse temperature κ of the soft labels.
    time_limit : float, optional
        Time limit in seconds for finding the teacher. The result then depends on the machine.
    work_limit : float, optional
        Limit on floating-point operations for finding the teacher. Default: 1e12 if there is no time limit.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.AuditOptions(kappa=0.5).epsilon
    0.1
    """

    epsilon: float = 0.1
    delta: float = 0.05
    kappa: float = 1.0
    time_limit: float | None = None
    work_limit: float | None = None


def audit(
    X: Any,
    y: Any = None,
    *,
    label: str | int | None = None,
    rows: int | None = None,
    teacher: str | Path | KernelLimitTeacher | None = None,
    arm: Literal["soft", "hard"] = "soft",
    width: int = 256,
    iterations: int = 300,
    radius: float | None = None,
    learning_rate: float | None = None,
    seed: int = 0,
    options: AuditOptions | None = None,
) -> Audit:
    """Train a student as the theorems prescribe, and check every inequality at every step.

    Settings that the theorems do not cover are refused. Every check has an allowance for rounding.

    Parameters
    ----------
    X : array, frame, str, path, tuple or Problem
        The data, as in `margin`.
    y : array or str, optional
        One label per row, or the name of the label column.
    label : str or int, optional
        Name of the label column of a file or a frame.
    rows : int, optional
        Use only this many rows, drawn by the seed.
    teacher : KernelLimitTeacher, str or path, optional
        The teacher, or the file in which `margin` saved it. Default: the teacher of a new margin computation.
    arm : {"soft", "hard"}, default="soft"
        Train on the teacher's labels or on the labels of the data.
    width : int, default=256
        Number of hidden neurons, an even number. The deterministic checks hold for every width.
    iterations : int, default=300
        Number of steps.
    radius : float, optional
        Radius B of the projection. Default: that of the theorem.
    learning_rate : float, optional
        Learning rate η. Default: that of the theorem.
    seed : int, default=0
        Random seed.
    options : AuditOptions, optional
        Less common settings.

    Returns
    -------
    Audit
        All checks with their worst step, and the certificate.

    Raises
    ------
    InputError
        If the theorems do not cover the settings.

    Examples
    --------
    >>> import softlabel as sl
    >>> X = [[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]]
    >>> result = sl.audit(X, [1, 1, -1, -1], width=16, iterations=5, options=sl.AuditOptions(work_limit=1e8))
    >>> result.holds
    True
    """
    options = options or AuditOptions()
    if arm not in ARMS:
        raise unknown("arm", arm, ARMS)
    check_width(width)
    data = signed_rows(X, y, label=label, rows=rows, seed=seed)
    n, d = data.X.shape
    check_epsilon(options.epsilon)
    check_run(arm, radius, learning_rate, n=n, kappa=options.kappa, delta=options.delta)
    student = Student(width=width, seed=seed, labels=arm, radius=radius, learning_rate=learning_rate or 1.0)
    check_count(iterations, "iterations")
    check_memory(6 * width * (d + n), f"width = {width:,} neurons", "use fewer neurons or fewer rows")
    kernel_teacher = _teacher(teacher, data, options, seed)
    x, signs = data.X.astype(np.float64), data.y.astype(np.float64)
    logits, _ = kernel_teacher.logits(x, pairs=PAIRS, seed=seed)
    z = logits / options.kappa
    gamma = float((signs * z).min())
    if radius is None or learning_rate is None:
        refined = _refined(arm, gamma, n, options)
        radius = refined[0] if radius is None else radius
        learning_rate = refined[1] if learning_rate is None else learning_rate
    initial = TwoLayer.initialized("symmetric", width=width, inputs=d, seed=seed)
    hidden = initial.hidden.numpy()
    run = Run(
        x=x,
        y=signs,
        z=z,
        init=hidden,
        signs=initial.output.numpy()[0],
        v=kernel_teacher.v(hidden),
        arm=arm,
        radius=radius,
        learning_rate=learning_rate,
        kappa=options.kappa,
        delta=options.delta,
        beta=_target_loss(arm, gamma, options),
    )
    invariants = _train(run, replace(student, radius=radius, learning_rate=learning_rate), logits, iterations)
    checks, counts = tuple(invariants.checks()), tuple(invariants.counts())
    return Audit(arm, width, iterations, radius, learning_rate, gamma, checks, counts, invariants.certificate(),
                 _sufficient_width(arm, gamma, n, options))  # fmt: skip


def _teacher(
    teacher: str | Path | KernelLimitTeacher | None, data: SignedRows, options: AuditOptions, seed: int
) -> KernelLimitTeacher:
    """The teacher with the κ of the options; computed where there is none."""
    if isinstance(teacher, str | Path):
        teacher = KernelLimitTeacher.load(teacher)
    if teacher is not None:
        return replace(teacher, kappa=options.kappa)
    work_limit = options.work_limit
    if work_limit is None and options.time_limit is None:
        work_limit = TEACHER_WORK
    margin = search_margin(data.X, data.y, "γ*", time_limit=options.time_limit, work_limit=work_limit, seed=seed)
    return KernelLimitTeacher.from_margin(margin, data.X, data.y, options.kappa)


def _train(run: Run, student: Student, logits: np.ndarray, iterations: int) -> Invariants:
    """Train the student of a run, and check every step."""
    invariants = Invariants(run)
    labels = {"hard": hard_labels(run.y), "soft": Labels("logits", logits)}
    with step_progress("auditing", iterations) as progress:

        def callback(step: int, weights: Weights) -> None:
            network = weights[0]
            invariants.check_step(step, network.hidden.numpy(), network.logits(run.x))
            progress(step)

        options = TrainingOptions(precision="float64", callback=callback)
        train_students(run.x, [student], labels, iterations=iterations, options=options)
    return invariants


def _refined(arm: str, gamma: float, n: int, options: AuditOptions) -> tuple[float, float]:
    """Radius and learning rate of the refined theorem."""
    if arm == "soft":  # for any margin
        required = bounds.soft(0.5, options.epsilon, n, options.delta, kappa=options.kappa, family="refined")
    elif gamma > 0:
        required = bounds.hard(min(gamma, 0.5), options.epsilon, n, options.delta, family="refined")
    else:
        raise InputError(
            f"the teacher's margin on these points is {gamma:.3g}, not positive, so the theorem gives no radius for "
            "hard labels; set `radius` and `learning_rate`, or use a better teacher (search for the margin longer)"
        )
    if required.radius is None or required.learning_rate is None:
        raise InputError(
            f"no radius and learning rate for these settings: {required.note}; set `radius` and `learning_rate`"
        )
    return required.radius, required.learning_rate


def _sufficient_width(arm: str, gamma: float, n: int, options: AuditOptions) -> float | None:
    """The width from which on the refined theorem proves R^t(W̄) ≤ θβ; None without a positive margin."""
    if gamma <= 0:
        return None
    gamma, epsilon, delta = min(gamma, 0.5), options.epsilon, options.delta
    if arm == "soft":
        return bounds.soft_width(gamma, epsilon, n, delta, kappa=options.kappa, family="refined")
    return bounds.hard_width(gamma, epsilon, n, delta, family="refined")


def _target_loss(arm: str, gamma: float, options: AuditOptions) -> float | None:
    """β for a mean error of ε."""
    if arm == "hard":
        return float(np.log(2)) * options.epsilon
    return options.epsilon * bounds.coin_divergence(options.kappa * gamma) if gamma > 0 else None
