"""The open questions: fair presets, conditions that vary one thing, and answers that follow the numbers."""

import json
import math

import numpy as np
import pytest

from softlabel.errors import InputError, UnavailableError
from softlabel.lab import CellResult, StageResults
from softlabel.studies.conditions import ConditionsResult, ConditionsSettings
from softlabel.studies.conditions import cells as grid
from softlabel.studies.questions import QUESTIONS
from softlabel.studies.questions.seed_variance import SeedVarianceStudy
from softlabel.studies.reproduce import reproduce, study_settings, with_available_data

EXAMPLES = 400


@pytest.mark.parametrize("study", QUESTIONS, ids=lambda study: study.name)
def test_presets_are_complete_and_docstrings_name_the_endpoint(study):
    assert set(study.presets) == {"quick", "standard", "paper"}
    assert "Primary endpoint:" in study.__doc__
    for settings in study.presets.values():
        assert ConditionsSettings.model_validate(settings.model_dump()) == settings
        known = {condition.name for condition in settings.conditions}
        endpoints = study(settings).endpoints(settings)
        assert endpoints
        for endpoint in endpoints:
            assert set(endpoint.weights) <= known
            if "mean" not in endpoint.name:
                assert sum(endpoint.weights.values()) == pytest.approx(0, abs=1e-9)  # a slope or a difference
    assert study.presets["quick"].runs < study.presets["standard"].runs < study.presets["paper"].runs


def invented(settings: ConditionsSettings, gap, spread=lambda arm: 0.01) -> StageResults:
    """Results with a gap in points by condition, and a standard deviation of the share of right rows by arm."""
    results = StageResults()
    for bundle in grid.teacher_bundles(settings, results):
        for cell in bundle.cells:
            right = np.packbits(np.arange(EXAMPLES) < 0.98 * EXAMPLES)
            results.add("teach", cell, CellResult({"examples": EXAMPLES}, {"correct": right}))
    for bundle in grid.choice_bundles(settings, results):
        for cell in bundle.cells:
            results.add("choose", cell, CellResult({"validation": 90.0}))
    for bundle in grid.final_bundles(settings, results):
        for cell in bundle.cells:
            rng = np.random.default_rng([cell.seed, len(cell.condition.name), cell.arm == "soft"])
            share = 0.85 + (gap(cell.condition) / 100 if cell.arm == "soft" else 0) + rng.normal(0, spread(cell.arm))
            order = np.random.default_rng(3).permutation(EXAMPLES)
            results.add("test", cell, CellResult({"test": 0.0}, {"correct": np.packbits(order < share * EXAMPLES)}))
    return results


@pytest.mark.parametrize("study", QUESTIONS, ids=lambda study: study.name)
def test_every_question_answers_from_its_numbers_and_has_a_page(study):
    settings = study.presets["quick"].model_copy(update={"runs": 6})
    result = ConditionsResult(study(settings), invented(settings, lambda condition: 3.0))
    json.dumps(result.to_dict(), allow_nan=False)
    assert all(line and line[0].isupper() and line.endswith(".") for line in result.summary)
    page = result.page()
    assert page.picture is not None
    assert "Written down before the run: Question:" in page.method[-1]
    assert len(result.plot().axes) == 2


@pytest.mark.parametrize(("per_decade", "word"), [(8.0, "grows"), (-8.0, "shrinks"), (0.0, "is not shown to change")])
def test_a_trend_is_named(per_decade, word):
    (study,) = (one for one in QUESTIONS if one.name == "sample-size")
    settings = study.presets["quick"].model_copy(update={"runs": 10})
    results = invented(settings, lambda condition: per_decade * math.log10(condition.rows / 2000), lambda arm: 0.002)
    result = ConditionsResult(study(settings), results)
    assert f"The gain from soft labels {word} with" in result.summary[0]
    assert result.primary.mean == pytest.approx(per_decade, abs=0.5)


def test_a_smaller_spread_is_found_and_an_equal_one_is_not():
    settings = SeedVarianceStudy.presets["quick"].model_copy(update={"runs": 40})
    for soft, word in ((0.004, "is smaller"), (0.02, "is not shown to be different")):
        results = invented(settings, lambda c: 0.0, lambda arm, soft=soft: soft if arm == "soft" else 0.02)
        result = ConditionsResult(SeedVarianceStudy(settings), results)
        assert f"over seeds {word} with soft labels" in result.summary[0]
        assert result.primary.low <= soft / 0.02 <= result.primary.high


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("sample-size", {"conditions": [{"name": "a", "position": 500, "rows": 500}]}, "two different positions"),
        (
            "sample-size",
            {"conditions": [{"name": "a", "position": -5}, {"name": "b", "position": 2}]},
            "must be positive",
        ),
        ("multiclass", {"conditions": [{"name": "a"}, {"name": "b", "position": 2}]}, "two different positions"),
        ("initialization", {"conditions": [{"name": "a", "init": "he", "radius": 25.0}]}, "on both of its sides"),
        ("seed-variance", {"runs": 2}, "'seed-variance' needs at least 3 runs, got 2"),
    ],
)
def test_conditions_that_cannot_answer_the_question_are_refused_before_training(name, changes, message, tmp_path):
    with pytest.raises(InputError, match=message):
        reproduce(name, settings=changes, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("choice", [{"data": "digits"}, {"settings": {"data": "digits"}}])
def test_a_data_set_cannot_be_chosen_where_there_are_several(choice):
    with pytest.raises(InputError, match="'sample-size' has several data sets"):
        reproduce("sample-size", **choice)


def test_a_part_of_nested_settings_is_changed_alone():
    before, after = (study_settings("multiclass", "quick", changes) for changes in (None, {"recipe": {"checks": 3}}))
    assert after == before.model_copy(update={"recipe": before.recipe.model_copy(update={"checks": 3})})


def test_questions_are_not_asked_on_other_data(monkeypatch):
    def missing(*args, **more):
        raise UnavailableError("no source answers")

    monkeypatch.setattr("softlabel.studies.conditions.settings.check_condition_data", missing)
    with pytest.raises(UnavailableError):
        with_available_data(study_settings("sample-size", "quick"))


def test_no_spread_in_one_condition_leaves_the_others():
    settings = SeedVarianceStudy.presets["quick"].model_copy(update={"runs": 5})
    first = settings.conditions[0].name
    results = invented(settings, lambda c: 0.0)
    for cell, result in results["test"]:
        if cell.condition.name == first:
            result.arrays["correct"] = np.packbits(np.arange(EXAMPLES) < 300)
    result = ConditionsResult(SeedVarianceStudy(settings), results)
    assert 0 < result.primary.low < result.primary.high
    assert all(math.isfinite(value.mean) for value in result.endpoints.values())
