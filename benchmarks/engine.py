"""The fused engine against its rivals: one full-batch step of 60 students on 60,000 × 784 inputs.

Students: widths 4, 6, 8 × 10 seeds × hard/soft. Rivals: a plain PyTorch loop over the 60 networks (autograd),
torch.func.vmap over the students of one width, and the speed of a large sgemm, all in the same run.

    python -m benchmarks.engine
"""

import math

import numpy as np
import torch
from torch.nn import functional

from benchmarks.measure import MemoryWatch, alternate, write
from softlabel.data import load
from softlabel.errors import SoftlabelError
from softlabel.networks import Student, TrainingOptions, hard_labels, teacher_logits
from softlabel.networks.initialization import draw_weights
from softlabel.networks.pgd import StackTraining
from softlabel.numerics import has_bfloat16

WIDTHS, SEEDS = (4, 6, 8), 10


def inputs_and_labels() -> tuple[np.ndarray, np.ndarray, str]:
    """MNIST's training images and labels; random images of the same shape if MNIST is unavailable."""
    try:
        train = load("mnist").full_train
        return train.in_unit_ball, train.y > 4, "mnist"
    except SoftlabelError as reason:
        print(f"MNIST is unavailable ({reason}); using random images without empty columns instead.")
        rng = np.random.default_rng(0)
        return rng.random((60000, 784), dtype=np.float32) / 16, rng.random(60000) > 0.5, "random"


def students() -> list[Student]:
    return [
        Student(width=width, seed=seed, labels=arm, temperature=8.0, radius=50.0, learning_rate=1.0)
        for width in WIDTHS
        for seed in range(SEEDS)
        for arm in ("hard", "teacher")
    ]


class PlainLoop:
    """The obvious loop: each network separately, forward, loss, backward, step, projection."""

    def __init__(self, x: np.ndarray, targets: dict[str, torch.Tensor], grid: list[Student]) -> None:
        self.x, self.targets, self.grid = torch.from_numpy(x), targets, grid
        self.nets = []
        for student in grid:
            drawn = draw_weights("symmetric", width=student.width, inputs=x.shape[1], seed=student.seed)
            w = torch.tensor(drawn.hidden, dtype=torch.float32, requires_grad=True)
            self.nets.append((w, w.detach().clone(), torch.tensor(drawn.output[0], dtype=torch.float32)))

    def step(self) -> None:
        for student, (w, initial, a) in zip(self.grid, self.nets, strict=True):
            f = torch.relu(self.x @ w.t()) @ a / math.sqrt(student.width)
            loss = functional.binary_cross_entropy_with_logits(f, self.targets[student.labels])
            (gradient,) = torch.autograd.grad(loss, w)
            with torch.no_grad():
                w -= student.learning_rate * gradient
                change = w - initial
                limit = (student.radius or math.inf) / math.sqrt(student.width)
                w.copy_(initial + change * (limit / change.norm(dim=1, keepdim=True)).clamp(max=1))


class Vmapped:
    """torch.func: one vmapped gradient for all students of a width."""

    def __init__(self, x: np.ndarray, targets: dict[str, torch.Tensor], grid: list[Student]) -> None:
        self.x = torch.from_numpy(x)
        self.groups = []
        for width in WIDTHS:
            members = [s for s in grid if s.width == width]
            drawn = [draw_weights("symmetric", width=width, inputs=x.shape[1], seed=s.seed) for s in members]
            w = torch.tensor(np.stack([each.hidden for each in drawn]), dtype=torch.float32)
            a = torch.tensor(np.stack([each.output[0] for each in drawn]), dtype=torch.float32)
            self.groups.append((width, w, w.clone(), a, torch.stack([targets[s.labels] for s in members])))

        def loss(w: torch.Tensor, a: torch.Tensor, p: torch.Tensor, scale: float) -> torch.Tensor:
            f = torch.relu(self.x @ w.t()) @ a * scale
            return functional.binary_cross_entropy_with_logits(f, p)

        self.gradient = torch.func.vmap(torch.func.grad(loss), in_dims=(0, 0, 0, None))

    def step(self) -> None:
        for width, w, initial, a, p in self.groups:
            w -= self.gradient(w, a, p, 1 / math.sqrt(width))
            change = w - initial
            limit = 50.0 / math.sqrt(width)
            w.copy_(initial + change * (limit / change.norm(dim=2, keepdim=True)).clamp(max=1))


class Engine:
    """Steps of the engine; the inputs are prepared once."""

    def __init__(self, x: np.ndarray, labels: dict, grid: list[Student], precision: str) -> None:
        options = TrainingOptions(precision=precision)
        self.run = StackTraining(x, grid, labels, None, "gradient", None, options)
        self.steps = 0

    def step(self) -> None:
        self.run.advance(self.steps, None)
        self.steps += 1


def large_product(size: int = 4096) -> tuple[object, float]:
    a, b = torch.randn(size, size), torch.randn(size, size)
    out = torch.empty(size, size)
    return (lambda: torch.mm(a, b, out=out)), 2 * size**3


def main() -> None:
    x, y, source = inputs_and_labels()
    grid = students()
    labels = {
        "hard": hard_labels(y),
        "teacher": teacher_logits(6.0 * (2 * y - 1) + np.random.default_rng(1).normal(size=len(y))),
    }
    targets = {
        "hard": torch.from_numpy(labels["hard"].targets()[0]).float(),
        "teacher": torch.from_numpy(labels["teacher"].targets(8.0)[0]).float(),
    }
    with MemoryWatch() as memory:
        engine = Engine(x, labels, grid, "float32")
        engine.step()
    extra = memory.largest - memory.before
    loop, vmapped = PlainLoop(x, targets, grid), Vmapped(x, targets, grid)
    product, product_flops = large_product()
    rivals = {"engine": engine.step, "loop": loop.step, "vmap": vmapped.step, "sgemm": product}
    if has_bfloat16():
        rivals["bfloat16"] = Engine(x, labels, grid, "bfloat16").step
    best = alternate(rivals)
    neurons = sum(student.width for student in grid)
    nominal = 4 * x.shape[0] * x.shape[1] * neurons
    done = nominal * engine.run.inputs.columns / x.shape[1]
    peak = product_flops / best["sgemm"]
    result: dict[str, object] = {
        "inputs": f"{source} {x.shape[0]}×{x.shape[1]}, {engine.run.inputs.columns} columns used",
        "students": len(grid),
        "neurons": neurons,
        "threads": torch.get_num_threads(),
        "engine_over_loop": best["loop"] / best["engine"],
        "engine_over_vmap": best["vmap"] / best["engine"],
        "share_of_sgemm_rate": done / best["engine"] / peak,
        "share_of_sgemm_rate_counting_all_columns": nominal / best["engine"] / peak,
        "bfloat16_over_loop": best["loop"] / best["bfloat16"] if "bfloat16" in best else None,
        "extra_peak_megabytes": extra,
        "seconds_a_step": best,
    }
    report(result)
    write("engine", result)


def report(result: dict) -> None:
    print(f"one full-batch step, {result['students']} students, {result['neurons']} neurons, {result['inputs']}")
    print(f"  engine over plain loop     {result['engine_over_loop']:6.1f}×   (target: 5)")
    print(f"  engine over torch vmap     {result['engine_over_vmap']:6.1f}×   (target: 3)")
    print(f"  share of sgemm's speed     {result['share_of_sgemm_rate']:6.0%}    (target: 80%)")
    if result["bfloat16_over_loop"] is not None:
        print(f"  bfloat16 over plain loop   {result['bfloat16_over_loop']:6.1f}×   (target: 9)")
    print(f"  peak memory beyond inputs  {result['extra_peak_megabytes']:6.0f} MB (target: 400)")


if __name__ == "__main__":
    main()
