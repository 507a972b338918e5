"""Certified margins of conditions: which rows, what is stored, and the exponent that the intervals allow."""

import math

import numpy as np
import pytest

from softlabel.lab import StageResults
from softlabel.studies.conditions import Condition, ConditionsSettings, MarginsOfRows
from softlabel.studies.conditions.margins import (
    CERTIFY,
    CertifiedMargin,
    certified_margins,
    certify_margins,
    margin_bundles,
    margin_exponent,
)
from softlabel.studies.conditions.problem import condition_rows
from softlabel.studies.questions.recipes import PGD
from softlabel.theory.margin import margin


def settings(**changes) -> ConditionsSettings:
    conditions = [Condition(name=f"{rows} rows", data="digits", rows=rows, radius=25.0) for rows in (30, 60, 600)]
    search = MarginsOfRows(most_rows=60, runs=2, work_limit=1e8)
    return ConditionsSettings(**{"conditions": conditions, "recipe": PGD, "runs": 3, "margins": search} | changes)


def test_margins_are_those_of_the_training_rows_of_the_first_seeds():
    chosen, results = settings(), StageResults()
    bundles = margin_bundles(chosen, results)
    assert len(bundles) == 4  # two conditions with few enough rows, two seeds
    for bundle in bundles:
        for cell, result in zip(bundle.cells, certify_margins(chosen, bundle.cells, {}), strict=True):
            results.add(CERTIFY, cell, result)
    margins = certified_margins(chosen, results)
    assert list(margins) == ["30 rows", "60 rows"]
    train = condition_rows(chosen.condition("60 rows"), 1).train
    truth = margin(train.X, np.where(train.y == 1, 1.0, -1.0), work_limit=1e8, seed=1)
    assert (margins["60 rows"][1].lower, margins["60 rows"][1].upper) == (truth.lower, truth.upper)
    assert margins["60 rows"][1].rows == len(train.y) == 50


def test_margins_need_two_classes_and_are_optional():
    with pytest.raises(ValueError, match="two classes"):
        settings(conditions=[Condition(name="all", data="digits", task=None, rows=100)])
    assert margin_bundles(settings(margins=None), StageResults()) == []


def test_the_exponent_is_exact_for_a_power_law_and_its_range_covers_what_the_intervals_allow():
    def power_law(rows, width):
        return [CertifiedMargin(seed, rows, rows**-0.5 / width, rows**-0.5 * width) for seed in range(2)]

    exact = margin_exponent([power_law(rows, 1.0) for rows in (100, 1000, 10_000)])
    assert exact is not None
    assert (exact.mean, exact.low, exact.high) == pytest.approx((-0.5, -0.5, -0.5))
    wide = margin_exponent([power_law(rows, 2.0) for rows in (100, 10_000)])
    assert wide is not None
    assert wide.high == pytest.approx(-0.5 + 2 * math.log(2) / math.log(100))
    assert wide.low == pytest.approx(-0.5 - 2 * math.log(2) / math.log(100))
    assert margin_exponent([power_law(100, 1.0)]) is None
