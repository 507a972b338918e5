"""Small problems, and the slow truth: the non-symmetric matrix H̄ itself."""

import numpy as np

from softlabel.theory.dynamics import KernelProblem

SIGMA = {
    "softplus": (lambda z: np.logaddexp(z, 0), lambda z: 1 / (1 + np.exp(-z))),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float)),
}


def problem(
    n: int = 7,
    d: int = 9,
    m: int = 4,
    strength: float = 0.7,
    sigma: str = "softplus",
    seed: int = 0,
    away: float = 0.3,
) -> KernelProblem:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    w = rng.standard_normal((m, d))
    value, slope = SIGMA[sigma]
    features = value(w @ x.T)
    output = rng.choice((-1.0, 1.0), m) * rng.uniform(0.5, 1.5, m)
    privileged = features + away * rng.standard_normal((m, n))
    y = rng.choice((-1.0, 1.0), n)
    return KernelProblem.from_arrays(x, features, slope(w @ x.T), output, privileged, y, strength)


def full_matrix(p: KernelProblem) -> np.ndarray:
    """H̄ with blocks H_k (a_k a_l/m + λ δ_kl), as in equation (13); λ = ∞: blockdiag(H_k)."""
    x, s = p.x.numpy(), p.slopes.numpy()
    a, m, n = p.output.numpy(), p.units, p.n
    blocks = np.zeros((m * n, m * n))
    for k in range(m):
        h = np.outer(s[k], s[k]) * (x @ x.T)
        for l in range(m):  # noqa: E741
            factor = float(k == l) if p.alone else a[k] * a[l] / m + p.strength * (k == l)
            blocks[k * n : (k + 1) * n, l * n : (l + 1) * n] = h * factor
    return blocks


def by_small_steps(p: KernelProblem, times, steps: int = 4000) -> np.ndarray:
    """f at the times by Runge–Kutta on equations (10) and (11), kernels held."""
    x, s, mix = p.x.numpy(), p.slopes.numpy(), p.mix.numpy()
    grams = [np.outer(row, row) * (x @ x.T) for row in s]
    y, phi = p.y.numpy(), p.privileged.numpy()

    def change(f):
        out = mix @ f
        r = phi - f if p.alone else np.outer(mix, y - out) + p.strength * (phi - f)
        return np.stack([h @ row for h, row in zip(grams, r, strict=True)])

    f, now, result = p.features.numpy().copy(), 0.0, []
    for time in times:
        count = max(1, int(np.ceil(steps * (time - now))))
        h = (time - now) / count
        for _ in range(count):
            k1 = change(f)
            k2 = change(f + h / 2 * k1)
            k3 = change(f + h / 2 * k2)
            k4 = change(f + h * k3)
            f = f + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        now = time
        result.append(mix @ f)
    return np.array(result)
