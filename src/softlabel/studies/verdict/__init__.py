"""Should you distill? Soft labels against hard ones, with planned looks and an error rate."""

from softlabel.studies.verdict.result import ArmComparison, ArmResult, Verdict
from softlabel.studies.verdict.settings import VerdictSettings
from softlabel.studies.verdict.study import VerdictStudy
from softlabel.studies.verdict.verdict import VerdictOptions, verdict

__all__ = [
    "ArmComparison",
    "ArmResult",
    "Verdict",
    "VerdictOptions",
    "VerdictSettings",
    "VerdictStudy",
    "verdict",
]
