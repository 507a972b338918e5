"""Small students on hard and on soft labels: digits above 4, widths 4, 6 and 8, with and without projection.

A two-layer teacher with 512 neurons is trained first; its logits at temperature 8 are the soft labels. All students are
then trained together in one pass over the images. The settings were fixed in advance, not chosen on the test images.

    python examples/small_students.py [--quick]
"""

import sys
import time

import numpy as np

import softlabel as sl

PAPER = {4: (88.84, 95.62), 6: (95.33, 96.00), 8: (95.77, 96.58)}


def load_digits() -> sl.Problem:
    try:
        return sl.load("mnist", task="label>4", scale="max")
    except sl.UnavailableError as reason:
        print(f"MNIST is unavailable ({reason}); using scikit-learn's digits instead.")
        return sl.load("digits", task="label>4", scale="max")


def main(quick: bool) -> None:
    began = time.perf_counter()
    problem = load_digits()
    x, y = problem.train.scaled, problem.train.signs
    x_test, y_test = problem.test.scaled, problem.test.signs
    print(problem)

    teacher = sl.Student(width=512, radius=None, learning_rate=0.01)
    teacher_run = sl.train_students(x, [teacher], y, epochs=2 if quick else 8, batch_size=128, optimizer="adam")
    network = teacher_run[0].network

    def accuracy(trained: sl.TwoLayer) -> float:
        return 100 * float(np.mean(trained.logits(x_test) * y_test > 0))

    print(f"teacher, 512 neurons: {accuracy(network):.2f}% of the test images ({teacher_run.seconds:.0f} s)")

    grid = [
        sl.Student(width=width, seed=seed, labels=arm, temperature=8.0, radius=radius, learning_rate=10.0)
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
    print(f"\nThe paper states no radius, temperature or learning rate. Done in {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
