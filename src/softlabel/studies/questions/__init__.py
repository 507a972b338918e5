"""The questions that the papers leave open, one study each."""

from softlabel.studies.questions.initialization import InitializationStudy
from softlabel.studies.questions.multiclass import MulticlassStudy
from softlabel.studies.questions.robustness import RobustnessStudy
from softlabel.studies.questions.sample_size import SampleSizeStudy
from softlabel.studies.questions.seed_variance import SeedVarianceStudy
from softlabel.studies.questions.teacher_size import TeacherSizeStudy

QUESTIONS = (
    InitializationStudy,
    MulticlassStudy,
    RobustnessStudy,
    SampleSizeStudy,
    SeedVarianceStudy,
    TeacherSizeStudy,
)

__all__ = [
    "QUESTIONS",
    "InitializationStudy",
    "MulticlassStudy",
    "RobustnessStudy",
    "SampleSizeStudy",
    "SeedVarianceStudy",
    "TeacherSizeStudy",
]
