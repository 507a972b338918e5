"""Train a student as the theorems prescribe, and check every step against them.

The student has a symmetric initialization and is trained by full-batch projected gradient descent in float64, on the
labels of the kernel-limit teacher (soft) or on y (hard). `theory.invariants` checks the weights through a callback and
never changes the training.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from softlabel.errors import InputError
from softlabel.lab.study import Result
from softlabel.networks import Labels, Student, TrainingOptions, TwoLayer, Weights, hard_labels, train_students
from softlabel.networks.initialization import check_init
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Table
from softlabel.teachers import KernelLimitTeacher
from softlabel.theory import bounds
from softlabel.theory.bounds.setting import check_epsilon
from softlabel.theory.invariants import Certificate, Check, Count, Invariants, Run, check_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAIRS = 20_000  # pairs of random directions that estimate the teacher's logits
FINEST = 1e-18  # exact equalities and failures are drawn here


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What the checks of one training found.

    Attributes
    ----------
    arm : {"soft", "hard"}
        The labels of the training.
    width, steps : int
        Neurons of the student and steps of the training.
    radius, learning_rate : float
        B and η.
    gamma : float
        Margin of the labels.
    checks : tuple of Check
        Inequalities that hold at every step for any initialization, each with the step at which it came closest to
        failing.
    counts : tuple of Count
        Statements that hold with high probability over the initialization.
    certificate : Certificate
        The bound on the mean loss that the training itself proves, and the measured mean loss.

    Examples
    --------
    >>> import softlabel as sl
    >>> X = [[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]]
    >>> result = sl.audit(X, [1, 1, -1, -1], width=16, iterations=5, options=sl.AuditOptions(work_limit=1e8))
    >>> result.holds, result.failed
    (True, [])
    >>> result.certificate.measured <= result.certificate.bound
    True
    """

    arm: str
    width: int
    steps: int
    radius: float
    learning_rate: float
    gamma: float
    checks: tuple[Check, ...]
    counts: tuple[Count, ...]
    certificate: Certificate

    @property
    def holds(self) -> bool:
        """Whether every deterministic check and the certificate hold."""
        return all(check.holds for check in self.checks) and self.certificate.holds

    @property
    def failed(self) -> list[str]:
        """Names of the deterministic checks that fail ("certificate" for the certificate)."""
        names = [check.name for check in self.checks if not check.holds]
        return names if self.certificate.holds else [*names, "certificate"]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "steps": self.steps,
            "width": self.width,
            "arm": self.arm,
            "radius": self.radius,
            "step": self.learning_rate,
            "gamma_labels": self.gamma,
            "holds": self.holds,
            "checks": [asdict(check) for check in self.checks],
            "probable": [asdict(count) | {"holds": count.holds} for count in self.counts],
            "certificate": asdict(self.certificate),
        }

    @property
    def summary(self) -> list[str]:
        """What the checks found, in plain sentences."""
        state = "all checks hold" if self.holds else f"these checks fail: {', '.join(self.failed)}"
        certificate = self.certificate
        lines = [
            f"{self.arm} labels, {self.width} neurons, {self.steps} steps: {state}.",
            f"Certificate: this training proves a mean loss ≤ {certificate.bound:.6g}; measured: "
            f"{certificate.measured:.6g}.",
        ]
        if certificate.error_bound is not None:
            bound = f"{certificate.error_bound:.4g}" if certificate.error_bound < 1 else "1 (no information)"
            lines.append(f"Mean training error ≤ {bound}; measured: {certificate.error_measured:.4g}.")
        return lines

    def plot(self) -> "Figure":
        """How far each check stayed from failing at its worst step, as a Matplotlib figure."""
        from softlabel.report.drawing import chart_figure

        names = [check.name for check in self.checks]
        distances = [max(check.allowance - check.worst, FINEST) for check in self.checks]
        series = [Series("right − left + allowance for rounding", names, distances, role="soft", marks=True)]
        if failed := {check.name: FINEST for check in self.checks if not check.holds}:
            series.append(Series("fails", list(failed), list(failed.values()), role="hard", marks=True))
        title = f"{self.arm} labels, {self.width} neurons, {self.steps} steps"
        panel = Panel(title, series, "", "distance from failure", log_y=True)
        return chart_figure(Chart("audit", "Worst step of each check", "", [panel]))

    def _repr_html_(self) -> str:
        from softlabel.report.notebook import result_html

        rows = [
            [
                check.formula,
                f"{check.worst:.2e}",
                str(check.step),
                Cell(*(("holds", "", "good") if check.holds else ("fails", "", "bad"))),
            ]
            for check in self.checks
        ]
        about = "Inequalities that hold at every step for any initialization."
        table = Table("Checks", about, ["", "worst left − right", "at step", ""], rows)
        return result_html(self.summary, self.plot(), table)


def audit(
    X: Any,
    y: Any,
    teacher: KernelLimitTeacher,
    *,
    arm: Literal["soft", "hard"] = "soft",
    width: int = 256,
    iterations: int = 300,
    radius: float | None = None,
    learning_rate: float | None = None,
    epsilon: float = 0.1,
    delta: float = 0.05,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Train one student as the theorems prescribe, and check every inequality at every step.

    Settings that the theorem does not cover are refused before any computation, for example a learning rate with
    2 − ρ'η ≤ 0.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Inputs of norm at most 1.
    y : array-like of shape (n,)
        Labels −1 and +1.
    teacher : KernelLimitTeacher
        The teacher, see `softlabel.margin`.
    arm : {"soft", "hard"}, default="soft"
        Train on the teacher's labels or on `y`.
    width : int, default=256
        Number of neurons, an even number.
    iterations : int, default=300
        Number of steps.
    radius : float, optional
        Radius B. Default: that of the refined theorem, κ (soft) or B(γ, ε) (hard).
    learning_rate : float, optional
        Learning rate η. Default: that of the refined theorem, 1 (soft) or (1 − θ)/ρ (hard).
    epsilon : float, default=0.1
        Target error, for the radius of the hard arm and the target loss.
    delta : float, default=0.05
        Failure probability of the probabilistic statements.
    seed : int, default=0
        Random seed.
    progress : callable, optional
        Called with the number of each step.

    Returns
    -------
    Audit
        All checks, and the certificate.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> from softlabel.studies.audit import audit
    >>> from softlabel.teachers import KernelLimitTeacher
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]])
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> teacher = KernelLimitTeacher.from_margin(sl.margin(X, y, work_limit=1e8), X, y, 1.0)
    >>> audit(X, y, teacher, width=16, iterations=5).holds
    True
    """
    x, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    kappa = teacher.kappa
    theorem = {"kappa": kappa, "epsilon": epsilon, "delta": delta}
    check_settings(arm, n=len(x), width=width, radius=radius, learning_rate=learning_rate, **theorem)
    logits, _ = teacher.logits(x, pairs=PAIRS, seed=seed)
    z = logits / kappa
    gamma = float((y * z).min())
    if radius is None or learning_rate is None:
        refined = _refined(arm, gamma, epsilon, delta, len(x), kappa)
        radius = refined[0] if radius is None else radius
        learning_rate = refined[1] if learning_rate is None else learning_rate
    initial = TwoLayer.initialized("symmetric", width=width, inputs=x.shape[1], seed=seed)
    hidden = initial.hidden.numpy()
    run = Run(
        x=x,
        y=y,
        z=z,
        init=hidden,
        signs=initial.output.numpy()[0],
        v=teacher.v(hidden),
        arm=arm,
        radius=radius,
        learning_rate=learning_rate,
        kappa=kappa,
        delta=delta,
        beta=_target_loss(arm, gamma, epsilon, kappa),
    )
    invariants = _train(run, logits, iterations, seed, progress)
    checks, counts = tuple(invariants.checks()), tuple(invariants.counts())
    return Audit(arm, width, iterations, radius, learning_rate, gamma, checks, counts, invariants.certificate())


def _train(
    run: Run, logits: np.ndarray, iterations: int, seed: int, progress: Callable[[int], None] | None
) -> Invariants:
    """Train the student of a run, and check every step."""
    invariants = Invariants(run)
    student = Student(
        width=len(run.init), seed=seed, labels=run.arm, radius=run.radius, learning_rate=run.learning_rate
    )
    labels = {"hard": hard_labels(run.y), "soft": Labels("logits", logits)}

    def callback(step: int, weights: Weights) -> None:
        network = weights[0]
        invariants.check_step(step, network.hidden.numpy(), network.logits(run.x))
        if progress is not None:
            progress(step)

    options = TrainingOptions(precision="float64", callback=callback)
    train_students(run.x, [student], labels, iterations=iterations, options=options)
    return invariants


def check_settings(
    arm: str,
    *,
    n: int,
    width: int,
    radius: float | None,
    learning_rate: float | None,
    kappa: float,
    epsilon: float,
    delta: float,
) -> None:
    """Raise unless the theorem covers an audit with these settings; None stands for the theorem's own choice."""
    check_epsilon(epsilon)
    check_init("symmetric", width)
    check_run(arm, radius, learning_rate, n=n, kappa=kappa, delta=delta)


def _refined(arm: str, gamma: float, epsilon: float, delta: float, n: int, kappa: float) -> tuple[float, float]:
    """Radius and learning rate of the refined theorem."""
    if arm == "soft":  # for any margin
        required = bounds.soft(0.5, epsilon, n, delta, kappa=kappa, family="refined")
    elif gamma > 0:
        required = bounds.hard(min(gamma, 0.5), epsilon, n, delta, family="refined")
    else:
        raise InputError(
            f"the teacher's margin on these points is {gamma:.3g}, not positive, so the theorem gives no radius for "
            "hard labels; set radius and learning_rate, or use a better teacher (search for the margin longer)"
        )
    if required.radius is None or required.learning_rate is None:
        raise InputError(
            f"no radius and learning rate for these settings: {required.note}; set radius and learning_rate"
        )
    return required.radius, required.learning_rate


def _target_loss(arm: str, gamma: float, epsilon: float, kappa: float) -> float | None:
    """β for a mean error of ε."""
    if arm == "hard":
        return float(np.log(2)) * epsilon
    return epsilon * bounds.coin_divergence(kappa * gamma) if gamma > 0 else None
