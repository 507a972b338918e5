"""Rahbar, Figures 1 to 6: students with privileged knowledge, their teachers, kernel embeddings and overlaps."""

from softlabel.lab import Stage, Study
from softlabel.studies.kernel_regime.judging import Judgement
from softlabel.studies.kernel_regime.page import document, page, summary
from softlabel.studies.kernel_regime.settings import PRESETS
from softlabel.studies.kernel_regime.settings import KernelRegime as Settings
from softlabel.studies.kernel_regime.work import seed_bundles, work

__all__ = ["PRESETS", "Judgement", "Settings", "document", "page", "study", "summary"]


def study(settings: Settings) -> Study:
    """The study with these settings."""
    return Study("kernel-regime", settings, (Stage("train", seed_bundles, work),))
