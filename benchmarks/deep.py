"""Deep training against plain eager PyTorch, and the cost of soft labels per epoch.

    python -m benchmarks.deep

The peer is a textbook implementation: VGG with ReLU before pooling, float32, contiguous images, torch.optim.Adam, and
the same clipping of gradients. Both have the same initial weights and batches; each worker of a study has one thread.
Steps are timed in turn, and the smallest time of each counts. `benchmarks.deep_accuracy` compares the accuracy.
"""

import copy
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.measure import write
from softlabel.data import load
from softlabel.networks.deep import (
    DeepTraining,
    Images,
    Objective,
    OnlineTeacher,
    build_network,
    cached_logits,
    module_logits,
    train_network,
)
from softlabel.networks.deep.training import Trainer, TrainingSetup
from softlabel.networks.deep.vgg import VGG

KEPT = 4000
STEPS = 12


def main() -> None:
    train, _ = cats_and_dogs()
    result: dict[str, object] = {"epochs": epochs(train)}
    ratios = {}
    for name in ("vgg2+3", "vgg8+3"):
        for multiplier in (1.0, 0.25):
            for threads in (1, torch.get_num_threads()):
                key = f"{name}, width multiplier {multiplier:g}, threads {threads}"
                ratios[key] = steps(name, multiplier, threads, train)
    write("deep", result | {"steps": ratios})


def cats_and_dogs() -> tuple[Images, Images]:
    """8,000 standardized images for training, and 4,000 for the accuracy."""
    problem = load("cifar10", classes="cat,dog")
    order = np.random.default_rng(0).permutation(len(problem))
    pixels = problem.images
    pixels = (pixels - pixels.mean((0, 2, 3), keepdims=True)) / pixels.std((0, 2, 3), keepdims=True)
    images = Images.from_arrays(pixels, problem.y)
    return images.rows(np.sort(order[KEPT:])), images.rows(np.sort(order[:KEPT]))


def textbook(network: nn.Module) -> nn.Module:
    """A copy of a VGG in the usual order: ReLU first, then pooling."""
    assert isinstance(network, VGG)
    layers: list[nn.Module] = []
    for layer in copy.deepcopy(network).features:
        index = len(layers) - 1 if isinstance(layer, nn.ReLU) and isinstance(layers[-1], nn.MaxPool2d) else len(layers)
        layers.insert(index, layer)
    return nn.Sequential(*layers, nn.Flatten(), *copy.deepcopy(network).classifier)


class Plain:
    """The textbook's training."""

    def __init__(self, network: nn.Module, images: Images) -> None:
        self.network, self.pixels, self.labels = textbook(network), images.pixels.contiguous(), images.labels
        self.optimizer = torch.optim.Adam(self.network.parameters(), 1e-3, weight_decay=5e-4)

    def step(self, indices: torch.Tensor) -> None:
        self.network.train()
        loss = functional.cross_entropy(self.network(self.pixels[indices]), self.labels[indices])
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), DeepTraining().clip)
        self.optimizer.step()


def steps(name: str, width_multiplier: float, threads: int, images: Images) -> dict[str, float]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    network = build_network(name, 2, width_multiplier=width_multiplier)
    plain = Plain(network, images)
    ours = Trainer(copy.deepcopy(network), TrainingSetup(images, images, DeepTraining()))
    ours.network.train()
    batches = images.order(0, 0).split(128)
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for batch in batches[: STEPS if width_multiplier < 1 else 5]:
        for kind, step in (("plain", plain.step), ("ours", lambda indices: ours.step(indices, 0))):
            began = time.perf_counter()
            step(batch)
            times[kind].append(time.perf_counter() - began)
    torch.set_num_threads(before)
    ratio = min(times["plain"]) / min(times["ours"])
    print(
        f"{name}, width multiplier {width_multiplier:g}, {threads} thread(s): plain eager float32 over ours "
        f"{ratio:5.2f}×  (target: ≥ 2)",
        flush=True,
    )
    return {"ratio": ratio}


def epochs(train: Images) -> dict[str, float]:
    """A soft epoch over a hard one, with cached logits and with the teacher online."""
    teacher = build_network("vgg8+3", 2, width_multiplier=0.25)
    arms = {
        "hard": (Objective(), None),
        "soft": (Objective(1.0, 4.0), cached_logits(teacher, train)),
        "online": (Objective(1.0, 4.0), OnlineTeacher(module_logits(teacher))),
    }
    few = train.rows(np.arange(100))
    times: dict[str, list[float]] = {arm: [] for arm in arms}
    for _ in range(4):
        for arm, (objective, soft) in arms.items():
            network = build_network("vgg2+3", 2, width_multiplier=0.25)
            began = time.perf_counter()
            train_network(network, train, few, DeepTraining(epochs=1), objective, soft=soft)
            times[arm].append(time.perf_counter() - began)
    best = {arm: min(values) for arm, values in times.items()}
    ratios = {arm: best[arm] / best["hard"] for arm in ("soft", "online")}
    print(
        f"vgg2+3, width multiplier 0.25: soft epoch over hard, cached logits {ratios['soft']:5.2f}×  (target: ≤ 1.05)"
    )
    print(f"                               with the teacher online              {ratios['online']:5.2f}×", flush=True)
    return ratios


if __name__ == "__main__":
    main()
