"""How long a margin computation may go on: limited by work, by time, or by both.

Work is counted in floating-point operations, so a computation that is limited by work alone gives the same numbers on
every repetition (for the same data, settings, seed and number of threads), on a busy machine as on an idle one. A
computation limited by time depends on the machine and on what else runs there.

The limit is shared out among stages; a `Stage` says when its part of the limit is used up.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from softlabel.errors import require

# What a call, and a pair of directions in it, cost whatever their sizes: the counts then follow the time.
CALL, ROW = 2e6, 2e3
GRACE_SECONDS, GRACE_WORK = 5.0, 1e10  # a stage that may go on for a while gets at least that


@dataclass
class Limits:
    """Limits on the floating-point operations (`work`) and on the seconds of one computation, and what is used."""

    work: float = math.inf
    seconds: float = math.inf
    spent: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        require(self.work >= 1e6, f"work_limit must be at least 1e6 floating-point operations, got {self.work}")
        require(self.seconds >= 1, f"budget must be at least 1 second, got {self.seconds}")

    @property
    def elapsed(self) -> float:
        """Seconds since the computation began."""
        return time.perf_counter() - self.began

    @property
    def kind(self) -> str:
        """What limits the computation: "work", "time" or "work and time"."""
        return " and ".join(
            name for name, limit in (("work", self.work), ("time", self.seconds)) if math.isfinite(limit)
        )

    def spend(self, operations: float) -> None:
        """Count so many floating-point operations."""
        self.spent += operations + CALL

    def until(self, share: float) -> "Stage":
        """The stage that ends when this share of a limit is used."""
        return Stage(self, share * self.work, share * self.seconds)

    def for_a_while(self, share: float) -> "Stage":
        """The stage that may use half as much again as was used until now, within this share of the limits."""
        work = min(1.5 * self.spent + GRACE_WORK, share * self.work)
        if math.isinf(self.seconds):
            return Stage(self, work, math.inf)
        return Stage(self, work, min(1.5 * self.elapsed + GRACE_SECONDS, share * self.seconds))

    def affordable(self, share: float, operations: float, measure: Callable[[], float]) -> float:
        """How often work of so many operations fits into this share of the limits.

        `measure` returns the seconds that the work takes; it is only called where time is limited.
        """
        times = share * self.work / operations
        if math.isfinite(self.seconds):
            times = min(times, share * self.seconds / measure())
        return times


@dataclass(frozen=True)
class Stage:
    """A part of a computation: called, it says whether its share of the limits is used up."""

    limits: Limits
    work: float = math.inf
    seconds: float = math.inf

    def __call__(self) -> bool:
        if self.limits.spent > self.work:
            return True
        return math.isfinite(self.seconds) and self.limits.elapsed > self.seconds

    def spend(self, operations: float) -> None:
        """Count so many floating-point operations."""
        self.limits.spend(operations)


def unlimited() -> Stage:
    """A stage that never ends."""
    return Limits().until(1.0)
