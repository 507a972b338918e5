"""The widths of all families along a range of margins, for figures."""

from collections.abc import Mapping, Sequence

from softlabel.theory.bounds.families import ARMS, FAMILIES, Arm, Family, requirement
from softlabel.theory.bounds.setting import Setting

WidthCurves = Mapping[Family, Mapping[Arm, tuple[int | float | None, ...]]]


def width_curves(
    gammas: Sequence[float],
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
) -> WidthCurves:
    """The number of neurons that suffices at every margin, in every family, with soft and with hard labels.

    Parameters
    ----------
    gammas : sequence of float
        Margins, each like `gamma` in `softlabel.theory.bounds`.
    epsilon, n, delta, c, kappa, alpha
        See `softlabel.theory.bounds`.

    Returns
    -------
    mapping of str to mapping of str to tuple
        For every family and arm, one width per margin, e.g. ``curves["tight"]["soft"][0]``. Each equals the width that
        `overview` has at this margin; it is None where the family has no such requirement.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.width_curves([0.05, 0.1], epsilon=0.1, n=1000)["tight"]["soft"]
    (256754, 66826)
    """
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha)
    return {
        family: {
            arm: tuple(requirement(family, arm, gamma, epsilon, setting).width for gamma in gammas) for arm in ARMS
        }
        for family in FAMILIES
    }
