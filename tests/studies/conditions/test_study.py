"""A study of conditions from its cells to its page; a new one takes fewer than 60 lines."""

import json
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.errors import InputError
from softlabel.lab import CellResult, StageResults
from softlabel.lab.statistics import crossed_mean, paired_gap
from softlabel.studies.conditions import (
    Condition,
    ConditionRecipe,
    ConditionsSettings,
    ConditionTeacher,
    Endpoint,
    training,
)
from softlabel.studies.conditions import cells as grid
from softlabel.studies.conditions.problem import condition_rows, noisy_labels
from softlabel.studies.conditions.result import ConditionsResult, disagreement
from softlabel.studies.conditions.teachers import teacher_outputs
from softlabel.studies.run import Execution, run_in
from tests.studies.conditions import small_study
from tests.studies.conditions.small_study import RECIPE, WidthStudy

SETTINGS = WidthStudy.presets["quick"]
EXECUTION = Execution(executor="serial", threads=1, progress=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("widths") / "run"
    return run_dir, run_in(run_dir, WidthStudy(SETTINGS), EXECUTION)


def changed(**changes) -> ConditionsSettings:
    return ConditionsSettings.model_validate(SETTINGS.model_dump() | changes)


def test_a_new_study_takes_fewer_than_sixty_lines():
    assert len(Path(small_study.__file__).read_text().splitlines()) < 60


def test_it_answers_with_a_page(finished):
    run_dir, result = finished
    document = result.to_dict()
    json.dumps(document, allow_nan=False)
    assert document["answer"].startswith("The gap changes by ")
    assert [row["condition"] for row in document["rows"]] == ["4 neurons", "8 neurons"]
    for row in document["rows"]:
        assert row["gap"]["low"] <= row["gap"]["mean"] <= row["gap"]["high"]
        assert len(row["per_seed"]["soft"]) == 3
        assert np.mean(row["per_seed"]["soft"]) == pytest.approx(row["soft"]["mean"])
        assert row["gap"]["mean"] == pytest.approx(row["soft"]["mean"] - row["hard"]["mean"])
    slope = (document["rows"][1]["gap"]["mean"] - document["rows"][0]["gap"]["mean"]) / 4
    assert document["endpoints"][0]["mean"] == pytest.approx(slope)
    text = result.report.read_text()
    assert "Does the width matter?" in text
    assert "Primary endpoint: slope of the gap per neuron." in text
    assert "Not part of what was written down" not in text
    assert (run_dir / "figures" / "widths.png").exists()
    assert repr(result).startswith("<ConditionsResult: The gap changes by ")


def test_a_second_call_runs_nothing_and_executors_agree(finished, tmp_path):
    run_dir, result = finished
    assert run_in(run_dir, WidthStudy(SETTINGS), EXECUTION).to_dict() == result.to_dict()
    other = run_in(tmp_path / "local", WidthStudy(SETTINGS), Execution(executor="local", workers=2, threads=1,
                                                                       progress=False))  # fmt: skip
    assert other.to_dict() == result.to_dict()


def test_intervals_are_the_labs_and_adjusted(finished):
    _, result = finished
    first, second = SETTINGS.conditions
    tables = [result.correct(one, "soft") - result.correct(one, "hard") for one in (first, second)]
    gap = paired_gap(result.correct(first, "soft"), result.correct(first, "hard"))
    assert (result.rows[0].gap.low, result.rows[0].gap.high) == pytest.approx(gap.interval(1 - 0.05 / 2))
    paired = crossed_mean((tables[1] - tables[0]) / 4)  # the same seeds and test rows
    assert (result.primary.low, result.primary.high) == pytest.approx(paired.interval(0.95))


def test_arms_have_equally_many_choices_seeds_differ_and_orders_are_their_own():
    chosen = grid.choice_bundles(SETTINGS, StageResults())
    (bundle,) = chosen
    counts = {arm: sum(cell.arm == arm for cell in bundle.cells) for arm in grid.ARMS}
    assert counts == {"hard": 4, "soft": 4}
    assert {cell.seed for cell in bundle.cells} == {1_000_000}
    results = StageResults()
    for cell in bundle.cells:
        best = cell.learning_rate == 3.0 or cell.label_scale == 4.0
        results.add("choose", cell, CellResult({"validation": 90.0 if best else 80.0}))
    tested = grid.final_bundles(SETTINGS, results)
    assert [{cell.seed for cell in bundle.cells} for bundle in tested] == [{0}, {1}, {2}]
    assert {(c.learning_rate, c.label_scale) for b in tested for c in b.cells} == {(3.0, None), (10.0, 4.0)}
    assert {bundle.needs for bundle in tested} == {
        (grid.teacher_cell(SETTINGS.conditions[0], s).key,) for s in range(3)
    }


def test_collapsed_runs_count_in_the_choice():
    settings = changed(tuning_seeds=2)
    results = StageResults()
    for bundle in grid.choice_bundles(settings, StageResults()):
        for cell in bundle.cells:
            collapsed = cell.learning_rate == 10.0 and cell.seed == 1_000_001
            value = 50.0 if collapsed else 90.0 + cell.learning_rate / 10
            results.add("choose", cell, CellResult({"validation": value}))
    assert grid.chosen_settings(settings, results)["4 neurons", "hard"].learning_rate == 3.0


def test_only_the_test_stage_sees_the_test_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(training, "correct", lambda logits, rows: seen.append(len(rows.y)) or np.ones(9, dtype=bool))
    (bundle,) = grid.choice_bundles(SETTINGS, StageResults())
    rows = condition_rows(bundle.cells[0].condition, bundle.cells[0].seed)
    arrays = {need: {"logits": np.linspace(-1, 1, len(rows.train.y))} for need in bundle.needs}
    results = training.train(SETTINGS, bundle.cells[:4], arrays)
    assert seen == []
    assert all(set(result.metrics) == {"validation", "best_step"} for result in results)


def test_settings_of_another_condition_are_used_without_a_choice():
    first, second = SETTINGS.conditions
    settings = changed(conditions=(first, second.model_copy(update={"settings_of": first.name})))
    assert {cell.condition.name for b in grid.choice_bundles(settings, StageResults()) for cell in b.cells} == {
        first.name
    }
    results = StageResults()
    for bundle in grid.choice_bundles(settings, StageResults()):
        for cell in bundle.cells:
            results.add("choose", cell, CellResult({"validation": cell.learning_rate}))
    chosen = grid.chosen_settings(settings, results)
    assert chosen[second.name, "hard"] == chosen[first.name, "hard"]
    (tested, *_) = grid.final_bundles(settings, results)
    assert {cell.condition.width for cell in tested.cells} == {4, 8}


def test_rows_of_a_condition():
    condition = SETTINGS.conditions[0]
    one, other = (condition_rows(condition, seed) for seed in (0, 1))
    assert len(one.train.y) + len(one.validation.y) == 400
    assert not np.array_equal(one.train.X, other.train.X)
    np.testing.assert_array_equal(one.test.X, other.test.X)
    seen = {row.tobytes() for row in np.concatenate([one.train.X, one.validation.X])}
    assert not seen & {row.tobytes() for row in one.test.X}
    assert np.linalg.norm(one.train.X, axis=1).max() <= 1 + 1e-6
    table = condition_rows(Condition(name="table", data="wine", task=None), 0)
    assert table.classes == 3


def test_label_noise_replaces_the_share_it_says_with_other_classes():
    y = np.arange(1000) % 5
    noisy = noisy_labels(y, 5, 0.3, seed=2)
    assert (noisy != y).sum() == 300
    assert set(np.unique(noisy)) == set(range(5))
    condition = SETTINGS.conditions[0].model_copy(update={"label_noise": 0.3})
    clean, dirty = (condition_rows(one, 3) for one in (SETTINGS.conditions[0], condition))
    np.testing.assert_array_equal(clean.test.y, dirty.test.y)
    total = sum((part.y == 1).sum() for part in (dirty.train, dirty.validation))
    assert total != sum((part.y == 1).sum() for part in (clean.train, clean.validation))


@pytest.mark.parametrize(
    "teacher",
    [{"width": 16}, {"width": 16, "depth": 2}, {"width": 16, "members": 2}, {"width": None}],
    ids=["two layers", "three layers", "ensemble", "infinite"],
)
@pytest.mark.parametrize("task", ["label>4", None])
def test_every_kind_of_teacher_learns(teacher, task):
    rows = condition_rows(Condition(name="x", data="digits", task=task, rows=600), 0)
    outputs = teacher_outputs(ConditionTeacher(**teacher), rows, epochs=5, seed=0)
    for logits, part in zip(outputs, (rows.train, rows.validation, rows.test), strict=True):
        assert logits.shape == ((len(part.y),) if task else (len(part.y), 10))
        assert training.correct(logits, part).mean() > (0.8 if task else 0.7)


@pytest.mark.parametrize("shape", [(50,), (50, 4)])
def test_soft_labels_have_the_size_that_was_chosen(shape):
    logits = np.random.default_rng(0).normal(3, 20, shape)
    labels = training.softened(logits, 2.0)
    assert np.sqrt(np.mean(labels.values**2)) == pytest.approx(2.0)
    decided = logits > 0 if logits.ndim == 1 else logits.argmax(1)
    np.testing.assert_array_equal(labels.decisions() > 0 if logits.ndim == 1 else labels.decisions(), decided)


def test_disagreement_is_that_of_pairs():
    table = 100.0 * (np.random.default_rng(0).random((5, 40)) < 0.7)
    pairs = [np.mean(table[a] != table[b]) for a in range(5) for b in range(a)]
    assert disagreement(table) == pytest.approx(100 * np.mean(pairs))


def test_samples_of_other_data_sets_are_independent():
    """A difference of two data sets: half-widths add in quadrature."""
    rng = np.random.default_rng(1)
    conditions = (SETTINGS.conditions[0], SETTINGS.conditions[0].model_copy(update={"name": "b", "data": "mnist"}))
    settings = changed(conditions=conditions)

    class Difference(WidthStudy):
        def endpoints(self, settings):
            return [Endpoint.difference("difference", settings.conditions[:1], settings.conditions[1:])]

    results = StageResults()
    for bundle in grid.teacher_bundles(settings, results):
        for cell in bundle.cells:
            results.add("teach", cell, CellResult({"examples": 200}, {"correct": np.packbits(rng.random(200) < 0.9)}))
    for bundle in grid.choice_bundles(settings, results):
        for cell in bundle.cells:
            results.add("choose", cell, CellResult({"validation": 1.0}))
    for bundle in grid.final_bundles(settings, results):
        for cell in bundle.cells:
            results.add("test", cell, CellResult({}, {"correct": np.packbits(rng.random(200) < 0.8)}))
    result = ConditionsResult(Difference(settings), results)
    parts = [paired_gap(result.correct(one, "soft"), result.correct(one, "hard")) for one in conditions]
    half = np.hypot(*(part.half_width(0.05) for part in parts))
    assert result.primary.mean == pytest.approx(parts[0].mean - parts[1].mean)
    assert (result.primary.high - result.primary.low) / 2 == pytest.approx(half)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conditions": ()}, "at least 1 item"),
        ({"conditions": (SETTINGS.conditions[0],) * 2}, "different names"),
        ({"runs": 1}, "greater than or equal to 2"),
        ({"recipe": RECIPE.model_dump() | {"hard_learning_rates": (1.0,)}}, "both must have the same number"),
        ({"recipe": RECIPE.model_dump() | {"hard_learning_rates": (3.0, 3.0)}}, "must be different numbers"),
        ({"conditions": ({"name": "a", "settings_of": "b"},)}, "must name a condition that chooses its own"),
        ({"conditions": ({"name": "a", "width": 5},)}, "width must be even"),
        ({"conditions": ({"name": "a", "init": "he2"},)}, "unknown init"),
        ({"conditions": ({"name": "a", "label_noise": 1.0},)}, "less than 1"),
        ({"conditions": ({"name": "a", "teacher": {"width": None, "depth": 2}},)}, "infinite `width`"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises((ValidationError, InputError), match=message):
        changed(**changes)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"rows": 5000}, "more than the"),
        ({"rows": 20, "task": None}, "too few"),
        ({"label_noise": 0.5}, "leaves nothing to learn"),
    ],
)
def test_data_that_do_not_suffice_are_refused_before_anything_trains(condition, message):
    settings = changed(conditions=({"name": "a", "data": "digits"} | condition,))
    with pytest.raises(InputError, match=message):
        settings.check_data()


def test_equal_numbers_of_settings():
    assert len(ConditionRecipe(**RECIPE.model_dump()).hard_learning_rates) == 2
