"""The study of widths."""

from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.study import Facts, Study
from softlabel.studies.width_scaling.result import WidthScalingResult
from softlabel.studies.width_scaling.settings import PRESETS, WidthScalingSettings
from softlabel.studies.width_scaling.training import train, width_bundles


class WidthScalingStudy(Study[WidthScalingSettings, WidthScalingResult]):
    """Question: can the exponents of the bounds, γ⁻² for soft and γ⁻⁴ for hard labels, be seen in the widths needed?

    Synthetic data whose margin is dialed by the angle between opposite classes, 2-XOR in more and more dimensions, and
    images that are mixed with the other class, each with a certified interval for γ. Students of the theory, full-batch
    gradient descent: with the kernel-limit teacher's labels and radius 1 (Theorem 2), the same labels with κ = 2/γ and
    radius κ, hard labels with the radius of Proposition 5, hard labels without projection, and hard labels with an
    output scale. The number of iterations is a constant divided by γ². A width suffices if it and all larger widths
    that were tried reach the error ε.

    Primary endpoint: the exponents p in m ∝ γ^−p of soft labels as in Theorem 2 and of hard labels, for a training
    error of 0.1 averaged over the iterations: least-squares slope of ln m on ln γ for every seed, mean over seeds with
    an interval of Student, adjusted for the number of fits and widened for the steps between widths.
    Levels at which more than a fifth of the seeds need no more than the smallest or more than the largest width, or
    have a margin that is certified only to a factor above 1.25, are left out; elsewhere a seed that needs more than the
    largest width counts with twice that width. The range of γ that remains is stated: nothing is claimed outside it.
    Secondary: the same for the test error of the last iteration, for images and XOR, and for the other arms; neurons
    with soft over neurons with hard labels at every margin and three values of ε (is there a crossover?); neurons of
    hard labels without projection and with an output scale over those of hard labels; widths that fail, as empirical
    lower bounds for this data and training.

    Parameters
    ----------
    settings : WidthScalingSettings
        The settings, for example ``WidthScalingStudy.presets["quick"]``.

    Examples
    --------
    >>> from softlabel.studies.width_scaling import WidthScalingStudy
    >>> len(WidthScalingStudy(WidthScalingStudy.presets["quick"]).settings.levels)
    6
    """

    name = "width-scaling"
    settings_type = WidthScalingSettings
    presets = PRESETS

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One stage: every level and seed."""
        return (Stage("train", width_bundles, train),)

    def judge(self, results: StageResults, facts: Facts) -> WidthScalingResult:
        """Widths that suffice, and exponents."""
        return WidthScalingResult(self.settings, results)
