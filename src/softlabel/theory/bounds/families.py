"""Requirements of the four families of bounds, for a target error or a target loss.

| family | description |
| --- | --- |
| paper | as printed, including errors |
| corrected | the paper's proofs with the constants that they give |
| refined | sharper inequalities, closed form; temperature κ and output scale α |
| tight | the refined argument with Bernstein's inequality, solved numerically; κ and α |

`paper` and `corrected` have neither κ nor α: they have no soft requirement at κ ≠ 1 or α ≠ 1, and no hard requirement
at α ≠ 1. The numbers are then None and `note` gives the reason.
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
    """A sufficient condition for a mean error of at most ε with soft labels (Corollary 4).

    Parameters
    ----------
    gamma, epsilon, n, delta, c, kappa, alpha, share, family
        See `softlabel.theory.bounds`.

    Returns
    -------
    Requirement

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.soft(gamma=0.1, epsilon=0.1, n=1000).learning_rate
    1.0
    """
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
    """A sufficient condition for a mean error of at most ε with hard labels (equations 42–44).

    Parameters
    ----------
    gamma, epsilon, n, delta, c, alpha, share, family
        See `softlabel.theory.bounds`.

    Returns
    -------
    Requirement

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.hard(gamma=0.1, epsilon=0.1, n=1000).width
    1393702
    """
    setting = Setting(n=n, delta=delta, c=c, alpha=alpha, share=share)
    return requirement(family, "hard", gamma, epsilon, setting)


def soft_width(
    gamma: float,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
) -> int | float | None:
    """The number of neurons that suffices for a mean error of at most ε with soft labels.

    Parameters
    ----------
    gamma, epsilon, n, delta, c, kappa, alpha, share, family
        See `softlabel.theory.bounds`.

    Returns
    -------
    int, float or None
        An even integer up to 2⁵³ and a float above; None if the family has no such requirement.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.soft_width(gamma=0.1, epsilon=0.1, n=1000)
    66826
    """
    return soft(gamma, epsilon, n, delta, c, kappa, alpha, share, family).width


def hard_width(
    gamma: float,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
) -> int | float | None:
    """The number of neurons that suffices for a mean error of at most ε with hard labels.

    Parameters
    ----------
    gamma, epsilon, n, delta, c, alpha, share, family
        See `softlabel.theory.bounds`.

    Returns
    -------
    int, float or None
        An even integer up to 2⁵³ and a float above; None if the family has no such requirement.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.hard_width(gamma=0.1, epsilon=0.1, n=1000)
    1393702
    """
    return hard(gamma, epsilon, n, delta, c, alpha, share, family).width


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
    """A sufficient condition for a mean loss R^KL of at most β with soft labels (Theorem 2).

    For β ≥ ψ(κ/2) (.0303 at κ = 1) the loss is below β at initialization already, since |z| ≤ ½.

    Parameters
    ----------
    beta, n, delta, c, kappa, alpha, share, family
        See `softlabel.theory.bounds`.

    Returns
    -------
    Requirement

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.soft_for_loss(beta=0.01, n=1000).iterations
    200
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
    """A sufficient condition for a mean loss R^h of at most β with hard labels (Proposition 5).

    Parameters
    ----------
    gamma, beta, n, delta, c, alpha, share, family
        See `softlabel.theory.bounds`.

    Returns
    -------
    Requirement

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.hard_for_loss(gamma=0.1, beta=0.1, n=1000, family="corrected").learning_rate
    1.0
    """
    setting = Setting(n=n, delta=delta, c=c, alpha=alpha, share=share)
    reason = silence(family, "hard", setting)
    needs = None if reason else module(family).hard_for_loss(check_gamma(gamma), check_beta(beta), setting)
    return _rounded(family, needs, setting, reason)


def requirement(family: Family, arm: Arm, gamma: float, epsilon: float, setting: Setting) -> Requirement:
    """The requirement of a family for one arm, "soft" or "hard", rounded to values to train with."""
    gamma, epsilon = check_gamma(gamma), check_epsilon(epsilon)
    reason = silence(family, arm, setting)
    needs = None if reason else real_needs(family, arm, gamma, epsilon, setting)
    return _rounded(family, needs, setting, reason)


def real_needs(family: Family, arm: Arm, gamma: float, epsilon: float, setting: Setting) -> Needs:
    """The requirement before rounding; the family must have one, and γ and ε must be checked."""
    chosen = module(family)
    return chosen.soft(gamma, epsilon, setting) if arm == "soft" else chosen.hard(gamma, epsilon, setting)


def silence(family: Family, arm: Arm, setting: Setting) -> str:
    """Why a family has no requirement for an arm in this setting; empty if it has one."""
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
