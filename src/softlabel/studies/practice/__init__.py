"""What `verdict` and `plan` share: a problem with its teacher, and students trained on both."""

from softlabel.studies.practice.consulting import Consulted, consult
from softlabel.studies.practice.facts import check_test_rows, check_width, student_size
from softlabel.studies.practice.held import Held, find_held, holding
from softlabel.studies.practice.questions import QuestionRun, TeacherSource, question_run
from softlabel.studies.practice.recipe import (
    TOGETHER,
    TUNING_SEEDS_FROM,
    Arm,
    Recipe,
    StudentCell,
    best_choice,
    check_training,
    choices,
    recipe_for,
    threads_of,
)
from softlabel.studies.practice.sizes import SizeComparison
from softlabel.studies.practice.students import Measured, measure_students, student_model, train_cells

__all__ = [
    "TOGETHER",
    "TUNING_SEEDS_FROM",
    "Arm",
    "Consulted",
    "Held",
    "Measured",
    "QuestionRun",
    "Recipe",
    "SizeComparison",
    "StudentCell",
    "TeacherSource",
    "best_choice",
    "check_test_rows",
    "check_training",
    "check_width",
    "choices",
    "consult",
    "find_held",
    "holding",
    "measure_students",
    "question_run",
    "recipe_for",
    "student_model",
    "student_size",
    "threads_of",
    "train_cells",
]
