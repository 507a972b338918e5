"""The four families side by side: widths, steps, iterations and radii for a target error or a target loss.

| family | what it is |
| --- | --- |
| paper | as printed, right or wrong |
| corrected | the paper's route with the constants its proofs give |
| refined | sharper inequalities, closed form; temperature κ and output scale α |
| tight | the refined argument with Bernstein's inequality, solved numerically; κ and α |

`paper` and `corrected` know neither κ nor α: their soft arm has no requirement at κ ≠ 1 or α ≠ 1, and their hard arm,
which no label temperature touches, none at α ≠ 1. The four fields are then None and `note` says why.
"""

from typing import Literal, get_args

from softlabel.errors import unknown
from softlabel.theory.bounds import corrected, paper, refined, tight
from softlabel.theory.bounds.needs import Needs, Requirement, nothing, rounded
from softlabel.theory.bounds.setting import Setting, check_beta, check_epsilon, check_gamma

Family = Literal["paper", "corrected", "refined", "tight"]
Arm = Literal["soft", "hard"]
FAMILIES: tuple[Family, ...] = get_args(Family)
ARMS: tuple[Arm, ...] = get_args(Arm)

_MODULES = {"paper": paper, "corrected": corrected, "refined": refined, "tight": tight}


def soft(
    gamma: float,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
) -> Requirement:
    """What soft-label training needs for a mean error of at most ε (Corollary 4); names as in `setting`."""
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha, share=share)
    return requirement(family, "soft", gamma, epsilon, setting)


def hard(
    gamma: float,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
) -> Requirement:
    """What hard-label training needs for a mean error of at most ε (equations 42–44); names as in `setting`."""
    setting = Setting(n=n, delta=delta, c=c, alpha=alpha, share=share)
    return requirement(family, "hard", gamma, epsilon, setting)


def soft_width(gamma: float, epsilon: float, n: int, **setting) -> int | float | None:
    """The neurons of `soft`."""
    return soft(gamma, epsilon, n, **setting).width


def hard_width(gamma: float, epsilon: float, n: int, **setting) -> int | float | None:
    """The neurons of `hard`."""
    return hard(gamma, epsilon, n, **setting).width


def soft_for_loss(
    beta: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
) -> Requirement:
    """What soft-label training needs for a mean loss R^KL of at most β (Theorem 2).

    For β ≥ ψ(κ/2) (.0303 at κ = 1) the loss is below β at the start already, since |z| ≤ ½.
    """
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha, share=share)
    reason = silence(family, "soft", setting)
    needs = None if reason else module(family).soft_for_loss(check_beta(beta), setting)
    return _rounded(family, needs, setting, reason)


def hard_for_loss(
    gamma: float,
    beta: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
) -> Requirement:
    """What hard-label training needs for a mean loss R^h of at most β (Proposition 5)."""
    setting = Setting(n=n, delta=delta, c=c, alpha=alpha, share=share)
    reason = silence(family, "hard", setting)
    needs = None if reason else module(family).hard_for_loss(check_gamma(gamma), check_beta(beta), setting)
    return _rounded(family, needs, setting, reason)


def requirement(family: Family, arm: Arm, gamma: float, epsilon: float, setting: Setting) -> Requirement:
    """One family's requirement for one arm, "soft" or "hard", rounded to something to train with."""
    gamma, epsilon = check_gamma(gamma), check_epsilon(epsilon)
    reason = silence(family, arm, setting)
    needs = None if reason else real_needs(family, arm, gamma, epsilon, setting)
    return _rounded(family, needs, setting, reason)


def real_needs(family: Family, arm: Arm, gamma: float, epsilon: float, setting: Setting) -> Needs:
    """The same before rounding, where the family is not silent; γ and ε are taken as checked."""
    chosen = module(family)
    return chosen.soft(gamma, epsilon, setting) if arm == "soft" else chosen.hard(gamma, epsilon, setting)


def silence(family: Family, arm: Arm, setting: Setting) -> str:
    """Why a family says nothing about an arm in this setting; empty where it speaks."""
    module(family)
    if arm not in ARMS:
        raise unknown("arm", arm, ARMS)
    if family in ("refined", "tight") or setting.unit or (arm == "hard" and setting.alpha == 1):
        return ""
    what = "output scale α" if setting.alpha != 1 else "temperature κ"
    return f"the {family} family has no version with {what} ≠ 1; see refined and tight"


def module(family: str):
    """The module of a family."""
    if family not in _MODULES:
        raise unknown("family", family, FAMILIES)
    return _MODULES[family]


def _rounded(family: Family, needs: Needs | None, setting: Setting, reason: str) -> Requirement:
    if needs is None:
        return nothing(reason)
    return rounded(needs, 1 - module(family).FAILURES * setting.delta)
