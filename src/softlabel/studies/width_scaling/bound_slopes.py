"""What the bounds say about widths: their exponents, and where soft labels would need fewer neurons."""

import math

from softlabel.studies.width_scaling.settings import WidthScalingSettings
from softlabel.theory import bounds

# as γ → 0; over the margins of a run the exponents with a temperature or an output scale are smaller
PRINTED = {"soft, theorem": 2, "soft, tempered": 4, "hard": 4, "hard, free": 8, "hard, scaled": 4}


def width_of_bound(settings: WidthScalingSettings, arm: str, gamma: float) -> float:
    """The width that the refined bound of an arm asks for; hard labels without projection have none."""
    case = (max(min(gamma, 0.5), 1e-6), settings.epsilon, settings.rows)
    if arm.startswith("soft"):
        kappa = 2 / case[0] if arm == "soft, tempered" else 1.0
        width = bounds.soft(*case, family="refined", kappa=kappa).width
    else:
        alpha = settings.output_scale if arm == "hard, scaled" else 1.0
        width = bounds.hard(*case, family="refined", alpha=alpha).width
    assert width is not None
    return width


def slope_of_bound(settings: WidthScalingSettings, arm: str, gammas: tuple[float, float]) -> float | None:
    """p in m ∝ γ^−p of the refined bound of an arm between two margins; None for hard labels without projection."""
    if arm == "hard, free":
        return None
    low, high = (width_of_bound(settings, arm, gamma) for gamma in gammas)
    return math.log(low / high) / math.log(gammas[1] / gammas[0])


def crossover_words(one: bounds.Crossover) -> str:
    """Where soft labels need fewer neurons by a bound."""
    if one.gamma is not None:
        return f"below γ = {one.gamma:.2g}"
    return "at every margin" if one.note.startswith("soft always") else "at no margin"
