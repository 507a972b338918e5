"""Limits of a margin computation: work, time, or both.

Work is counted in floating-point operations, so a computation that is limited by work alone gives the same result on
every repetition (for the same data, settings, seed and number of threads), however busy the machine is. A computation
limited by time depends on the machine and its load.

The limits are divided among stages; a `SearchStage` tells when its share is used up.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from softlabel.errors import require

# Fixed cost of a call, and of a pair of directions in it, so that counts follow the time.
SECONDS, WORK = (1, 1e9), (1e6, 1e24)  # ranges of the two limits
CALL, ROW = 2e6, 2e3
GRACE_SECONDS, GRACE_WORK = 5.0, 1e10  # least grace of `for_a_while`


@dataclass
class Limits:
    """Limits on the floating-point operations (`work`) and on the seconds of one computation, and their use."""

    work: float = math.inf
    seconds: float = math.inf
    spent: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    @classmethod
    def from_arguments(cls, work_limit: float | None, time_limit: float | None) -> "Limits":
        """The limits that a caller sets; None is no limit."""
        for name, limit, (least, most) in (("time_limit", time_limit, SECONDS), ("work_limit", work_limit, WORK)):
            in_range = limit is None or least <= limit <= most
            require(in_range, f"`{name}` must lie between {least:g} and {most:g}, got {limit}")
        return cls(*(math.inf if limit is None else limit for limit in (work_limit, time_limit)))

    @property
    def elapsed(self) -> float:
        """Seconds since the computation began."""
        return time.perf_counter() - self.began

    @property
    def kind(self) -> str:
        """The limits that were set: "work", "time" or "work and time"."""
        return " and ".join(
            name for name, limit in (("work", self.work), ("time", self.seconds)) if math.isfinite(limit)
        )

    def spend(self, operations: float) -> None:
        """Count floating-point operations."""
        self.spent += operations + CALL

    def until(self, share: float) -> "SearchStage":
        """The stage that ends when this share of a limit is used."""
        return SearchStage(self, share * self.work, share * self.seconds)

    def for_a_while(self, share: float, times: float = 0.5) -> "SearchStage":
        """The stage that may use so many times what was used until now, within this share of the limits."""
        work = min((1 + times) * self.spent + GRACE_WORK, share * self.work)
        if math.isinf(self.seconds):
            return SearchStage(self, work, math.inf)
        return SearchStage(self, work, min((1 + times) * self.elapsed + GRACE_SECONDS, share * self.seconds))

    def affordable(self, share: float, operations: float, measure: Callable[[], float]) -> float:
        """How often work of `operations` operations fits into this share of the limits.

        `measure` returns the seconds that the work takes; it is only called if time is limited.
        """
        times = share * self.work / operations
        if math.isfinite(self.seconds):
            times = min(times, share * self.seconds / measure())
        return times


@dataclass(frozen=True)
class SearchStage:
    """A part of a computation; calling it returns whether its share of the limits is used up."""

    limits: Limits
    work: float = math.inf
    seconds: float = math.inf

    def __call__(self) -> bool:
        if self.limits.spent > self.work:
            return True
        return math.isfinite(self.seconds) and self.limits.elapsed > self.seconds

    def spend(self, operations: float) -> None:
        """Count floating-point operations."""
        self.limits.spend(operations)

    def left(self, seconds_per_operation: float) -> float:
        """Operations that are left at this speed."""
        work = self.work - self.limits.spent
        if math.isfinite(self.seconds):
            work = min(work, (self.seconds - self.limits.elapsed) / max(seconds_per_operation, 1e-15))
        return max(work, 0.0)


UNLIMITED = SearchStage(Limits())  # never ends
