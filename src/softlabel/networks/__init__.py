"""Two-layer students and their training."""

from softlabel.networks.losses import Labels, hard_labels, soft_labels, teacher_logits
from softlabel.networks.parity import Parity
from softlabel.networks.pgd import TrainingOptions, train_students
from softlabel.networks.students import Student
from softlabel.networks.training_run import TrainedStudent, TrainingRun, Weights
from softlabel.networks.two_layer import TwoLayer
from softlabel.networks.validation import Validation

__all__ = [
    "Labels",
    "Parity",
    "Student",
    "TrainedStudent",
    "TrainingOptions",
    "TrainingRun",
    "TwoLayer",
    "Validation",
    "Weights",
    "hard_labels",
    "soft_labels",
    "teacher_logits",
    "train_students",
]
