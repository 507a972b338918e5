"""Should you distil? Hard, soft and smoothed labels with equal budgets and paired seeds, until the interval decides."""

from softlabel.studies.verdict.asking import Verdict as VerdictResult
from softlabel.studies.verdict.asking import verdict
from softlabel.studies.verdict.cells import study
from softlabel.studies.verdict.judging import Judgement
from softlabel.studies.verdict.page import document, page, summary
from softlabel.studies.verdict.settings import VerdictSettings as Settings

__all__ = ["Judgement", "Settings", "VerdictResult", "document", "page", "study", "summary", "verdict"]
