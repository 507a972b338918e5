"""Does the fast deep step cost accuracy? Ours against plain eager PyTorch, many seeds, same starts and batches.

    python -m benchmarks.deep_accuracy

Each pair starts from the same weights (width 1/4) and sees the same batches; what counts is the mean accuracy over the
last three of six epochs on 4,000 images kept for it, and its difference over seeds.
"""

import numpy as np
import torch

from benchmarks.deep import Plain, cats_and_dogs
from benchmarks.measure import write
from softlabel.networks.deep import Images, Training, build_network, network_logits
from softlabel.networks.deep.training import Lesson, Trainer

EPOCHS = 6
SEEDS = {"vgg2+3": 48, "vgg8+3": 20}


def main() -> None:
    train, kept = cats_and_dogs()
    write("deep_accuracy", {name: accuracy(name, seeds, train, kept) for name, seeds in SEEDS.items()})


def accuracy(name: str, seeds: int, train: Images, kept: Images) -> dict[str, object]:
    ours = [our_score(name, seed, train, kept) for seed in range(seeds)]
    plain = [plain_score(name, seed, train, kept) for seed in range(seeds)]
    difference = 100 * (np.array(ours) - np.array(plain))
    half = 1.96 * float(difference.std(ddof=1)) / seeds**0.5
    text = f"{difference.mean():+.2f} ± {half:.2f} points over {seeds} seeds"
    print(f"{name}: accuracy, ours − plain {text}  (asked: within 0.5)", flush=True)
    return {
        "seeds": seeds,
        "ours": float(np.mean(ours)),
        "plain": float(np.mean(plain)),
        "difference_points": float(difference.mean()),
        "half_width_points": half,
    }


def our_score(name: str, seed: int, train: Images, kept: Images) -> float:
    found: list[float] = []
    network = build_network(name, 2, width=0.25, seed=seed)
    trainer = Trainer(network, Lesson(train, kept, Training(epochs=EPOCHS, patience=EPOCHS, seed=seed)))
    trainer.run(None, lambda epoch, record: found.append(record.accuracy))
    return float(np.mean(found[-3:]))


def plain_score(name: str, seed: int, train: Images, kept: Images) -> float:
    peer = Plain(build_network(name, 2, width=0.25, seed=seed), train)
    found: list[float] = []
    torch.manual_seed(seed)
    for epoch in range(EPOCHS):
        for batch in train.order(seed, epoch).split(128):
            peer.step(batch)
        logits = network_logits(peer.network, kept.pixels)
        found.append(float((logits.argmax(1) == kept.labels).double().mean()))
    return float(np.mean(found[-3:]))


if __name__ == "__main__":
    main()
