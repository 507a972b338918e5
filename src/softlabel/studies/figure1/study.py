"""Figure 1 as a study."""

from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.study import Facts, Study
from softlabel.studies.figure1.result import Figure1Result
from softlabel.studies.figure1.settings import PRESETS, Figure1Settings
from softlabel.studies.figure1.training import cell_bundles, teacher_bundles, train, train_teachers


class Figure1Study(Study[Figure1Settings, Figure1Result]):
    """Figure 1 of Mandal, Lin and Srikant: do harder data gain more from soft labels?

    Primary endpoint, fixed before any run, for each family of networks: the slope of the paired gap (soft − hard, in
    points of test accuracy) on the noise level, by least squares, with a 95% interval over seeds and test images that
    is adjusted for the number of families. The claim holds if the interval lies above 0. The number of seeds of the
    standard preset decides a slope of 1 point per 0.1 of noise with a power of 80%, by the spread of five seeds of an
    earlier run (which is itself uncertain, and without the part of the test images). Secondary: the share of students
    that never leave chance, the gap among the others, and what students at chance contribute to the slope (this part
    was added while the run was under way, before its results were read). Teachers are trained in the way with the best
    validation accuracy on tuning seeds; test images are used once.

    Parameters
    ----------
    settings : Figure1Settings
        The settings, for example ``Figure1Study.presets["quick"]``.

    Examples
    --------
    >>> from softlabel.studies.figure1 import Figure1Study
    >>> Figure1Study(Figure1Study.presets["quick"]).settings.levels
    (0.0, 0.3)
    """

    name = "figure1"
    settings_type = Figure1Settings
    presets = PRESETS

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Choice of a training for the teachers, then every family of networks at every noise level, for every seed."""
        return (Stage("choose", teacher_bundles, train_teachers), Stage("train", cell_bundles, train))

    def judge(self, results: StageResults, facts: Facts) -> Figure1Result:
        """Accuracies, gaps and slopes of all families, from the results of the cells."""
        return Figure1Result(self.settings, results)
