"""Table 1 as a study."""

from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.study import Facts, Study
from softlabel.studies.table1.cells import choice_bundles, confirmation_bundles, final_bundles, teacher_bundles
from softlabel.studies.table1.result import Table1Result
from softlabel.studies.table1.settings import PRESETS, Table1Settings
from softlabel.studies.table1.training import train, train_teachers


class Table1Study(Study[Table1Settings, Table1Result]):
    """Table 1 of Mandal, Lin and Srikant: do very small students learn more from soft labels than from hard ones?

    Primary endpoint: for every data set and width, the paired gap of test accuracies (soft − hard) with the settings
    that each arm chose on validation data, with a 95% interval over seeds and test images, adjusted for six
    comparisons. Secondary: the same with one radius for both arms, and its mean over data sets and widths.

    Version 2 of the standard preset was fixed before it ran: in version 1 two tuning seeds had chosen a learning rate
    with which one soft run in ten collapses. Now the four best settings of every choice are tried with twelve more
    tuning seeds, the best mean counts, collapsed runs included, and the test has twenty fresh seeds.

    Parameters
    ----------
    settings : Table1Settings
        The settings, for example ``Table1Study.presets["quick"]``.

    Examples
    --------
    >>> from softlabel.studies.table1 import Table1Study
    >>> study = Table1Study(Table1Study.presets["quick"])
    >>> [stage.name for stage in study.stages]
    ['teach', 'choose', 'confirm', 'test']
    """

    name = "table1"
    settings_type = Table1Settings
    presets = PRESETS

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Training of the teachers, choice and confirmation of the settings on validation data, test on new seeds."""
        return (
            Stage("teach", teacher_bundles, train_teachers),
            Stage("choose", choice_bundles, train),
            Stage("confirm", confirmation_bundles, train),
            Stage("test", final_bundles, train),
        )

    def judge(self, results: StageResults, facts: Facts) -> Table1Result:
        """All tables of the study, from the results of its cells."""
        return Table1Result(self.settings, results)
