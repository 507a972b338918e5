"""Time of a full-batch step as a function of the number of examples, inputs and students, compared with a plain loop.

Each point is a ratio of two times from the same run: the engine against a loop over the same networks. Times are shown
relative to the engine's smallest problem of its row. Draws benchmarks/results/growth.png.

    python -m benchmarks.growth
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import NullLocator

from benchmarks.engine import Engine, PlainLoop
from benchmarks.measure import alternate, write
from softlabel.networks import Student, hard_labels

BASE = {"examples": 20000, "inputs": 400, "students": 30}
SWEEPS = {
    "examples": (2500, 5000, 10000, 20000, 40000, 80000),
    "inputs": (50, 100, 200, 400, 800, 1600),
    "students": (1, 3, 10, 30, 100, 300),
}


def times(examples: int, inputs: int, students: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    x = rng.random((examples, inputs), dtype=np.float32) / np.float32(np.sqrt(inputs))
    y = np.where(rng.random(examples) > 0.5, 1, -1)
    grid = [Student(width=6, seed=seed, radius=50.0) for seed in range(students)]
    labels = {"hard": hard_labels(y)}
    targets = {"hard": torch.from_numpy(labels["hard"].targets()[0]).float()}
    engine = Engine(x, labels, grid, "float32")
    loop = PlainLoop(x, targets, grid)
    return alternate({"engine": engine.step, "loop": loop.step}, rounds=4)


def measure() -> dict[str, Any]:
    result: dict[str, Any] = {"base": BASE}
    for name, values in SWEEPS.items():
        points = [times(**(BASE | {name: value})) for value in values]
        unit = points[0]["engine"]
        result[name] = [
            {
                name: value,
                "engine": point["engine"] / unit,
                "loop": point["loop"] / unit,
                "ratio": point["loop"] / point["engine"],
            }
            for value, point in zip(values, points, strict=True)
        ]
        print(f"{name:>9}  engine (relative)  loop over engine")
        for row in result[name]:
            print(f"{row[name]:9,}  {row['engine']:17.1f}  {row['ratio']:15.1f}×")
    return result


def draw(result: dict[str, Any], path: Path) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for axis, name in zip(axes, SWEEPS, strict=True):
        values = [row[name] for row in result[name]]
        axis.loglog(values, [row["loop"] for row in result[name]], "o--", color="tab:gray", label="plain PyTorch loop")
        axis.loglog(values, [row["engine"] for row in result[name]], "o-", color="tab:blue", label="fused engine")
        for row in result[name]:
            position = {"xytext": (0, -14), "textcoords": "offset points", "ha": "center"}
            axis.annotate(f"{row['ratio']:.1f}×", (row[name], row["engine"]), fontsize=8, color="tab:blue", **position)
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlabel(name)
        axis.margins(y=0.15)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("time of a step\n(engine's first point = 1)")
    axes[0].legend(frameon=False)
    base = ", ".join(f"{value:,} {name}" for name, value in result["base"].items())
    figure.suptitle(f"One full-batch step, all else at {base} of width 6; in blue, the loop's time over the engine's")
    figure.savefig(path, dpi=130)


def main() -> None:
    result = measure()
    write("growth", result)
    draw(result, Path("benchmarks/results/growth.png"))


if __name__ == "__main__":
    main()
