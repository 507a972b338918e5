"""What must be said wherever these widths are shown, and the reference line without projection."""

from softlabel.theory.bounds.scalars import ratio
from softlabel.theory.bounds.setting import check_gamma

CAVEATS = (
    "Sufficient conditions: no matching lower bounds are known, so a smaller width may do as well.",
    "They bound the training error averaged over the iterations, with soft labels from the kernel limit.",
    "As absolute sizes they lie far above what students need: the paper's own table uses 4 to 8 neurons.",
    "The hard bound's γ⁻⁴ belongs to unit output scale: with logit αf, α → ∞, hard labels need only O(ln(n/δ)/γ²).",
    "For a target loss β ≥ ψ(½) = 0.0303, Theorem 2 is already true at initialisation.",
)
WITHOUT_PROJECTION = "γ⁻⁸, an order of magnitude only: the cited bound without projection, constants and logs left out"


def scaling_without_projection(gamma: float) -> float:
    """γ⁻⁸, how hard-label requirements cited for training without projection scale; a reference line, not a bound."""
    square = check_gamma(gamma) * gamma
    return ratio(1.0, square * square * square * square)
