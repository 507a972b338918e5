"""Limitations of the bounds, and the reference line without projection."""

from softlabel.theory.bounds.scalars import ratio
from softlabel.theory.bounds.setting import check_gamma

CAVEATS = (
    "Sufficient conditions: no matching lower bounds are known, so a smaller width may do as well.",
    "They bound the training error averaged over the iterations, with soft labels from the kernel limit.",
    "As absolute sizes they lie far above what students need: the paper's own table uses 4 to 8 neurons.",
    "The hard bound's γ⁻⁴ belongs to unit output scale: with logit αf, α → ∞, hard labels need only O(ln(n/δ)/γ²).",
    "For a target loss β ≥ ψ(½) = 0.0303, Theorem 2 is already true at initialization.",
)
WITHOUT_PROJECTION = "γ⁻⁸, an order of magnitude only: the cited bound without projection, constants and logs left out"


def scaling_without_projection(gamma: float) -> float:
    """γ⁻⁸, the order of the hard-label widths cited for training without projection; a reference line, not a bound.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> f"{bounds.scaling_without_projection(0.1):.3g}"
    '1e+08'
    """
    square = check_gamma(gamma) * gamma
    return ratio(1.0, square * square * square * square)
