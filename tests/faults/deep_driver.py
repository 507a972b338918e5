"""Trains a small deep network: python -m tests.faults.deep_driver CHECKPOINT RESULT [SECONDS_PER_BATCH]."""

import sys
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from softlabel.networks.deep import DeepTraining, Objective, cached_logits, train_network
from tests.networks.deep.small import images, network


class Slow(nn.Module):
    """Takes its time, so that a kill falls into the middle of an epoch."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.inner, self.seconds = network(channels=3), seconds

    def forward(self, x):
        time.sleep(self.seconds if self.training else 0)
        return self.inner(x)


def main() -> None:
    torch.set_num_threads(1)
    checkpoint, result = Path(sys.argv[1]), Path(sys.argv[2])
    net = Slow(float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
    soft = cached_logits(network(seed=7, channels=3).eval(), images(channels=3))
    training = DeepTraining(epochs=8, patience=8, batch_size=8, augment=False, precision="float32")
    train_network(
        net,
        images(channels=3),
        images(40, channels=3, seed=1),
        training,
        Objective(0.7, 2.0),
        soft=soft,
        checkpoint=checkpoint,
    )
    save_file({name: value.contiguous() for name, value in net.state_dict().items()}, result)


if __name__ == "__main__":
    main()
