"""The data, labels, images and settings that the recorded commands read."""

from pathlib import Path

import numpy as np

SETTINGS = {
    "table1.toml": """
widths = [4]
tuning_seeds = 1
runs = 2
bundle_neurons = 60
[teacher]
width = 16
epochs = 2
patience = 2
[[protocols]]
name = "pgd"
about = "projected gradient descent"
epochs = 2
radii = [20.0, 60.0]
temperatures = [2.0, 8.0]
soft_learning_rates = [3.0]
hard_learning_rates = [1.0, 3.0]
""",
    "figure1.toml": """
classes = "3,8"
rows = 60
families = ["resnet"]
levels = [0.0, 0.3]
width_multiplier = 0.25
epochs = 2
patience = 2
runs = 2
""",
    "kernel.toml": """
classes = "3,8"
rows = 40
teacher_width = 10
student_width = 4
iterations = 20
early = 5
landmarks = 20
runs = 2
""",
}


def write_files(directory: Path) -> None:
    """Put them all into this directory."""
    rng = np.random.default_rng(7)
    for name, classes in (("two.csv", 2), ("three.csv", 3)):
        x = rng.normal(size=(300, 4))
        score = x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.3 * rng.normal(size=300)
        y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
        rows = [f"{k},{','.join(f'{value:.5f}' for value in x[k])},{'abc'[y[k]]}" for k in range(len(x))]
        (directory / name).write_text("id,p,q,r,s,y\n" + "\n".join(rows) + "\n")
        if classes == 2:
            share = 1 / (1 + np.exp(-3 * (score - np.median(score))))
            labels = [f"{k},{1 - share[k]:.6f},{share[k]:.6f}" for k in rng.permutation(len(x))]
            (directory / "labels.csv").write_text("id,a,b\n" + "\n".join(labels) + "\n")
    images = rng.integers(0, 256, size=(90, 16, 16, 3), dtype=np.uint8)
    kinds = np.arange(90) % 3
    images[kinds == 1, :8] //= 3
    images[kinds == 2, :, :8] //= 3
    np.savez(directory / "images.npz", images=images, labels=kinds)
    for name, text in SETTINGS.items():
        (directory / name).write_text(text.lstrip())
