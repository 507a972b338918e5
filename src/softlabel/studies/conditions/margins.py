"""Certified separation margins of the training rows of conditions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, StageResults
from softlabel.studies.conditions.problem import condition_rows
from softlabel.studies.conditions.settings import Condition, ConditionsSettings
from softlabel.theory.margin import margin

CERTIFY = "certify"


class MarginCell(Settings):
    """The training rows of a condition and a seed; of the condition, only what concerns its rows."""

    condition: Condition
    seed: int


@dataclass(frozen=True)
class CertifiedMargin:
    """lower ≤ γ* ≤ upper for the training rows of one seed."""

    seed: int
    rows: int
    lower: float
    upper: float

    def to_dict(self) -> dict[str, Any]:
        """The interval as JSON values."""
        return {"seed": self.seed, "rows": self.rows, "lower": self.lower, "upper": self.upper}

    @property
    def middle(self) -> float:
        """The geometric mean of both ends."""
        return math.sqrt(self.lower * self.upper)


def margin_cell(condition: Condition, seed: int) -> MarginCell:
    """The cell of a condition and a seed."""
    return MarginCell(condition=condition.rows_only, seed=seed)


def margin_bundles(settings: ConditionsSettings, results: StageResults) -> list[Bundle]:
    """The training rows of the first seeds, of every condition with few enough of them."""
    search = settings.margins
    if search is None:
        return []
    cells = {
        margin_cell(condition, seed): f"{condition.name}, margin {seed}"
        for condition in certified_conditions(settings)
        for seed in settings.seeds[: search.runs]
    }
    return [Bundle(name, (cell,), cost=search.work_limit / 1e11) for cell, name in cells.items()]


def certified_conditions(settings: ConditionsSettings) -> list[Condition]:
    """Conditions whose margins are certified."""
    most = 0 if settings.margins is None else settings.margins.most_rows
    return [condition for condition in settings.conditions if condition.rows is not None and condition.rows <= most]


def certify_margins(settings: ConditionsSettings, cells: Sequence[MarginCell], arrays: CellArrays) -> list[CellResult]:
    """Certified intervals of γ*."""
    assert settings.margins is not None
    results = []
    for cell in cells:
        train = condition_rows(cell.condition, cell.seed).train
        search = margin(
            train.X, np.where(train.y == 1, 1.0, -1.0), work_limit=settings.margins.work_limit, seed=cell.seed
        )
        results.append(CellResult({"rows": search.n, "lower": search.lower, "upper": search.upper}))
    return results


def certified_margins(settings: ConditionsSettings, results: StageResults) -> dict[str, list[CertifiedMargin]]:
    """The intervals by name of the condition, one per seed."""
    by_cell = {cell.key: result.metrics for cell, result in results[CERTIFY]}
    margins: dict[str, list[CertifiedMargin]] = {}
    for condition in certified_conditions(settings):
        for seed in settings.seeds:
            metrics = by_cell.get(margin_cell(condition, seed).key)
            if metrics is not None:
                margins.setdefault(condition.name, []).append(CertifiedMargin(seed, **metrics))
    return margins


@dataclass(frozen=True)
class MarginExponent:
    """γ* ∝ n^mean by least squares of logarithms; low … high is what the certified intervals of all seeds allow."""

    mean: float
    low: float
    high: float


def margin_exponent(margins: Sequence[Sequence[CertifiedMargin]]) -> MarginExponent | None:
    """The exponent over numbers of rows, one sequence of seeds for each.

    None with fewer than two numbers of rows, or a margin that is not certified to be positive.
    """
    every = [one for same in margins for one in same]
    if len({one.rows for one in every}) < 2 or min(one.lower for one in every) <= 0:
        return None
    middles, lows, highs = [], [], []
    for seed in zip(*margins, strict=True):
        logs = np.log([one.rows for one in seed])
        weights = (logs - logs.mean()) / ((logs - logs.mean()) @ (logs - logs.mean()))
        ends = np.log([(one.lower, one.upper) if w > 0 else (one.upper, one.lower)
                       for one, w in zip(seed, weights, strict=True)])  # fmt: skip
        lows.append(float(weights @ ends[:, 0]))
        highs.append(float(weights @ ends[:, 1]))
        middles.append(float(weights @ np.log([one.middle for one in seed])))
    return MarginExponent(float(np.mean(middles)), min(lows), max(highs))
