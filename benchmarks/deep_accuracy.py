"""Does the fast deep step cost accuracy? Ours against plain eager PyTorch: same initial weights and batches.

    python -m benchmarks.deep_accuracy

Each pair has the same initial weights (width multiplier 1/4) and batches. The result is the mean accuracy over the last
three of six epochs on 4,000 other images, and its difference over seeds.
"""

import numpy as np
import torch

from benchmarks.deep import Plain, cats_and_dogs
from benchmarks.measure import write
from softlabel.networks.deep import DeepTraining, Images, build_network, network_logits
from softlabel.networks.deep.training import Trainer, TrainingSetup

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
    print(f"{name}: accuracy, ours − plain {text}  (target: within 0.5)", flush=True)
    return {
        "seeds": seeds,
        "ours": float(np.mean(ours)),
        "plain": float(np.mean(plain)),
        "difference_points": float(difference.mean()),
        "half_width_points": half,
    }


def our_score(name: str, seed: int, train: Images, kept: Images) -> float:
    accuracies: list[float] = []
    network = build_network(name, 2, width_multiplier=0.25, seed=seed)
    trainer = Trainer(network, TrainingSetup(train, kept, DeepTraining(epochs=EPOCHS, patience=EPOCHS, seed=seed)))
    trainer.run(None, lambda epoch, record: accuracies.append(record.accuracy))
    return float(np.mean(accuracies[-3:]))


def plain_score(name: str, seed: int, train: Images, kept: Images) -> float:
    peer = Plain(build_network(name, 2, width_multiplier=0.25, seed=seed), train)
    accuracies: list[float] = []
    torch.manual_seed(seed)
    for epoch in range(EPOCHS):
        for batch in train.order(seed, epoch).split(128):
            peer.step(batch)
        logits = network_logits(peer.network, kept.pixels)
        accuracies.append(float((logits.argmax(1) == kept.labels).double().mean()))
    return float(np.mean(accuracies[-3:]))


if __name__ == "__main__":
    main()
