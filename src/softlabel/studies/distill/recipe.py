"""How the students of `distill` are trained, and what is refused before anything is trained."""

from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from softlabel.errors import require
from softlabel.networks.deep import CachedLogits, DeepTraining, FeatureMatch, Objective, network_logits
from softlabel.networks.deep.features import Tap, feature_loss
from softlabel.studies.distill.parts import ImageParts
from softlabel.studies.distill.teacher import ReadyTeacher

TEMPERATURE = 4.0


@dataclass(frozen=True)
class DistillRecipe:
    """How the students are trained.

    objective   of the soft arm
    smoothing   of the arm "smooth", which exists if this is positive
    match       layers whose features are matched in the soft arm
    online      whether the teacher is evaluated on every batch instead of once
    """

    training: DeepTraining
    objective: Objective
    smoothing: float = 0.0
    match: FeatureMatch | None = None
    online: bool = False

    def __post_init__(self) -> None:
        require(0 <= self.smoothing < 1, f"smoothing must lie in [0, 1), got {self.smoothing}")
        require(
            self.match is None or self.objective.feature_weight > 0,
            "feature_weight must be above 0 where features are matched",
        )

    @classmethod
    def from_arguments(
        cls,
        training: DeepTraining | None,
        objective: Objective | None,
        smoothing: float,
        match: FeatureMatch | str | None,
        online: bool,
        seed: int,
    ) -> "DistillRecipe":
        """The recipe that the arguments of `distill` mean."""
        if isinstance(match, str):
            layers = match.split(":")
            require(len(layers) == 2, f"match must be 'STUDENT_LAYER:TEACHER_LAYER', got '{match}'")
            match = FeatureMatch(layers[0], layers[1], seed)
        default = Objective(1.0, TEMPERATURE, feature_weight=0.0 if match is None else 1.0)
        return cls(training or DeepTraining(seed=seed), objective or default, smoothing, match, online)

    @property
    def arms(self) -> dict[str, Objective]:
        """The objective of every arm."""
        smooth = {"smooth": Objective(smoothing=self.smoothing)} if self.smoothing > 0 else {}
        return {"hard": Objective(), **smooth, "soft": self.objective}

    def settings(self) -> dict[str, Any]:
        """The recipe as flat values, for the settings of a run."""
        return {
            **asdict(self.training), "training_seed": self.training.seed,
            **asdict(self.objective), "objective_smoothing": self.objective.smoothing,
            "smoothing": self.smoothing, "online": self.online,
            "match": None if self.match is None else f"{self.match.student_layer}:{self.match.teacher_layer}",
        }  # fmt: skip

    def check(self, parts: ImageParts, teacher: ReadyTeacher, student: nn.Module) -> None:
        """Refuse a teacher that cannot label what the student sees, and layers that cannot be matched."""
        require(
            not (
                self.objective.needs_logits
                and isinstance(teacher.logits, CachedLogits)
                and (self.training.augment or self.online)
            ),
            "a teacher passed as logits can neither run online nor label augmented images; pass the teacher itself",
        )
        if self.match is None:
            return
        network, device = teacher.network, self.training.device
        require(network is not None, "features can be matched with a torch network as teacher only")
        assert network is not None
        few = parts.train.pixels[:2]
        taps = [Tap(student, self.match.student_layer), Tap(network, self.match.teacher_layer)]
        try:
            network_logits(student.to(device), few, device)
            network_logits(network.to(device), few, device)
            feature_loss(taps[0].take(), taps[1].take(), self.match.seed)
        finally:
            for tap in taps:
                tap.close()
