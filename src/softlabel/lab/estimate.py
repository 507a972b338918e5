"""How long a run still takes: one estimate over all its stages, from costs of bundles and the time of finished ones."""

import time
from collections.abc import Mapping
from typing import Any

GUESS = 0.05  # of the run's cost: how much finished work counts as much as the guess that was made before any


class RunClock:
    """The time left of a run.

    expected    rough costs of the stages, before their bundles are known
    pace        seconds per unit of cost, guessed before anything is measured; None if nothing is known
    before      seconds that the run took before its stages, for its teacher
    workers     bundles that are worked on at the same time
    """

    def __init__(
        self, expected: Mapping[str, float], pace: float | None = None, before: float = 0.0, workers: int = 1
    ) -> None:
        self.later, self.begun = dict(expected), set[str]()
        self.pace, self.before, self.workers = pace, before, workers
        self.guess = GUESS * sum(expected.values())
        self.began = time.perf_counter()
        self.left: dict[str, float] = {}  # bundles of the stage that are not finished, and their costs
        self.spent = 0.0

    def begin(self, stage: str, costs: Mapping[str, float], later: Mapping[str, float]) -> None:
        """A stage begins: the costs of its unfinished bundles are known, those of later stages better than before."""
        self.begun.add(stage)
        self.left = dict(costs)
        self.later = {name: cost for name, cost in later.items() if name not in self.begun}

    def finished(self, bundle: str) -> None:
        """A bundle is finished, or has failed."""
        self.spent += self.left.pop(bundle)

    @property
    def seconds(self) -> float:
        """Time of the run so far, its teacher included."""
        return self.before + time.perf_counter() - self.began

    @property
    def open(self) -> bool:
        """Whether later stages may turn out to be shorter than expected, or unnecessary."""
        return sum(self.later.values()) > 0

    @property
    def seconds_left(self) -> float | None:
        """The estimate: about this long, or at most where it is `open`; None before anything is known."""
        cost = sum(self.left.values()) + sum(self.later.values())
        if cost == 0:
            return 0.0
        if self.spent == 0:
            return None if self.pace is None else self.pace * cost
        largest = sorted(self.left.values(), reverse=True)
        running = sum(largest[: self.workers - 1]) / 2  # bundles of other workers are half finished on average
        elapsed, done = time.perf_counter() - self.began, self.spent + running
        if self.pace is not None:
            elapsed, done = elapsed + self.guess * self.pace, done + self.guess
        return elapsed / done * max(cost - running, 0.0)

    def fields(self) -> dict[str, Any]:
        """Fields of a `Progress` that concern the run."""
        left, seconds = self.seconds_left, self.seconds
        share = 0.0 if left is None else seconds / max(seconds + left, 1e-9)
        return {"seconds_left": left, "run_seconds": seconds, "share": min(share, 1.0), "at_most": self.open}
