"""Randomly selected units of a teacher as privileged knowledge: Theorem 2 and the lottery ticket (Rahbar).

The teacher's output on the examples is y = (q/√m̄) Σ_l g_l with g_l = ā_l σ(w̄_l·X), and the privileged knowledge
of the student's m units, chosen without replacement, is (1/√m) Σ_{l chosen} g_l. By Theorem 1 the error that remains
after training with strength λ, if kernels have full rank and Σ a_k²/m = 1, is

    Σ_i (f_∞(x_i) − y_i)² = (λ/(1+λ))² e²,       e² = ‖(1/√m) Σ_{l chosen} g_l − y‖².

With the correction q = √(m/m̄) both sides are √m times a mean, over a sample and over all, so exactly

    E e² = (1 − m/m̄) S²,      S² = Σ_l ‖g_l − ḡ‖²/(m̄ − 1):

Theorem 2's factor, without its logarithm and constant. With q = 1 the two differ in scale and (√m̄ − √m)²‖ḡ‖² is added:
the chosen units represent only √(m/m̄) of the teacher. At λ = 0 no error remains: the lottery ticket.
A random choice from a random choice is a random choice, so two stages leave the same mean error as one.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.errors import require


@dataclass(frozen=True, eq=False)
class Selection:
    """A random selection of `count` of a teacher's units g (m̄, n); `corrected` means q = √(m/m̄), else q = 1."""

    units: np.ndarray
    count: int
    corrected: bool = True

    def __post_init__(self) -> None:
        require(
            self.units.ndim == 2 and len(self.units) >= 2, f"`units` must be (units, examples), got {self.units.shape}"
        )
        require(1 <= self.count <= len(self.units), f"cannot choose {self.count} of {len(self.units)} units")

    @property
    def teacher(self) -> np.ndarray:
        """The teacher's outputs y, of shape (n,)."""
        q = math.sqrt(self.count / len(self.units)) if self.corrected else 1.0
        return q / math.sqrt(len(self.units)) * self.units.sum(0)

    def expected(self) -> float:
        """E e² over the choice."""
        total, mean = len(self.units), self.units.mean(0)
        spread = float(((self.units - mean) ** 2).sum()) / (total - 1)
        error = (1 - self.count / total) * spread
        if not self.corrected:
            error += (math.sqrt(total) - math.sqrt(self.count)) ** 2 * float(mean @ mean)
        return error

    def bound(self, printed: bool = False) -> float:
        """Theorem 2's bound on e², with C = 1 and without the factor of λ: (1 − m/m̄) Σ‖g_l‖²/m̄ · ln m̄.

        The printed sum has an additional factor q² = m/m̄, which the proof lacks and no constant C can compensate.
        """
        total = len(self.units)
        extra = self.count / total if printed else 1.0
        return (1 - self.count / total) * extra * float((self.units**2).sum()) / total * math.log(total)

    def draw(self, draws: int, seed: int = 0, through: int | None = None) -> np.ndarray:
        """e² of `draws` random selections; with `through`, each selects that many units first and then from those."""
        total = len(self.units)
        require(draws >= 1, f"`draws` must be ≥ 1, got {draws}")
        require(
            through is None or self.count <= through <= total,
            f"`through` must lie between {self.count} and {total} (units of the intermediate network), got {through}",
        )
        rng = np.random.default_rng(seed)
        errors = np.empty(draws)
        for draw in range(draws):
            pool = np.arange(total) if through is None else rng.choice(total, through, replace=False)
            chosen = rng.choice(pool, self.count, replace=False)
            known = self.units[chosen].sum(0) / math.sqrt(self.count)
            errors[draw] = float(((known - self.teacher) ** 2).sum())
        return errors


def weighted_units(output: Any, features: Any) -> np.ndarray:
    """g_l = ā_l φ_l, (m̄, n)."""
    output, features = np.asarray(output, dtype=np.float64), np.asarray(features, dtype=np.float64)
    require(
        output.shape == (len(features),),
        f"`output` must have one weight per unit ({len(features)}), got shape {output.shape}",
    )
    return output[:, None] * features
