"""`audit`: train a student on a data set as the theorems prescribe, and check every step."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from softlabel.errors import unknown
from softlabel.memory import check_memory
from softlabel.networks import Student
from softlabel.ranges import check_count
from softlabel.report.progress import step_progress
from softlabel.studies.audit import Audit, check_settings
from softlabel.studies.audit import audit as audit_training
from softlabel.studies.margin import search_margin
from softlabel.studies.signed_rows import SignedRows, signed_rows
from softlabel.teachers import KernelLimitTeacher

ARMS = ("soft", "hard")
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
    data = signed_rows(X, y, label=label, rows=rows, seed=seed)
    n, d = data.X.shape
    check_settings(arm, n=n, width=width, radius=radius, learning_rate=learning_rate, kappa=options.kappa,
                   epsilon=options.epsilon, delta=options.delta)  # fmt: skip
    Student(width=width, seed=seed, labels=arm, radius=radius, learning_rate=learning_rate or 1.0)
    check_count(iterations, "iterations")
    check_memory(6 * width * (d + n), f"width = {width:,} neurons", "use fewer neurons or fewer rows")
    limit_teacher = _teacher(teacher, data, options, seed)
    with step_progress("auditing", iterations) as progress:
        return audit_training(
            data.X,
            data.y,
            limit_teacher,
            arm=arm,
            width=width,
            iterations=iterations,
            radius=radius,
            learning_rate=learning_rate,
            epsilon=options.epsilon,
            delta=options.delta,
            seed=seed,
            progress=progress,
        )


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
