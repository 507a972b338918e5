"""How long students are trained: until no arm gets better on validation rows.

After the choice of settings every arm's chosen students are trained with the recipe's number of epochs and with twice
as many, on seeds of their own, and as long as an arm gains by the last doubling, all of them are trained with twice as
many again. All arms then use the same number: the smallest after which none of them gains. A gain counts if its mean
over seeds exceeds a fifth of a point and its own standard error. A number that a user chose is used as it is.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.lab import StageResults
from softlabel.studies.students.recipe import Recipe, StudentCell

LEAST_GAIN = 0.002  # of the metric on validation rows
EPOCH_SEEDS_FROM = 1_500_000  # first of the seeds on which the number of epochs is chosen
STAGE = "epochs"


@dataclass(frozen=True)
class TrainingLength:
    """A number of epochs, and whether students still gained when the limit ended the search."""

    epochs: int
    cut_short: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"epochs": self.epochs, "cut_short": self.cut_short}


def length_warning(lengths: Iterable[TrainingLength]) -> str | None:
    """A sentence (without a full stop) where students were still getting better when their training ended."""
    cut = [one.epochs for one in lengths if one.cut_short]
    if not cut:
        return None
    return (
        f"training was cut short: students still got better on validation rows when the number of epochs reached "
        f"{max(cut):,}; set a larger number with `epochs`"
    )


def epoch_lines(recipe: Recipe, lengths: Sequence[TrainingLength]) -> list[str]:
    """How the number of epochs was chosen, for a page."""
    if not recipe.doublings:
        return []
    numbers = sorted({one.epochs for one in lengths})
    used = f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}, depending on the fold"
    return [
        f"Epochs: beginning with {recipe.epochs:,}, doubled as long as an arm gained more than "
        f"{100 * LEAST_GAIN:g} points and its standard error on validation rows; the same for all arms ({used})."
    ]


def epoch_stages(recipe: Recipe) -> list[str]:
    """Names of the stages of the search, one for each doubling; none where the number is fixed."""
    return [f"{STAGE} ×{2**k}" for k in range(1, recipe.doublings + 1)]


def epoch_cells(
    recipe: Recipe, k: int, results: StageResults, chosen: Sequence[StudentCell], seed: int, fold: int = 0
) -> list[StudentCell]:
    """The students of the k-th doubling in a fold, none where the doublings before it brought no gain.

    chosen      one student of each arm (and size) with its chosen settings
    """
    if k > 1 and training_length(recipe, results, fold, upto=k - 1).epochs < recipe.epochs * 2 ** (k - 1):
        return []
    numbers = [recipe.epochs * 2**j for j in ((0, 1) if k == 1 else (k,))]
    first = seed + EPOCH_SEEDS_FROM
    return [
        cell.model_copy(update={"stage": STAGE, "seed": number, "epochs": epochs, "fold": fold})
        for epochs in numbers
        for cell in chosen
        for number in range(first, first + max(2, recipe.tuning_seeds))
    ]


def training_length(recipe: Recipe, results: StageResults, fold: int = 0, upto: int | None = None) -> TrainingLength:
    """The number of epochs that the search ended with, or has reached so far.

    upto    consider only this many doublings
    """
    epochs = recipe.epochs
    stages = epoch_stages(recipe)[:upto]
    tried = [(cell, result) for stage in stages for cell, result in results[stage] if cell.fold == fold]
    for k in range(1, len(stages) + 1):
        if not _gains(tried, epochs, recipe.epochs * 2**k):
            return TrainingLength(epochs)
        epochs = recipe.epochs * 2**k
    return TrainingLength(epochs, cut_short=bool(stages) and len(stages) == recipe.doublings)


def _gains(tried: Iterable[tuple[StudentCell, Any]], before: int, after: int) -> bool:
    """Whether the students of an arm and size got better by more epochs."""
    values: dict[tuple[str, int], dict[int, dict[int, float]]] = {}
    for cell, result in tried:
        if cell.epochs in (before, after):
            of_arm = values.setdefault((cell.arm, cell.width), {before: {}, after: {}})
            of_arm[cell.epochs][cell.seed] = result.metrics["validation"]
    return any(_is_gain(by_epochs[before], by_epochs[after]) for by_epochs in values.values())


def _is_gain(before: dict[int, float], after: dict[int, float]) -> bool:
    gains = np.array([after[seed] - before[seed] for seed in before if seed in after])
    if len(gains) < 2:
        return False
    return bool(gains.mean() > max(LEAST_GAIN, gains.std(ddof=1) / math.sqrt(len(gains))))


def by_epochs(recipe: Recipe, cells: Sequence[StudentCell], train: Callable[[Recipe, list[StudentCell]], list]) -> list:
    """Students of cells with different numbers of epochs, those with the same number trained together, in order."""
    done: dict[int, Any] = {}
    for epochs in dict.fromkeys(cell.epochs for cell in cells):
        places = [k for k, cell in enumerate(cells) if cell.epochs == epochs]
        own = recipe if epochs is None else recipe.model_copy(update={"epochs": epochs})
        done |= dict(zip(places, train(own, [cells[k] for k in places]), strict=True))
    return [done[k] for k in range(len(cells))]
