"""Whether the outputs of a student can be read as probabilities.

A student imitates its labels. Labels at temperature T are softmax(z/T) of a teacher with logits z, and smoothed labels
are (1 − s)·hard + s/K. The outputs of a student that was trained with T ≠ 1 or s > 0 are therefore closer to uniform
(T > 1, s > 0) or farther from uniform (T < 1) than the teacher's probabilities: the predicted class and the order of
the classes are meaningful, the numbers are not probabilities. If the temperature was applied to both sides of the loss,
the student's outputs at T = 1 imitate the teacher's own probabilities, and the label temperature is 1.

Students of `verdict` and `plan` are calibrated afterwards: their logits are divided by one temperature that minimizes
the log loss on validation rows. The outputs of a calibrated student are probabilities, whatever its labels were.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from softlabel.errors import require

PROBABILITIES = "probabilities"
RECORDED = ("label_temperature", "label_smoothing", "calibration_temperature")  # names in the metadata of a file


@dataclass(frozen=True)
class Softening:
    """Temperature and smoothing of the labels that a student imitates.

    temperature     label temperature; 1 for hard labels and for a temperature on both sides of the loss; None if a file
                    does not record it
    smoothing       label smoothing
    calibration     temperature by which the student's logits were divided after training, fitted on validation rows;
                    None if the student was not calibrated
    """

    temperature: float | None = 1.0
    smoothing: float = 0.0
    calibration: float | None = None

    def __post_init__(self) -> None:
        value = self.temperature
        require(
            value is None or (isinstance(value, int | float) and math.isfinite(value) and value > 0),
            f"label temperature must be a positive number, got {value!r}",
        )
        require(
            isinstance(self.smoothing, int | float) and 0 <= self.smoothing < 1,
            f"label smoothing must lie in [0, 1), got {self.smoothing!r}",
        )
        value = self.calibration
        require(
            value is None or (isinstance(value, int | float) and math.isfinite(value) and value > 0),
            f"calibration temperature must be a positive number, got {value!r}",
        )

    @property
    def word(self) -> str:
        """ "softened" or "sharpened"; empty if the outputs are probabilities or nothing is recorded."""
        if self.calibration is not None:
            return ""
        if self.smoothing > 0 or (self.temperature or 1.0) > 1:
            return "softened"
        return "sharpened" if (self.temperature or 1.0) < 1 else ""

    @property
    def meaning(self) -> str:
        """Description of the outputs, for example "probabilities" or "softened (label temperature 8)"."""
        if self.calibration is not None:
            return PROBABILITIES
        parts = []
        if self.temperature not in (None, 1.0):
            parts.append(f"label temperature {self.temperature:g}")
        if self.smoothing > 0:
            parts.append(f"label smoothing {self.smoothing:g}")
        if parts:
            return f"{self.word} ({', '.join(parts)})"
        return PROBABILITIES if self.temperature is not None else "probabilities or softened (not recorded in the file)"

    @property
    def output_name(self) -> str:
        """Name of a model output: "probabilities", "softened_probabilities" or "sharpened_probabilities"."""
        return f"{self.word}_{PROBABILITIES}" if self.word else PROBABILITIES

    @property
    def column_prefix(self) -> str:
        """Prefix of a class name in tables of outputs: "p_", "softened_" or "sharpened_"."""
        return f"{self.word}_" if self.word else "p_"

    @property
    def note(self) -> str | None:
        """A warning (without a full stop) if the outputs are not probabilities, or may not be; otherwise None."""
        if self.word:
            side = "closer to uniform" if self.word == "softened" else "closer to 0 and 1"
            return (
                f"outputs are {self.meaning}: the student was trained to imitate {self.word} labels, so these numbers "
                f"are {side} than probabilities; use the predicted class and the order of the classes, not the numbers "
                "as probabilities"
            )
        if self.temperature is None and self.calibration is None:
            return (
                "the file does not record the temperature of the labels that the student was trained on: its outputs "
                "may be softened, do not rely on them as probabilities"
            )
        return None

    def remark(self, who: str, calibration_error: float) -> str:
        """A sentence for a report about such students; empty if their outputs are probabilities."""
        if not self.word:
            return ""
        return (
            f"{who} were trained to imitate {self.word} labels ({self.meaning.partition('(')[2]}, so their outputs are "
            f"not probabilities: the stated numbers differ from the observed frequencies by {calibration_error:.3f} on "
            "average (calibration error). Their predicted classes are not affected; recalibrate the numbers before "
            "using them as probabilities."
        )

    def to_dict(self) -> dict[str, float | None]:
        """Metadata of a file."""
        about = {"label_temperature": self.temperature, "label_smoothing": self.smoothing}
        return about if self.calibration is None else about | {"calibration_temperature": self.calibration}

    @classmethod
    def from_dict(cls, about: Mapping[str, Any]) -> "Softening":
        """Read the metadata of a file; files of earlier versions do not record it."""
        return cls(
            about.get("label_temperature"), about.get("label_smoothing", 0.0), about.get("calibration_temperature")
        )


UNCHANGED = Softening()
