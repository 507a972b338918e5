"""Small students on hard and on soft labels: digits above 4, widths 4, 6 and 8, with and without projection.

A two-layer teacher of 512 neurons is trained first; its logits at temperature 8 are the soft labels. All students then
train together in one pass over the images. The settings were fixed beforehand, not chosen on the test images.

    python examples/small_students.py [--quick]
"""

import sys
import time

import numpy as np

import softlabel as sl
from softlabel.data import Task, load_task, split
from softlabel.errors import UnavailableError

PAPER = {4: (88.84, 95.62), 6: (95.33, 96.00), 8: (95.77, 96.58)}


def task() -> Task:
    try:
        return load_task("mnist")
    except UnavailableError as reason:
        print(f"MNIST cannot be had here ({reason}); scikit-learn's digits stand in for it.")
        return load_task("digits", scale="max")


def main(quick: bool) -> None:
    began = time.perf_counter()
    posed = task()
    train, test = (posed.train.inputs, posed.train.y), None
    if posed.test is not None:
        test = (posed.test.inputs, posed.test.y)
    else:
        rows, held = split(len(posed.train), (0.8, 0.2), seed=0)
        train, test = (train[0][rows], train[1][rows]), (train[0][held], train[1][held])
    (x, y), (x_test, y_test) = train, test
    print(posed)

    teacher = sl.Student(width=512, radius=None, step=0.01)
    teacher_run = sl.train_students(x, [teacher], y, epochs=2 if quick else 8, batch_size=128, optimiser="adam")
    network = teacher_run[0].network

    def accuracy(trained: sl.TwoLayer) -> float:
        return 100 * float(np.mean(trained.logits(x_test) * y_test > 0))

    print(f"teacher, 512 neurons: {accuracy(network):.2f}% of the test images ({teacher_run.seconds:.0f} s)")

    grid = [
        sl.Student(width=width, seed=seed, labels=arm, temperature=8.0, radius=radius, step=10.0)
        for radius in (50.0, None)
        for width in (4, 6, 8)
        for arm in ("hard", "teacher")
        for seed in range(2 if quick else 5)
    ]
    labels = {"hard": sl.hard_labels(y), "teacher": sl.teacher_logits(network.logits(x))}
    run = sl.train_students(x, grid, labels, epochs=2 if quick else 12, batch_size=128)
    print(f"{len(grid)} students trained together in {run.seconds:.0f} s; test accuracy, mean ± s.d. over seeds:\n")
    print("radius  width   hard labels    soft labels    gain   paper: hard  soft")
    for radius in (50.0, None):
        for width in (4, 6, 8):
            arms = {
                arm: np.array(
                    [
                        accuracy(student.network)
                        for student in run
                        if (student.settings.radius, student.settings.width, student.settings.labels)
                        == (radius, width, arm)
                    ]
                )
                for arm in ("hard", "teacher")
            }
            hard, soft = arms["hard"], arms["teacher"]
            bound = "none" if radius is None else f"{radius:.0f}"
            print(
                f"{bound:>6}  {width:5}   {hard.mean():5.2f} ± {hard.std(ddof=1):4.2f}"
                f"   {soft.mean():5.2f} ± {soft.std(ddof=1):4.2f}   {(soft - hard).mean():+5.2f}"
                f"         {PAPER[width][0]:5.2f} {PAPER[width][1]:5.2f}"
            )
    print(f"\nThe paper states no radius, temperature or step. Done in {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
