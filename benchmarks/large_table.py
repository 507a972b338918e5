"""A verdict on up to a million rows of 50 columns: memory and time as rows grow.

The table has 40 columns of numbers (one in a hundred missing in ten of them), eight of categories and two of dates, so
it needs an encoder; a second table of numbers without gaps needs none. Each verdict runs in a process of its own, with
one test part, ten seeds at most and the teacher that is trained there. Memory is the largest resident set of the
process over the bytes of the table as float32; time is relative to the smallest table.

    python -m benchmarks.large_table [--rows 10000,100000,1000000]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import write

ROWS = (10_000, 100_000, 1_000_000)
COLUMNS = 50


def table(rows: int, mixed: bool, seed: int = 0) -> pl.DataFrame:
    """Inputs and a label that depends on some of them."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((COLUMNS, rows)).astype(np.float32)
    score = numbers[0] + numbers[1] * numbers[2] + 0.5 * np.abs(numbers[3])
    columns: dict[str, Any] = {}
    for k in range(COLUMNS):
        if mixed and k >= 48:
            columns[f"day {k}"] = pl.Series((rng.random(rows) * 3000).astype(np.int32)).cast(pl.Date)
        elif mixed and k >= 40:
            kind = rng.integers(0, 12, rows)
            score = score + 0.2 * (kind == 3)
            columns[f"kind {k}"] = pl.Series(np.array([f"value {v}" for v in range(12)])[kind])
        else:
            column = pl.Series(numbers[k])
            if mixed and k >= 30:
                column = column.scatter(np.flatnonzero(rng.random(rows) < 0.01), None)
            columns[f"number {k}"] = column
    noisy = score + 0.7 * rng.standard_normal(rows)
    return pl.DataFrame(columns | {"label": np.where(noisy > np.median(noisy), "high", "low")})


def verdict(path: Path, run: Path) -> dict[str, Any]:
    """Seconds and the largest resident set, in MB, of one verdict."""
    command = [sys.executable, "-m", "softlabel", "verdict", str(path), "--label", "label", "--seeds", "10", "--out",
               str(run), "--json"]  # fmt: skip
    began = time.perf_counter()
    with (run.parent / "verdict.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError((run.parent / "verdict.log").read_text()[-2000:])
    return {"seconds": time.perf_counter() - began, "megabytes": usage.ru_maxrss / 1024}


def measure(sizes: list[int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    print(f"{'table':>8} {'rows':>10} {'memory MB':>10} {'× float32':>10} {'time, × first':>14}")
    for kind in ("numbers", "mixed"):
        points: list[dict[str, Any]] = []
        for rows in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.parquet"
                table(rows, kind == "mixed").write_parquet(path)
                point = verdict(path, Path(folder) / "run")
            first = points[0]["seconds"] if points else point["seconds"]
            point |= {"rows": rows, "times_float32": point["megabytes"] * 2**20 / (4 * COLUMNS * rows),
                      "times_first": point["seconds"] / first}  # fmt: skip
            points.append(point)
            print(f"{kind:>8} {rows:>10,} {point['megabytes']:>10.0f} {point['times_float32']:>10.1f} "
                  f"{point['times_first']:>14.2f}", flush=True)  # fmt: skip
        result[kind] = [{name: value for name, value in point.items() if name != "seconds"} for point in points]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    sizes = [int(word) for word in parser.parse_args().rows.split(",")]
    write("large_table", measure(sizes))


if __name__ == "__main__":
    main()
