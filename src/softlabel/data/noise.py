"""Noise on inputs, for studies of robustness."""

import numpy as np

from softlabel.errors import require


def add_noise(inputs: np.ndarray, std: float, seed: int) -> np.ndarray:
    """Inputs with independent Gaussian noise of standard deviation `std` added, float32 (n, d)."""
    require(0 <= std < np.inf, f"noise std must be finite and not negative, got {std}")
    noise = np.random.default_rng(seed).standard_normal(inputs.shape, dtype=np.float32)
    return np.asarray(inputs + np.float32(std) * noise, dtype=np.float32)
