"""Is the student smaller than its teacher? A distilled model that is not smaller compresses nothing."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SizeComparison:
    """Parameters of a student and of its teacher, None where unknown."""

    student: int | None
    teacher: int | None

    @property
    def ratio(self) -> float | None:
        """Parameters of the student over those of the teacher; None where either is unknown."""
        return self.student / self.teacher if self.student and self.teacher else None

    @property
    def smaller(self) -> bool | None:
        """Whether the student has fewer parameters; None where either number is unknown."""
        return None if self.ratio is None else self.ratio < 1

    @property
    def words(self) -> str:
        """The comparison in a few words, e.g. "25 times the teacher's 40: no compression"; empty where unknown."""
        if self.ratio is None:
            return ""
        if self.ratio < 1:
            return f"the teacher's {self.teacher:,} divided by {1 / self.ratio:.3g}"
        times = "as many as" if self.ratio == 1 else f"{self.ratio:.3g} times"
        return f"{times} the teacher's {self.teacher:,}: no compression"

    def warning(self, who: str = "the student") -> str | None:
        """A sentence (without a full stop) where the student is not smaller than its teacher."""
        if self.smaller is not False:
            return None
        times = "as many" if self.ratio == 1 else f"{self.ratio:.3g} times as many"
        return (
            f"{who} is not smaller than the teacher: {self.student:,} parameters, {times} as the teacher's "
            f"{self.teacher:,}; to save size or time, use the teacher itself or a smaller student"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "student_parameters": self.student,
            "teacher_parameters": self.teacher,
            "ratio": self.ratio,
            "smaller": self.smaller,
        }
