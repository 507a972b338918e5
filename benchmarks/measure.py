"""How benchmarks measure: rivals take turns within one run, and ratios of their best times are printed.

Machines differ and are noisy, so no absolute time means anything by itself; rivals that
alternate suffer the same noise.
"""

import ctypes
import gc
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path


def alternate(rivals: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Best seconds of each rival over `rounds` rounds in which all take their turn."""
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(rounds):
        for name, run in rivals.items():
            gc.collect()
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def anonymous_megabytes() -> float:
    """Anonymous memory of this process now (RssAnon; files mapped into memory do not count)."""
    return _status("RssAnon")


def peak_megabytes() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return float("nan")


def release_memory() -> None:
    """Give freed memory back, so that a peak measured next is its own."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def write(name: str, result: dict[str, object]) -> None:
    """Keep a benchmark's figures as JSON beside its figures."""
    folder = Path("benchmarks/results")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
