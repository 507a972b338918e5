"""Mandal, Table 1: very small students on hard and on soft labels, MNIST digits above 4."""

from softlabel.lab import Stage, Study
from softlabel.studies.table1.cells import choice_bundles, final_bundles, teacher_bundles
from softlabel.studies.table1.judging import Judgement
from softlabel.studies.table1.page import document, page, summary
from softlabel.studies.table1.settings import PRESETS
from softlabel.studies.table1.settings import Table1 as Settings
from softlabel.studies.table1.work import teach, train

__all__ = ["PRESETS", "Judgement", "Settings", "document", "page", "study", "summary"]


def study(settings: Settings) -> Study:
    """The study with these settings."""
    return Study(
        "table1",
        settings,
        (
            Stage("teach", teacher_bundles, teach),
            Stage("choose", choice_bundles, train),
            Stage("test", final_bundles, train),
        ),
    )
