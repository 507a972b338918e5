"""Mini-batch steps of Adam for many students: how much of a step is the two large products.

36 students with widths 2 … 512, hard and soft labels, two seeds, on MNIST with batches of 256 rows; inputs are random
images of the same shape if MNIST is unavailable. Rivals within one run, five rounds each:

    step        a step of the engine, all students with one order of rows
    own orders  the same, with an own order for each seed
    products    its two products alone, of the same shapes and in the same precision
    large       a product of two matrices of 4096 × 4096

Besides, the time that the process spends in the system and its page faults while it trains.

    python -m benchmarks.mini_batch
"""

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.engine import inputs_and_labels
from benchmarks.measure import ratio, rounds_of, write
from softlabel.networks import Student, TrainingOptions, hard_labels, teacher_logits
from softlabel.networks.batches import Batches
from softlabel.networks.pgd import StackTraining
from softlabel.numerics import has_bfloat16

WIDTHS, SEEDS, BATCH, STEPS = (2, 4, 8, 16, 32, 64, 128, 256, 512), 2, 256, 40
LARGE = 4096


def students() -> list[Student]:
    return [
        Student(width=width, seed=seed, labels=arm, temperature=2.0 if arm == "soft" else 1.0, radius=None,
                learning_rate=0.02, init="he", train_output=True, biases=True)
        for seed in range(SEEDS)
        for width in WIDTHS
        for arm in ("hard", "soft")
    ]  # fmt: skip


class Steps:
    """A training whose steps go on from one call to the next."""

    def __init__(self, x: np.ndarray, labels: dict[str, Any], precision: str, own_orders: bool) -> None:
        grid = students()
        orders = [student.seed if own_orders else 0 for student in grid]
        self.run = StackTraining(x, grid, labels, None, "adam", None, TrainingOptions(precision=precision), orders)
        self.batches = Batches(len(x), BATCH, range(SEEDS if own_orders else 1))
        self.done = 0

    def __call__(self) -> None:
        for step in range(self.done, self.done + STEPS):
            self.run.advance(step, self.batches.rows(step))
        self.done += STEPS


def products(training: Steps) -> Callable[[], None]:
    """The two products of as many steps, without anything else."""
    stack, kind = training.run.stack, training.run.products.input_dtype
    weights = stack.hidden.value.flatten(0, 1).to(kind)
    block = torch.randn(BATCH, weights.shape[1]).to(kind)
    z, gradient = torch.empty(len(weights), BATCH, dtype=kind), torch.empty_like(weights)

    def run() -> None:
        for _ in range(STEPS):
            torch.mm(weights, block.t(), out=z)
            torch.mm(z, block, out=gradient)

    return run


def large_product(kind: torch.dtype) -> Callable[[], object]:
    a, b = torch.randn(LARGE, LARGE).to(kind), torch.randn(LARGE, LARGE).to(kind)
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def kernel_share(run: Callable[[], object]) -> dict[str, float]:
    """Share of the processor time that is spent in the system, and page faults for each step."""
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
    run()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "system_share": (after.ru_stime - before.ru_stime) / (time.process_time() - began),
        "page_faults_per_step": (after.ru_minflt - before.ru_minflt) / STEPS,
    }


def main() -> None:
    x, y, source = inputs_and_labels()
    digits = np.arange(len(y)) % 10
    noise = np.random.default_rng(1).normal(size=(len(y), 10))
    labels = {"hard": hard_labels(digits), "soft": teacher_logits(6.0 * np.eye(10)[digits] + noise)}
    result: dict[str, Any] = {"inputs": f"{source} {x.shape[0]}×{x.shape[1]}", "students": len(students())}
    threads = torch.get_num_threads()
    for precision in ("bfloat16", "float32") if has_bfloat16() else ("float32",):
        for count in sorted({1, threads}):
            torch.set_num_threads(count)
            result[f"{precision}, {count} threads"] = measured(x, labels, precision)
    torch.set_num_threads(threads)
    write("mini_batch", result)


def measured(x: np.ndarray, labels: dict[str, Any], precision: str) -> dict[str, Any]:
    """The ratios in one precision with the present number of threads."""
    step, own = Steps(x, labels, precision, False), Steps(x, labels, precision, True)
    alone = products(step)
    rivals = {"step": step, "own orders": own, "products": alone,
              "large": large_product(step.run.products.input_dtype)}  # fmt: skip
    for rival in rivals.values():
        rival()
    seconds = rounds_of(rivals)
    weights = step.run.stack.hidden.value.numel()
    large = [one / (2 * LARGE**3) * 4 * weights * BATCH * STEPS for one in seconds["large"]]
    ratios = {
        "share_of_products": ratio(seconds["products"], seconds["step"]),
        "share_of_large_product_rate": ratio(large, seconds["step"]),
        "own_orders_over_one": ratio(seconds["own orders"], seconds["step"]),
    }
    print(
        f"{precision}, {torch.get_num_threads()} threads, {len(students())} students, widths {WIDTHS[0]}–{WIDTHS[-1]}"
    )
    print(f"  products alone over a step          {ratios['share_of_products']}   (target: ≥ 0.75)")
    print(f"  share of a large product's rate     {ratios['share_of_large_product_rate']}")
    print(f"  own order for each seed over one    {ratios['own_orders_over_one']}")
    numbers = kernel_share(step)
    print(f"  system time {numbers['system_share']:.1%}, {numbers['page_faults_per_step']:.1f} page faults per step")
    return {name: one.to_dict() for name, one in ratios.items()} | numbers


if __name__ == "__main__":
    main()
