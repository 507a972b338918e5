"""Everything the bounds say about one case, as one document (the JSON of `softlabel bounds`)."""

import math
from dataclasses import asdict
from typing import Any

from softlabel.theory.bounds.caveats import CAVEATS, WITHOUT_PROJECTION, scaling_without_projection
from softlabel.theory.bounds.crossover import crossover_in
from softlabel.theory.bounds.families import ARMS, FAMILIES, requirement
from softlabel.theory.bounds.inverse import guaranteed_error, needed_margin
from softlabel.theory.bounds.n_free import soft_without_n
from softlabel.theory.bounds.needs import Requirement
from softlabel.theory.bounds.setting import Setting, check_epsilon, check_gamma, check_width


def overview(
    gamma: float,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    width: int | None = None,
) -> dict[str, Any]:
    """Requirements in every family, crossovers, the bound without n, the reference line and the caveats.

    With a `width`, also what it guarantees: per family and arm the least ε at this γ and the least γ for this ε. A
    number beyond floating point is None, and a note beside it says so.
    """
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha)
    circumstances = {"n": n, "delta": delta, "c": c, "kappa": kappa, "alpha": alpha}
    check_gamma(gamma)
    check_epsilon(epsilon)
    if width is not None:
        check_width(width)
    families = {}
    for family in FAMILIES:
        crossing = crossover_in(family, epsilon, setting)
        arms = {arm: _plain(requirement(family, arm, gamma, epsilon, setting)) for arm in ARMS}
        families[family] = {**arms, "crossover_gamma": crossing.gamma, "crossover_note": crossing.note}
    document = {
        "inputs": {"gamma": gamma, "epsilon": epsilon, **circumstances, "width": width},
        "families": families,
        "n_free": {"soft": _plain(soft_without_n(gamma, epsilon, delta, kappa, alpha))},
        "without_projection": {"hard": _finite(scaling_without_projection(gamma)), "note": WITHOUT_PROJECTION},
        "says": list(CAVEATS),
    }
    if width is not None:
        document["guarantees"] = {
            family: {
                arm: {
                    "epsilon": guaranteed_error(width, gamma, family=family, arm=arm, **circumstances),
                    "gamma": needed_margin(width, epsilon, family=family, arm=arm, **circumstances),
                }
                for arm in ARMS
            }
            for family in FAMILIES
        }
    return document


def _plain(needed: Requirement) -> dict[str, Any]:
    return {name: _finite(value) if name != "note" else value for name, value in asdict(needed).items()}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
