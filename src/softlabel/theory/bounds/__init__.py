"""Widths that suffice with soft and with hard labels: Mandal's theorems as printed, corrected and sharpened.

soft_width, hard_width               neurons for a mean training error ε
soft, hard                           neurons, learning rate, iterations, radius and probability
soft_for_loss, hard_for_loss         the same for a mean loss β (Theorem 2, Proposition 5)
soft_without_n, soft_for_classes     a bound that does not depend on n; a bound for several classes
crossover                            the margin below which soft labels need fewer neurons
guaranteed_error, needed_margin      the bounds solved for ε and for γ
overview                             all of these for one case
width_curves                         the widths of all families along a range of margins
CAVEATS                              the limitations of these numbers

Every function takes the following quantities by these names.

=========  ====  =======================================================================================
name       sign  meaning and range
=========  ====  =======================================================================================
gamma      γ     separation margin of the kernel-limit teacher, 0 < γ ≤ ½ (see `softlabel.margin`)
epsilon    ε     classification error on the training data, averaged over the iterations, 0 < ε < 1
beta       β     loss averaged over the iterations, 0 < β < 1
n          n     number of training examples
delta      δ     the guarantee fails with probability at most 2δ (3δ in family "paper"), 0 < δ < ⅓
c          c     smallest norm of an input, 0 < c ≤ 1
kappa      κ     inverse temperature of the soft labels, which are μ(κz) with the logistic function μ
alpha      α     output scale: the logit of the network is αf
share      θ     share of the target loss that the comparison network may use, 0 < θ < 1
family     –     "paper" (as printed), "corrected", "refined" or "tight" (default, the smallest widths)
=========  ====  =======================================================================================

With equal error and confidence, soft labels need fewer neurons here:

>>> import softlabel as sl
>>> case = {"gamma": 0.1, "epsilon": 0.1, "n": 1000, "delta": 0.05}
>>> sl.bounds.soft_width(**case) < sl.bounds.hard_width(**case)
True
"""

from softlabel.theory.bounds.caveats import CAVEATS, WITHOUT_PROJECTION, scaling_without_projection
from softlabel.theory.bounds.classes import class_divergence, soft_for_classes
from softlabel.theory.bounds.crossover import Crossover, crossover
from softlabel.theory.bounds.curves import width_curves
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
from softlabel.theory.bounds.overview import Overview, overview
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
    "Overview",
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
    "width_curves",
]
