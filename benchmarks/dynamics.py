"""Kernel-regime prediction at full size: 10,000 images of 3,072 numbers, a student of 20 units; time and memory.

The peer is one simulated run of 1,000 steps, which the prediction replaces (one step is timed and multiplied).

    python -m benchmarks.dynamics
"""

import time

import numpy as np

from benchmarks.measure import MemoryWatch, write
from softlabel.data import load
from softlabel.networks.privileged import (
    PrivilegedStudent,
    draw_privileged_init,
    kernel_problem,
    train_privileged,
    unit_outputs,
)
from softlabel.theory.dynamics import kernel_dynamics

UNITS, STEPS, LEARNING_RATE = 20, 1000, 2e-4


def main() -> None:
    examples = load("cifar10", classes="airplane,automobile", scale="unit").full_train
    x, y = examples.scaled, examples.signs.astype(np.float64)
    hidden, output = draw_privileged_init(UNITS, x.shape[1], 1e-2, 0)
    other, _ = draw_privileged_init(UNITS, x.shape[1], 1e-2, 1)
    student = PrivilegedStudent(hidden, output, 0.01, unit_outputs(other, x), "relu")
    with MemoryWatch() as memory:
        began = time.perf_counter()
        dynamics = kernel_dynamics(kernel_problem(student, x, y))
        curve = [float(np.mean((dynamics.descent(step, LEARNING_RATE) - y) ** 2)) for step in range(0, STEPS + 1, 50)]
        predicted = time.perf_counter() - began
    train_privileged(x, y, [student], iterations=1, learning_rate=LEARNING_RATE)
    began = time.perf_counter()
    train_privileged(x, y, [student], iterations=20, learning_rate=LEARNING_RATE)
    simulated = (time.perf_counter() - began) / 20 * STEPS
    used = memory.largest - memory.before
    print(f"{len(x):,} images × {x.shape[1]:,}, {UNITS} units, λ = 0.01, {len(dynamics.poles)} Lanczos vectors")
    print(f"  prediction of all {STEPS:,} steps   {predicted:6.1f} s   (asked: < 60)")
    print(f"  memory beyond the inputs       {used:6.0f} MB  (asked: < 2000)")
    print(f"  {STEPS:,} simulated steps over it  {simulated / predicted:6.1f}×")
    print(f"  mean (y − f)² from {curve[0]:.3f} to {curve[-1]:.3f}")
    write("dynamics", {"seconds": predicted, "megabytes": used, "simulation_over_prediction": simulated / predicted})


if __name__ == "__main__":
    main()
