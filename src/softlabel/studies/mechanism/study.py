"""The mechanism as a study."""

from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.study import Facts, Study
from softlabel.studies.mechanism.result import MechanismResult
from softlabel.studies.mechanism.settings import PRESETS, MechanismSettings
from softlabel.studies.mechanism.training import bundles, train


class MechanismStudy(Study[MechanismSettings, MechanismResult]):
    """Question: does training with soft labels stay nearer to its initialization, as the papers explain it?

    Students of the theory (symmetric initialization, fixed output signs, full-batch gradient descent) on MNIST
    (label > 4), the same learning rate and number of steps for all labels. Primary endpoint: the displacement of the
    weights with soft labels divided by that with hard labels, at the end, without a ball, geometric mean over seeds
    with a 95% interval of Student (displacement has no test rows). The papers' explanation is supported if the interval
    lies below 1. Secondary, adjusted for all ratios of the table: flipped activations, drift of the gradient
    kernel, displacement at the same training error, teachers that are over- or underconfident or whose labels are
    partly wrong, easier data, and a ball that binds. Described: the margin γ_m of the features, and the projection of
    the change of the weights on the direction U of a kernel-limit teacher.

    Parameters
    ----------
    settings : MechanismSettings
        The settings, for example ``MechanismStudy.presets["quick"]``.

    Examples
    --------
    >>> from softlabel.studies.mechanism import MechanismStudy
    >>> MechanismStudy(MechanismStudy.presets["quick"]).settings.radius
    25.0
    """

    name = "mechanism"
    settings_type = MechanismSettings
    presets = PRESETS

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One stage: all students of a seed on both data sets."""
        return (Stage("train", bundles, train),)

    def judge(self, results: StageResults, facts: Facts) -> MechanismResult:
        """Ratios to hard labels, from the measurements of all seeds."""
        return MechanismResult(self.settings, results)
