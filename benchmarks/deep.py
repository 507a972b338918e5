"""Deep training against plain eager PyTorch, and what soft labels cost an epoch.

    python -m benchmarks.deep

The peer is the textbook: VGG with ReLU before pooling, float32, contiguous images, torch.optim.Adam, and the same
clipping of gradients. Both start from the same weights and see the same batches; one thread is what each worker of a
study has. Steps are timed in turn and the smallest time of each counts. Whether the fast step costs accuracy is
`benchmarks.deep_accuracy`.
"""

import copy
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.measure import write
from softlabel.data.image_sets import load_images
from softlabel.networks.deep import (
    Images,
    Objective,
    OnlineTeacher,
    Training,
    build_network,
    cached_logits,
    module_answer,
    train_network,
)
from softlabel.networks.deep.training import Lesson, Trainer
from softlabel.networks.deep.vgg import VGG

KEPT = 4000
STEPS = 12


def main() -> None:
    train, _ = cats_and_dogs()
    found: dict[str, object] = {"epochs": epochs(train)}
    ratios = {}
    for name in ("vgg2+3", "vgg8+3"):
        for width in (1.0, 0.25):
            for threads in (1, torch.get_num_threads()):
                ratios[f"{name}, width {width:g}, threads {threads}"] = steps(name, width, threads, train)
    write("deep", found | {"steps": ratios})


def cats_and_dogs() -> tuple[Images, Images]:
    """8,000 standardised images to learn from, 4,000 kept."""
    held = load_images("cifar10", "cat,dog")
    order = np.random.default_rng(0).permutation(len(held))
    pixels = (held.pixels - held.pixels.mean((0, 2, 3), keepdims=True)) / held.pixels.std((0, 2, 3), keepdims=True)
    whole = Images.of(pixels, held.labels)
    return whole.rows(np.sort(order[KEPT:])), whole.rows(np.sort(order[:KEPT]))


def textbook(network: nn.Module) -> nn.Module:
    """The same VGG as everybody writes it: ReLU first, then pooling; its own copy of the weights."""
    assert isinstance(network, VGG)
    layers: list[nn.Module] = []
    for layer in copy.deepcopy(network).features:
        place = len(layers) - 1 if isinstance(layer, nn.ReLU) and isinstance(layers[-1], nn.MaxPool2d) else len(layers)
        layers.insert(place, layer)
    return nn.Sequential(*layers, nn.Flatten(), *copy.deepcopy(network).classifier)


class Plain:
    """The textbook's training."""

    def __init__(self, network: nn.Module, images: Images) -> None:
        self.network, self.pixels, self.labels = textbook(network), images.pixels.contiguous(), images.labels
        self.optimiser = torch.optim.Adam(self.network.parameters(), 1e-3, weight_decay=5e-4)

    def step(self, places: torch.Tensor) -> None:
        self.network.train()
        loss = functional.cross_entropy(self.network(self.pixels[places]), self.labels[places])
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), Training().clip)
        self.optimiser.step()


def steps(name: str, width: float, threads: int, images: Images) -> dict[str, float]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    network = build_network(name, 2, width=width)
    plain = Plain(network, images)
    ours = Trainer(copy.deepcopy(network), Lesson(images, images, Training()))
    ours.network.train()
    batches = images.order(0, 0).split(128)
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for batch in batches[: STEPS if width < 1 else 5]:
        for kind, step in (("plain", plain.step), ("ours", lambda places: ours.step(places, 0))):
            began = time.perf_counter()
            step(batch)
            times[kind].append(time.perf_counter() - began)
    torch.set_num_threads(before)
    ratio = min(times["plain"]) / min(times["ours"])
    print(
        f"{name}, width {width:g}, {threads} thread(s): plain eager float32 over ours {ratio:5.2f}×  (asked: ≥ 2)",
        flush=True,
    )
    return {"ratio": ratio}


def epochs(train: Images) -> dict[str, float]:
    """A soft epoch over a hard one, with cached logits and with the teacher online."""
    teacher = build_network("vgg8+3", 2, width=0.25)
    arms = {
        "hard": (Objective(), None),
        "soft": (Objective(1.0, 4.0), cached_logits(teacher, train)),
        "online": (Objective(1.0, 4.0), OnlineTeacher(module_answer(teacher))),
    }
    few = train.rows(np.arange(100))
    times: dict[str, list[float]] = {arm: [] for arm in arms}
    for _ in range(4):
        for arm, (objective, soft) in arms.items():
            network = build_network("vgg2+3", 2, width=0.25)
            began = time.perf_counter()
            train_network(network, train, few, Training(epochs=1), objective, soft=soft)
            times[arm].append(time.perf_counter() - began)
    best = {arm: min(values) for arm, values in times.items()}
    ratios = {arm: best[arm] / best["hard"] for arm in ("soft", "online")}
    print(f"vgg2+3, width 0.25: soft epoch over hard, cached logits   {ratios['soft']:5.2f}×  (asked: ≤ 1.05)")
    print(f"                    the same with the teacher online      {ratios['online']:5.2f}×", flush=True)
    return ratios


if __name__ == "__main__":
    main()
