"""Figure 1 as a study."""

from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.study import Facts, Study
from softlabel.studies.figure1.result import Figure1Result
from softlabel.studies.figure1.settings import PRESETS, Figure1Settings
from softlabel.studies.figure1.training import cell_bundles, train


class Figure1Study(Study[Figure1Settings, Figure1Result]):
    """Figure 1 of Mandal, Lin and Srikant: do harder data gain more from soft labels?

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
        """One stage: every family of networks at every noise level, for every seed."""
        return (Stage("train", cell_bundles, train),)

    def judge(self, results: StageResults, facts: Facts) -> Figure1Result:
        """Accuracies, gaps and slopes of all families, from the results of the cells."""
        return Figure1Result(self.settings, results)
