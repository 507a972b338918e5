"""Training from a memory-mapped file much larger than the memory it may use.

Writes a table of 8 GB (or another size) to a temporary directory, trains six students on it for two full-batch steps
and some mini-batches, and reports the peak of the anonymous memory (RssAnon).

    python -m benchmarks.mapped [GIGABYTES]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import MemoryWatch, write
from softlabel.networks import Student, train_students

INPUTS = 784


def table(path: Path, gigabytes: float) -> np.memmap:
    rows = int(gigabytes * 1e9 / (4 * INPUTS))
    made = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, INPUTS))
    block = np.random.default_rng(0).random((50000, INPUTS), dtype=np.float32) / 28
    for start in range(0, rows, len(block)):
        stop = min(start + len(block), rows)
        made[start:stop] = block[: stop - start]
    made.flush()
    return np.load(path, mmap_mode="r")


def main() -> None:
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    with tempfile.TemporaryDirectory() as directory:
        x = table(Path(directory) / "inputs.npy", gigabytes)
        y = np.where(np.asarray(x[:, 300]) > 0.5 / 28, 1, -1)
        students = [Student(width=width, seed=seed, radius=50.0) for width in (4, 8) for seed in range(3)]
        with MemoryWatch() as memory:
            full = train_students(x, students, y, iterations=2)
            batches = train_students(x, students, y, iterations=50, batch_size=256)
        result: dict[str, object] = {
            "gigabytes": gigabytes,
            "rows": len(x),
            "largest_anonymous_megabytes": memory.largest,
            "of_which_before_training": memory.before,
            "seconds_of_two_full_steps": full.seconds,
            "seconds_of_fifty_batches": batches.seconds,
        }
        print(
            f"{gigabytes:.1f} GB mapped, {len(x):,} rows: "
            f"largest anonymous memory {memory.largest:.0f} MB (target: 1000)"
        )
        write("mapped", result)


if __name__ == "__main__":
    main()
