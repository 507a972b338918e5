"""A student trained as the theorems say, with every step checked against them.

The student starts symmetric, learns full-batch with projection in float64, from the kernel-limit teacher's labels
(soft) or from y (hard); `theory.invariants` watches through the engine's hook and never touches the training.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softlabel.errors import InputError
from softlabel.networks import Labels, Student, TwoLayer, Weights, hard_labels, train_students
from softlabel.networks.starts import check_start
from softlabel.teachers import KernelLimitTeacher
from softlabel.theory import bounds
from softlabel.theory.bounds.setting import check_epsilon
from softlabel.theory.invariants import Certificate, Check, Count, Invariants, Run, check_run


@dataclass(frozen=True)
class Audit:
    """What the checks of one run said."""

    arm: str
    width: int
    steps: int
    radius: float
    step_size: float
    gamma: float
    checks: tuple[Check, ...]
    counts: tuple[Count, ...]
    certificate: Certificate

    @property
    def holds(self) -> bool:
        """Whether every deterministic check held, and the certificate too."""
        return all(check.holds for check in self.checks) and self.certificate.holds


def audit(
    inputs: Any,
    y: Any,
    teacher: KernelLimitTeacher,
    *,
    arm: Literal["soft", "hard"] = "soft",
    width: int = 256,
    iterations: int = 300,
    radius: float | None = None,
    step: float | None = None,
    epsilon: float = 0.1,
    delta: float = 0.05,
    pairs: int = 20000,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> Audit:
    """Train one student and check every inequality at every step.

    Radius and step default to those of the `refined` theorem for this teacher's margin: B = κ and η = 1 with soft
    labels, B(γ, ε) and η = (1 − θ)/ρ with hard ones. `pairs` of directions estimate the teacher's logits. Settings that
    the theorem does not cover are refused before anything is computed, e.g. a step with 2 − ρ'η ≤ 0.
    """
    x = np.asarray(inputs, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    check_settings(
        arm, n=len(x), width=width, radius=radius, step=step, kappa=teacher.kappa, epsilon=epsilon, delta=delta
    )
    logits, _ = teacher.logits(x, pairs=pairs, seed=seed)
    z = logits / teacher.kappa
    gamma = float((y * z).min())
    if radius is None or step is None:
        needed = _refined(arm, gamma, epsilon, delta, len(x), teacher.kappa)
        radius = needed.radius if radius is None else radius
        step = needed.step if step is None else step
    student = Student(width=width, seed=seed, labels=arm, radius=radius, step=step)
    labels = {
        "hard": hard_labels(y),
        "soft": Labels("logits", logits),
    }
    start = TwoLayer.at_start("symmetric", width=width, inputs=x.shape[1], seed=seed)
    watcher = Invariants(
        Run(
            x=x,
            y=y,
            z=z,
            start=start.hidden.numpy(),
            signs=start.output.numpy()[0],
            v=teacher.v(start.hidden.numpy()),
            arm=arm,
            radius=radius,
            step=step,
            kappa=teacher.kappa,
            delta=delta,
            beta=_target_loss(arm, gamma, epsilon, teacher.kappa),
        )
    )

    def observe(t: int, weights: Weights) -> None:
        network = weights[0]
        watcher.observe(t, network.hidden.numpy(), network.logits(x))
        if watch is not None:
            watch(t)

    train_students(x, [student], labels, iterations=iterations, precision="float64", observe=observe)
    return Audit(
        arm=arm,
        width=width,
        steps=iterations,
        radius=radius,
        step_size=step,
        gamma=gamma,
        checks=tuple(watcher.checks()),
        counts=tuple(watcher.counts()),
        certificate=watcher.certificate(),
    )


def check_settings(
    arm: str,
    *,
    n: int,
    width: int,
    radius: float | None,
    step: float | None,
    kappa: float,
    epsilon: float,
    delta: float,
) -> None:
    """Raise unless the theorem covers an audit with these settings; None stands for the theorem's own choice."""
    check_epsilon(epsilon)
    check_start("symmetric", width)
    check_run(arm, radius, step, n=n, kappa=kappa, delta=delta)


def _refined(arm: str, gamma: float, epsilon: float, delta: float, n: int, kappa: float) -> "_Needed":
    if arm == "soft":  # whatever the margin
        needed = bounds.soft(0.5, epsilon, n, delta, kappa=kappa, family="refined")
    elif gamma > 0:
        needed = bounds.hard(min(gamma, 0.5), epsilon, n, delta, family="refined")
    else:
        raise InputError(
            f"the teacher's margin on these points is {gamma:.3g}, not positive, so the theorem names no radius for "
            "hard labels; give --radius and --step, or a better teacher (softlabel margin with more time)"
        )
    if needed.radius is None or needed.step is None:
        raise InputError(f"no radius and step for these settings: {needed.note}; give --radius and --step")
    return _Needed(needed.radius, needed.step)


@dataclass(frozen=True)
class _Needed:
    radius: float
    step: float


def _target_loss(arm: str, gamma: float, epsilon: float, kappa: float) -> float | None:
    """β for a mean error of ε."""
    if arm == "hard":
        return float(np.log(2)) * epsilon
    return epsilon * bounds.coin_divergence(kappa * gamma) if gamma > 0 else None
