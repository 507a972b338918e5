"""Mandal, Figure 1: hard against soft labels for deep students on noisy images."""

from softlabel.lab import Stage, Study
from softlabel.studies.noise.judging import Judgement
from softlabel.studies.noise.page import document, page, summary
from softlabel.studies.noise.settings import PRESETS
from softlabel.studies.noise.settings import Noise as Settings
from softlabel.studies.noise.work import cell_bundles, work

__all__ = ["PRESETS", "Judgement", "Settings", "document", "page", "study", "summary"]


def study(settings: Settings) -> Study:
    """The study with these settings."""
    return Study("figure1", settings, (Stage("train", cell_bundles, work),))
