"""The time that one computation may take, shared out among its stages."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Seconds since it was made, of a budget."""

    budget: float
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def until(self, share: float) -> Callable[[], bool]:
        """Whether more than this share of the budget is spent."""
        return lambda: self.seconds > share * self.budget

    def for_a_while(self, share: float) -> Callable[[], bool]:
        """Whether half as long again as until now has passed, or this share of the budget."""
        limit = min(1.5 * self.seconds + 5, share * self.budget)
        return lambda: self.seconds > limit
