"""The assumptions of the theorems, checked for a problem, and the consequences where they fail."""

from dataclasses import dataclass

import torch

from softlabel.theory.dynamics.limits import ranks
from softlabel.theory.dynamics.prediction import extreme_poles
from softlabel.theory.dynamics.problem import LARGEST_DENSE, KernelProblem


@dataclass(frozen=True)
class Assumption:
    """One assumption: whether it holds (None if the problem is too large to check), and the consequence."""

    name: str
    holds: bool | None
    meaning: str


def check_assumptions(problem: KernelProblem, smooth: bool, learning_rate: float | None = None) -> list[Assumption]:
    """Check rank, distinct eigenvalues, smoothness, closeness of the privileged knowledge, and the learning rate."""
    assumptions = [_rank(problem), _distinct(problem), _smooth(smooth), _close(problem)]
    if learning_rate is not None:
        assumptions.append(_learning_rate(problem, learning_rate))
    return assumptions


def _rank(problem: KernelProblem) -> Assumption:
    least = min(ranks(problem))
    if least == problem.n:
        return Assumption("every H_k has full rank", True, "the printed limit (5) holds")
    why = "more examples than inputs" if problem.n > problem.x.shape[1] else "examples where a unit is silent"
    meaning = f"an H_k has rank {least} of {problem.n} ({why}): the printed limit (5) is wrong, f_lim holds"
    return Assumption("every H_k has full rank", False, meaning)


def _distinct(problem: KernelProblem) -> Assumption:
    name = "nonzero eigenvalues of all H_k differ (Assumption 1)"
    if problem.units * problem.n > LARGEST_DENSE:
        return Assumption(name, None, "the problem is too large to check; f(t) does not depend on it")
    inner = problem.x @ problem.x.t()
    values = torch.cat([torch.linalg.eigvalsh(inner * torch.outer(s, s)) for s in problem.slopes]).sort().values
    values = values[values > 1e-10 * values.max()]
    close = bool((values.diff() <= 1e-10 * values.max()).any()) if len(values) > 1 else False
    meaning = "Theorem 3's expansion in single poles" if not close else "equal eigenvalues: use f(t), not the expansion"
    return Assumption(name, not close, meaning)


def _smooth(smooth: bool) -> Assumption:
    meaning = (
        "the kernel drifts by O(1/√m)" if smooth else "σ' jumps: the kernel may move at once, f(t) is a first guess"
    )
    return Assumption("σ and σ' are Lipschitz (Assumption 3)", smooth, meaning)


def _close(problem: KernelProblem) -> Assumption:
    away = float((problem.privileged - problem.features).norm(dim=1).max())
    bound = float(problem.features.norm(dim=1).max()) / problem.units**0.5
    meaning = f"largest ‖φ_k − f_k(0)‖ is {away:.3g}, ‖f_k(0)‖/√m at most {bound:.3g}"
    return Assumption(
        "privileged knowledge is near the initialization (Assumption 4)", away <= max(bound, 1e-12), meaning
    )


def _learning_rate(problem: KernelProblem, learning_rate: float) -> Assumption:
    largest = float(extreme_poles(problem, 1)[0])
    holds = learning_rate * largest < 2
    meaning = f"2/λ_max = {2 / largest:.3g}" + ("" if holds else ": gradient descent diverges")
    return Assumption("learning rate below 2/λ_max", holds, meaning)
