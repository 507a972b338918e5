"""How many neurons soft and hard labels need: Mandal's theorems as printed, corrected and sharpened.

soft_width(gamma, epsilon, n)        neurons for a mean training error ε with soft labels; `hard_width` likewise
soft, hard                           the same with step, iterations, radius and probability
soft_for_loss, hard_for_loss         for a mean loss β (Theorem 2, Proposition 5)
soft_without_n, soft_for_classes     independent of n; more than two classes
crossover                            the margin below which soft labels need fewer neurons
guaranteed_error, needed_margin      the bounds read backwards
overview                             all of this for one case, as one document
CAVEATS                              what must be said wherever the numbers are shown
"""

from softlabel.theory.bounds.caveats import CAVEATS, WITHOUT_PROJECTION, scaling_without_projection
from softlabel.theory.bounds.classes import class_divergence, soft_for_classes
from softlabel.theory.bounds.crossover import Crossover, crossover
from softlabel.theory.bounds.families import (
    ARMS,
    FAMILIES,
    Arm,
    Family,
    hard,
    hard_for_loss,
    hard_width,
    soft,
    soft_for_loss,
    soft_width,
)
from softlabel.theory.bounds.inverse import guaranteed_error, needed_margin
from softlabel.theory.bounds.lemmas import (
    band_probability,
    error_from_loss,
    error_from_soft_labels,
    feature_deviation,
    flip_deviation,
    mean_loss,
    paper_flip_deviation,
    paper_mean_loss,
    printed_error_from_loss,
)
from softlabel.theory.bounds.n_free import soft_without_n
from softlabel.theory.bounds.needs import Requirement
from softlabel.theory.bounds.overview import overview
from softlabel.theory.bounds.scalars import MEAN_ABSOLUTE, RHO, coin_divergence, divergence
from softlabel.theory.bounds.setting import Setting

__all__ = [
    "ARMS",
    "CAVEATS",
    "FAMILIES",
    "MEAN_ABSOLUTE",
    "RHO",
    "WITHOUT_PROJECTION",
    "Arm",
    "Crossover",
    "Family",
    "Requirement",
    "Setting",
    "band_probability",
    "class_divergence",
    "coin_divergence",
    "crossover",
    "divergence",
    "error_from_loss",
    "error_from_soft_labels",
    "feature_deviation",
    "flip_deviation",
    "guaranteed_error",
    "hard",
    "hard_for_loss",
    "hard_width",
    "mean_loss",
    "needed_margin",
    "overview",
    "paper_flip_deviation",
    "paper_mean_loss",
    "printed_error_from_loss",
    "scaling_without_projection",
    "soft",
    "soft_for_classes",
    "soft_for_loss",
    "soft_width",
    "soft_without_n",
]
