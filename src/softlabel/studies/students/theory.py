"""What the papers' theory says about a user's problem: an estimate of its margin, and widths that suffice.

The margin is that of some training rows, scaled to norms ≤ 1. More rows can only make it smaller, so its upper end
bounds the margin of the problem from above, and the widths computed from it bound those of theory from below.

The search for the margin is limited by work, not by time, so that the same command gives the same numbers.
"""

import math
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import SoftlabelError
from softlabel.theory.bounds import crossover, hard_width, soft_width
from softlabel.theory.margin import margin

ROWS = 100
MAX_CLASSES = 10
WORK, MIN_WORK, RTOL = 2e10, 5e9, 0.4  # floating-point operations in all, and for each class
CAVEATS = (
    "Theory speaks of training error, of students without biases whose output signs stay fixed, trained by projected "
    "gradient descent. Its widths are sufficient, not necessary: smaller ones often reach the same error. It says "
    "nothing about new rows."
)


def theory_facts(problem: Problem, epsilon: float, seed: int = 0) -> dict[str, Any]:
    """Margin, widths for mean training error ε with soft and hard labels, and which arm theory would prefer."""
    x, truth = problem.train.scaled.astype(np.float64), problem.train.y
    taken = np.random.default_rng(seed).permutation(len(x))[:ROWS]
    x, truth = x[taken], truth[taken]
    x = x / np.linalg.norm(x, axis=1).max()
    counts = np.bincount(truth, minlength=len(problem.classes))
    sides = [1] if len(problem.classes) == 2 else np.argsort(-counts, kind="stable")[:MAX_CLASSES].tolist()
    margins: list[tuple[float, float, str]] = []
    for side in sides:
        y = np.where(truth == side, 1.0, -1.0)
        if len(np.unique(y)) < 2:
            continue
        try:
            at = margin(x, y, work_limit=max(MIN_WORK, WORK / len(sides)), rtol=RTOL, seed=seed)
        except SoftlabelError:
            continue
        margins.append((at.upper, at.lower, problem.classes[side]))
    if not margins:
        return {"gamma_upper": None, "says": "the margin of these rows could not be computed", "caveats": CAVEATS}
    upper, lower, side = min(margins)
    facts: dict[str, Any] = {
        "gamma_upper": upper, "gamma_lower": lower, "rows": len(x), "classes": len(margins), "class": side,
        "epsilon": epsilon, "caveats": CAVEATS,
    }  # fmt: skip
    if upper == 0:
        return facts | {"widths": None, "says": "the margin is 0 (for example, equal inputs with different labels): "
                        "the papers' theorems do not apply"}  # fmt: skip
    n = len(problem.train)
    widths = {
        "soft": _finite(soft_width(upper, epsilon, n, family="tight")),
        "hard": _finite(hard_width(upper, epsilon, n, family="tight")),
    }
    crossing = crossover("tight", epsilon, n).gamma
    prefers = "soft" if (widths["soft"] or math.inf) < (widths["hard"] or math.inf) else "hard"
    says = (
        f"margin γ ≤ {upper:.3g} (from {len(x)} training rows"
        + (f", class '{side}' against the rest" if len(problem.classes) > 2 else "")
        + f"): for a training error of {epsilon:g} the width that theory proves sufficient is {_words(widths['soft'])} "
        f"with soft labels and {_words(widths['hard'])} with hard labels, so theory would prefer {prefers} labels"
    )
    return facts | {"widths": widths, "crossover_gamma": crossing, "prefers": prefers, "says": says}


def _finite(width: float | None) -> int | None:
    return int(width) if width is not None and math.isfinite(width) else None


def _words(width: int | None) -> str:
    return "infinite" if width is None else f"at least {width:,} neurons"


def theory_sentence(facts: dict[str, Any] | None) -> str:
    """These facts as a sentence for a summary; empty where there are none."""
    return f"Theory: {facts['says']}. {facts['caveats']}" if facts else ""
