"""Table 1 with ordinary training as a study."""

from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.study import Facts, Study
from softlabel.studies.ordinary.result import OrdinaryResult
from softlabel.studies.ordinary.settings import PRESETS, OrdinarySettings
from softlabel.studies.ordinary.training import student_bundles, teacher_bundles, train, train_teachers


class OrdinaryStudy(Study[OrdinarySettings, OrdinaryResult]):
    """Table 1 with ordinary training: would the printed numbers be unusual, and are dead neurons the reason for gaps?

    Students are plain PyTorch networks: default initialization, biases, both layers trained, two softmax outputs, Adam,
    batches of 128, a fixed number of epochs, nothing tuned. Fixed before the run: learning rate 0.01, standardized
    pixels and temperature 2 on both sides are the primary comparison, with 100 fresh seeds per arm, width and data set,
    each with its own teacher and its own order of batches.

    Primary endpoint: how many of the paper's twelve numbers lie within the central 95% of single runs. Second endpoint:
    the paired gap (soft − hard) at every width and data set, of all seeds and of those with which all neurons of both
    students are alive (active on at least one training image), with intervals over seeds and test images, adjusted for
    six comparisons. Dead neurons explain a gap if it excludes 0 for all seeds and lies within ±0.5 points where all
    neurons live. Described without a test: the best of 3, 5 and 10 runs, the best epoch on test images, other
    temperatures, learning rates, initializations and pixels in [0, 1]. The factor T² of a temperature on both sides
    changes next to nothing here, so there is no arm without it: Adam divides the gradient by its size.

    Parameters
    ----------
    settings : OrdinarySettings
        The settings, for example ``OrdinaryStudy.presets["quick"]``.

    Examples
    --------
    >>> from softlabel.studies.ordinary import OrdinaryStudy
    >>> [stage.name for stage in OrdinaryStudy(OrdinaryStudy.presets["quick"]).stages]
    ['teach', 'train']
    """

    name = "ordinary"
    settings_type = OrdinarySettings
    presets = PRESETS

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The teachers of all seeds, then their students."""
        return (Stage("teach", teacher_bundles, train_teachers), Stage("train", student_bundles, train))

    def judge(self, results: StageResults, facts: Facts) -> OrdinaryResult:
        """Printed numbers among single runs, and gaps with and without dead neurons."""
        return OrdinaryResult(self.settings, results)
