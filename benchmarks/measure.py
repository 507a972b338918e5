"""Measurements: rivals take turns within one run, and ratios of their best times are printed.

Machines differ and are noisy, so that absolute times are not meaningful; rivals that alternate suffer the same noise.
"""

import ctypes
import gc
import json
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


def alternate(rivals: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Best time of each rival in seconds over `rounds` rounds, in each of which every rival runs once."""
    return {name: min(seconds) for name, seconds in rounds_of(rivals, rounds).items()}


@dataclass(frozen=True)
class Ratio:
    """A ratio of two times, measured anew in every round: its median, its smallest and its largest value."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} … {self.high:.2f})"

    def to_dict(self) -> dict[str, float]:
        """As JSON values."""
        return asdict(self)


def ratio(numerator: list[float], denominator: list[float]) -> Ratio:
    """The ratio of the times of two rivals, round by round."""
    each = [above / below for above, below in zip(numerator, denominator, strict=True)]
    return Ratio(statistics.median(each), min(each), max(each))


def rounds_of(rivals: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, list[float]]:
    """Seconds of each rival in every round, in each of which every rival runs once."""
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, run in rivals.items():
            gc.collect()
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    return seconds


class MemoryWatch:
    """A context in which the anonymous memory of this process is sampled, in MB (RssAnon; without mapped files)."""

    def __init__(self, interval: float = 0.005) -> None:
        self.interval = interval
        self.before = self.largest = float("nan")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "MemoryWatch":
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        self.before = self.largest = anonymous_megabytes()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(self.interval):
            self.largest = max(self.largest, anonymous_megabytes())


def anonymous_megabytes() -> float:
    """Anonymous memory of this process now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no RssAnon in /proc/self/status: this benchmark needs Linux")


def write(name: str, result: dict[str, object]) -> None:
    """Write the results of a benchmark to a JSON file."""
    directory = Path("benchmarks/results")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
