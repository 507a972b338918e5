"""A deep student from images and a teacher: hard, smoothed and soft labels from one initialization, compared."""

from softlabel.studies.distill.arms import train_arms, train_teacher
from softlabel.studies.distill.distill import DistillOptions, distill
from softlabel.studies.distill.parts import ImageParts, image_parts
from softlabel.studies.distill.recipe import DistillRecipe
from softlabel.studies.distill.result import Distillation, DistilledArm, ExportedStudent, TeacherScores
from softlabel.studies.distill.teacher import ReadyTeacher

__all__ = [
    "DistillOptions",
    "DistillRecipe",
    "Distillation",
    "DistilledArm",
    "ExportedStudent",
    "ImageParts",
    "ReadyTeacher",
    "TeacherScores",
    "distill",
    "image_parts",
    "train_arms",
    "train_teacher",
]
