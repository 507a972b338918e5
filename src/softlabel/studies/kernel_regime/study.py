"""Figures 1 to 6 as a study."""

from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.study import Facts, Study
from softlabel.studies.kernel_regime.result import KernelRegimeResult
from softlabel.studies.kernel_regime.settings import PRESETS, KernelRegimeSettings
from softlabel.studies.kernel_regime.training import seed_bundles, train


class KernelRegimeStudy(Study[KernelRegimeSettings, KernelRegimeResult]):
    """Figures 1 to 6 of Rahbar, Panahi and others: does a student with privileged knowledge learn faster and better?

    Endpoints: for every figure the comparisons that its caption or text claims (final training and test loss, mean
    training loss over the run, mean share of the squared overlap with the top of the kernel's spectrum), as differences
    paired by seed. Intervals of test losses are over seeds and test images, the others over seeds, all adjusted for the
    number of comparisons of the study. A figure holds if all of its comparisons confirm it, holds partly if some
    confirm and some refute it, does not hold if some refute and none confirms it, and is open otherwise.

    Parameters
    ----------
    settings : KernelRegimeSettings
        The settings, for example ``KernelRegimeStudy.presets["quick"]``.

    Examples
    --------
    >>> from softlabel.studies.kernel_regime import KernelRegimeStudy
    >>> KernelRegimeStudy(KernelRegimeStudy.presets["quick"]).settings.iterations
    400
    """

    name = "kernel-regime"
    settings_type = KernelRegimeSettings
    presets = PRESETS

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One stage: all teachers and students of every seed."""
        return (Stage("train", seed_bundles, train),)

    def judge(self, results: StageResults, facts: Facts) -> KernelRegimeResult:
        """The claims of all figures, from the results of the cells."""
        return KernelRegimeResult(self.settings, results)
