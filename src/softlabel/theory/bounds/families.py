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

from collections.abc import Callable
from typing import Any, Literal, get_args

from softlabel.errors import unknown
from softlabel.theory.bounds import corrected, paper, refined, tight
from softlabel.theory.bounds.needs import Needs, Requirement, rounded
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
    beta = check_beta(beta)
    return _required(family, "soft", setting, lambda module: module.soft_for_loss(beta, setting))


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
    gamma, beta = check_gamma(gamma), check_beta(beta)
    return _required(family, "hard", setting, lambda module: module.hard_for_loss(gamma, beta, setting))


def requirement(family: Family, arm: Arm, gamma: float, epsilon: float, setting: Setting) -> Requirement:
    """The requirement of a family for one arm, "soft" or "hard", rounded to values to train with."""
    gamma, epsilon = check_gamma(gamma), check_epsilon(epsilon)
    return _required(family, arm, setting, lambda module: getattr(module, arm)(gamma, epsilon, setting))


def real_needs(family: Family, arm: Arm, gamma: float, epsilon: float, setting: Setting) -> Needs:
    """The requirement before rounding; the family must have one, and γ and ε must be checked."""
    return getattr(_MODULES[family], arm)(gamma, epsilon, setting)


def silence(family: Family, arm: Arm, setting: Setting) -> str:
    """Why a family has no requirement for an arm in this setting; empty if it has one."""
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    if arm not in ARMS:
        raise unknown("arm", arm, ARMS)
    if family in ("refined", "tight") or setting.unit or (arm == "hard" and setting.alpha == 1):
        return ""
    what = "output scale α" if setting.alpha != 1 else "temperature κ"
    return f"the {family} family has no version with {what} ≠ 1; see refined and tight"


def _required(family: Family, arm: Arm, setting: Setting, needs: Callable[[Any], Needs]) -> Requirement:
    """What `needs` computes from the module of a family, rounded; only a note if the family has no requirement."""
    reason = silence(family, arm, setting)
    if reason:
        return Requirement(note=reason)
    module = _MODULES[family]
    return rounded(needs(module), 1 - module.FAILURES * setting.delta)
