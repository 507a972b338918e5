"""Options of `softlabel distill`, in groups."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from softlabel.cli.options import TEACHER, TRAINING, TeacherOutput, option

if TYPE_CHECKING:
    from softlabel.networks.deep import DeepTraining, Objective
    from softlabel.studies.distill import DistillOptions

STUDENT, LABELS = "Student", "Labels"  # help panels


@dataclass(frozen=True)
class NetworkChoice:
    """The networks of student and teacher, and how an ONNX teacher is used."""

    width_multiplier: Annotated[float, option("Factor of the student's channels and units.", STUDENT)] = 1.0
    teacher_width_multiplier: Annotated[float, option("Factor of those of a teacher trained here.", TEACHER)] = 1.0
    teacher_output: TeacherOutput = None
    teacher_scale: Annotated[float, option("Factor for pixels in [0, 1] of an ONNX teacher, e.g. 255.", TEACHER)] = 1.0

    def options(self) -> "DistillOptions":
        """As the library takes them."""
        from softlabel.studies.distill import DistillOptions

        return DistillOptions(**vars(self))


@dataclass(frozen=True)
class ObjectiveChoice:
    """The labels that the soft arm learns from."""

    soft_share: Annotated[float, option("Weight of the soft labels, 0 to 1; hard labels have the rest.", LABELS)] = 1.0
    temperature: Annotated[float, option("Temperature of the soft labels.", LABELS)] = 4.0
    temperature_on: Annotated[str, option("both (sides, with the factor T²) or labels.", LABELS)] = "both"
    feature_weight: Annotated[float, option("Weight λ of matched features.", LABELS)] = 1.0

    def objective(self, matched: bool) -> "Objective":
        """As the library takes it."""
        from softlabel.networks.deep import Objective

        weight = self.feature_weight if matched else 0.0
        return Objective(self.soft_share, self.temperature, self.temperature_on, feature_weight=weight)  # type: ignore[arg-type]


@dataclass(frozen=True)
class DeepTrainingChoice:
    """How student and teacher are trained."""

    epochs: Annotated[int, option("Maximum number of epochs.", TRAINING, min=1)] = 100
    patience: Annotated[int, option("Epochs without improvement after which training stops.", TRAINING, min=1)] = 20
    batch_size: Annotated[int, option("Batch size.", TRAINING, min=1)] = 128
    learning_rate: Annotated[float, option("Learning rate of Adam.", TRAINING)] = 1e-3
    weight_decay: Annotated[float, option("Weight decay (L2 penalty).", TRAINING)] = 5e-4
    augment: Annotated[bool, option("Shift and flip training images.", TRAINING, "--augment")] = False
    views: Annotated[
        int | None, option("Augmented views of each image; the teacher labels each once.", TRAINING, min=1)
    ] = None
    precision: Annotated[str, option("Products in auto, float32 or bfloat16.", TRAINING)] = "auto"
    device: Annotated[str, option("cpu or cuda.", TRAINING)] = "cpu"

    def training(self, seed: int) -> "DeepTraining":
        """As the library takes it."""
        from softlabel.networks.deep import DeepTraining

        return DeepTraining(**vars(self), seed=seed)
