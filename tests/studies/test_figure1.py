"""Figure 1 as a study, small, on scikit-learn's digits; its verdict from invented results."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.data import add_noise
from softlabel.lab import CellResult, StageResults
from softlabel.studies.figure1 import PRESETS, Figure1Result, Figure1Settings, Figure1Study, training
from softlabel.studies.figure1.settings import TeacherTraining
from softlabel.studies.figure1.training import (
    Figure1Cell,
    cell_bundles,
    chosen_teachers,
    noisy_parts,
    teacher_bundles,
    train,
    train_teachers,
)
from softlabel.studies.rebuild import read_run
from softlabel.studies.run import Execution, run_in


def small(**changes) -> Figure1Settings:
    values = {
        "data": "digits", "classes": "3,8", "families": ("resnet",), "levels": (0.0, 0.5), "width_multiplier": 0.25,
        "epochs": 2, "runs": 2, "precision": "float32",
    }  # fmt: skip
    return Figure1Settings(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("figure1") / "run"
    return run_dir, run_in(run_dir, Figure1Study(small()), Execution(threads=1, progress=False))


def test_it_is_judged_and_drawn(finished):
    run_dir, result = finished
    document = result.to_dict()
    (family,) = document["families"]
    assert [level["noise"] for level in family["levels"]] == [0.0, 0.5]
    assert set(family["levels"][0]["arms"]) == {"teacher", "hard", "soft"}
    assert family["verdict"] in ("holds", "does not hold", "open")
    json.dumps(document, allow_nan=False)
    assert (run_dir / "figures" / "figure1.png").exists()
    text = result.report.read_text()
    assert "Do harder data gain more from soft labels?" in text
    assert "fixed before running" in text
    assert read_run(run_dir).to_dict() == document
    assert repr(result).startswith("<Figure1Result: ResNet-20 → ResNet-8: ")
    assert len(result.plot().axes) == 2
    assert "data:image/svg+xml" in result._repr_html_()


def test_noise_is_added_once_and_is_the_same_at_every_level():
    clean, weak, strong = (noisy_parts(small(), level, 3) for level in (0.0, 0.1, 0.2))
    sizes = [len(part) for part in clean]
    assert sum(sizes) == 357
    assert sizes[0] == pytest.approx(0.81 * 357, abs=1)
    for part in range(3):
        assert clean[part].labels.tolist() == weak[part].labels.tolist()
    clear, dim, loud = (add_noise(np.zeros((4, 9), np.float32), level, 3) for level in (0.0, 0.1, 0.2))
    assert not clear.any()
    assert loud == pytest.approx(2 * dim, rel=1e-5)
    repeated = noisy_parts(small(), 0.1, 3)
    assert [part.fingerprint for part in repeated] == [part.fingerprint for part in weak]
    assert float(weak[0].pixels.mean()) == pytest.approx(0, abs=1e-4)
    assert float(strong[0].pixels.std()) == pytest.approx(1, abs=1e-3)


def test_seeds_share_the_test_images_and_nothing_else():
    one, other = (noisy_parts(small(), 0.3, seed) for seed in (3, 4))
    assert one[2].labels.tolist() == other[2].labels.tolist()
    assert one[2].fingerprint != other[2].fingerprint  # with their own noise
    assert one[0].labels.tolist() != other[0].labels.tolist()


TEACHER = TeacherTraining(epochs=2, learning_rate=1e-3)


def test_a_cell_measures_what_it_says():
    cell = Figure1Cell(family="resnet", teacher=TEACHER, level=0.2, seed=1)
    (result,) = train(small(), [cell], {})
    for arm in ("teacher", "hard", "soft"):
        assert result.metrics[f"{arm}: accuracy"] == pytest.approx(result.arrays[f"correct: {arm}"].mean())
        assert 1 <= result.metrics[f"{arm}: epochs"] <= 2
    assert result.metrics["teacher: parameters"] > 3 * result.metrics["soft: parameters"]
    assert 0 <= result.metrics["soft: agreement"] <= 1
    (repeated,) = train(small(), [cell], {})
    assert repeated.metrics == result.metrics


def test_the_training_of_teachers_is_chosen_on_validation_images(monkeypatch):
    """The best of several on tuning seeds, without a look at test images; with one there is nothing to choose."""
    ways = tuple(TeacherTraining(epochs=epochs, learning_rate=1e-3) for epochs in (1, 2))
    settings = small(teachers=ways)
    bundles = teacher_bundles(settings, StageResults())
    assert [bundle.cells[0].seed for bundle in bundles] == [1_000_000] * 4
    assert {bundle.cells[0].level for bundle in bundles} == {0.0, 0.5}
    monkeypatch.setattr(training, "score_network", None)  # what evaluates on test images
    (measured,) = train_teachers(settings, bundles[0].cells, {})
    assert set(measured.metrics) == {"teacher: validation", "hard: validation"}
    results = StageResults()
    for bundle in bundles:
        for cell in bundle.cells:
            validation = {"teacher: validation": 0.6 + 0.1 * (cell.teacher is ways[1]), "hard: validation": 0.5}
            results.add("choose", cell, CellResult(validation))
    assert chosen_teachers(settings, results) == {"resnet": ways[1]}
    assert {bundle.cells[0].teacher for bundle in cell_bundles(settings, results)} == {ways[1]}
    assert teacher_bundles(small(), StageResults()) == []


def invented(
    gaps: np.ndarray,
    failed: tuple[tuple[str, int, float], ...] = (),
    teacher: float = 0.9,
    teachers: tuple[TeacherTraining, ...] = (),
    families: tuple[str, ...] = ("resnet",),
) -> Figure1Result:
    """Results with about these gaps (runs, levels) in points, at levels 0, 0.1, 0.2, on 1,000 test images.

    failed      arm, seed and level of students that never left chance
    teacher     accuracy of the teacher; that of a student with hard labels is 0.7
    teachers    ways to train the teacher that were compared
    """
    levels = (0.0, 0.1, 0.2)[: len(gaps[0])]
    settings = small(families=families, levels=levels, runs=len(gaps), teachers=teachers)
    results = StageResults()
    for bundle in teacher_bundles(settings, results):
        for cell in bundle.cells:
            results.add("choose", cell, CellResult({"teacher: validation": 0.85, "hard: validation": 0.75}))
    for seed, row in enumerate(gaps):
        for level, gap in zip(settings.levels, row, strict=True):
            accuracies = {"teacher": teacher, "hard": 0.7, "soft": 0.7 + gap / 100}
            accuracies |= {arm: 0.5 for arm, *where in failed if where == [seed, level]}
            metrics = {f"{arm}: validation": value for arm, value in accuracies.items()}
            others = ("parameters", "epochs", "calibration_error", "agreement")
            metrics |= {f"{arm}: {name}": 10 for arm in accuracies for name in others}
            arrays = {f"correct: {arm}": np.arange(1000) < 1000 * value for arm, value in accuracies.items()}
            for family in families:
                cell = Figure1Cell(family=family, teacher=TEACHER, level=level, seed=seed)
                results.add("train", cell, CellResult(metrics, arrays))
    return Figure1Result(settings, results)


@pytest.mark.parametrize(("slope", "verdict"), [(8.0, "holds"), (-8.0, "does not hold"), (0.0, "open")])
def test_the_slope_is_estimated_and_judged(slope, verdict):
    rng = np.random.default_rng(0)
    gaps = 2 + slope * np.arange(3) + rng.normal(0, 0.3, (6, 3))
    (family,) = invented(gaps).families
    assert family.slope.mean == pytest.approx(slope, abs=0.4)
    assert family.verdict == verdict
    assert family.levels[1].gap.mean == pytest.approx(gaps[:, 1].mean(), abs=0.1)
    by_hand = np.polyfit([0, 1, 2], gaps.T, 1)[0]
    assert family.slope.mean == pytest.approx(by_hand.mean(), abs=0.1)
    assert family.started == family.slope
    assert family.parts["learned"] == family.slope
    assert family.parts["at chance"].mean == 0
    assert len(family.levels[0].per_seed["accuracy"]["soft"]) == 6


def test_nothing_is_drawn_between_two_levels():
    for levels, marks in ((2, True), (3, False)):
        page = invented(np.full((6, levels), 1.0)).page()
        assert page.picture is not None
        assert {series.marks for panel in page.picture.panels for series in panel.series} == {marks}


def test_students_that_never_left_chance_are_told_apart():
    """Two of six hard students stay at chance at the last level: they make the gap, and are not among the started."""
    failed = (("hard", 1, 0.2), ("hard", 4, 0.2), ("soft", 2, 0.1))
    result = invented(np.full((6, 3), 1.0), failed)
    (family,) = result.families
    last = family.levels[-1]
    assert last.failed["hard"].mean == pytest.approx(2 / 6)
    assert last.failed["hard"].low < 2 / 6 < last.failed["hard"].high
    assert last.failed["soft"].mean == 0
    assert last.gap.mean == pytest.approx(1 + 2 / 6 * 20)
    assert (last.started.mean, last.started.runs) == (pytest.approx(1), 4)
    assert (family.started.mean, family.started.runs) == (pytest.approx(0, abs=1e-9), 3)
    assert family.slope.mean > 2
    assert "at noise 0.2: 2 of 6 (10% … 70%) with hard and 0 of 6 (0% … 39%) with soft labels" in result.summary[1]
    assert sum(part.mean for part in family.parts.values()) == pytest.approx(family.slope.mean)
    assert family.parts["learned"].mean == pytest.approx(0, abs=1e-9)
    assert all(part.runs == 6 for part in family.parts.values())
    assert "comes from 3 seeds with such a student" in result.summary[1]


def test_a_rise_from_a_loss_is_not_called_a_gain():
    rng = np.random.default_rng(0)
    rising = -20 + 8.0 * np.arange(3) + rng.normal(0, 0.3, (6, 3))
    assert "soft − hard rises with the noise" in invented(rising).answer
    assert "soft labels are not shown to win at any of these levels" in invented(rising).answer
    assert "not shown to win" not in invented(rising + 10).answer


def test_students_that_fail_make_no_teacher_better():
    """Two of four hard students at chance: the teacher is compared with the others, than which it is worse."""
    failed = (("hard", 0, 0.2), ("hard", 3, 0.2))
    result = invented(np.ones((4, 3)), failed, teacher=0.65)
    last = result.families[0].levels[-1]
    assert (last.ahead.mean, last.ahead.runs) == (pytest.approx(-5), 2)
    assert any("noise 0.2: the teacher is less accurate" in line for line in result.warnings)
    nobody = tuple(("hard", seed, 0.2) for seed in range(4))
    result = invented(np.ones((4, 3)), nobody)
    assert result.families[0].levels[-1].ahead is None
    assert "not known at noise 0.2" in result.summary[-1]
    assert result.families[0].started is None
    assert "4 of 4" in result.summary[1]
    most = invented(np.ones((4, 3)), nobody[:3])
    assert "comes from 3 seeds with such a student" in most.summary[1]
    json.dumps(result.to_dict(), allow_nan=False)
    assert "too few" in str(result.page().tables[1].rows[-1][5])


def test_teachers_that_never_left_chance_are_warned_of():
    result = invented(np.ones((4, 3)), (("teacher", 1, 0.1),))
    assert result.warnings[0] == ("ResNet-20 → ResNet-8, noise 0.1: 1 of 4 (5% … 70%) teachers never left chance.")


def test_the_choice_of_a_training_for_teachers_is_reported():
    ways = (TEACHER, TeacherTraining(epochs=3, learning_rate=1e-3, augment=True))
    result = invented(np.ones((4, 3)), teachers=ways)
    choice = result.to_dict()["choice"]
    assert [one["training"]["augment"] for one in choice] == [False, False, True, True]
    assert {(one["teacher"], one["hard"]) for one in choice} == {(85.0, 75.0)}
    table = result.page().extra_tables[-1]
    assert (len(table.rows), table.rows[-1][1]) == (
        4,
        "3 epochs, learning rate 0.001, constant schedule, augmented images",
    )


@pytest.mark.parametrize(("accuracy", "warnings"), [(0.9, 0), (0.7, 3), (0.6, 3)])
def test_a_teacher_that_is_no_better_than_its_student_is_warned_of(accuracy, warnings):
    result = invented(np.ones((4, 3)), teacher=accuracy)
    assert len(result.warnings) == len(result.page().warnings) == warnings
    ahead = result.to_dict()["families"][0]["levels"][0]["teacher_ahead"]["mean"]
    assert ahead == pytest.approx(100 * (accuracy - 0.7))
    assert "teacher − student with hard labels, where that student learned: " in result.summary[-1]


def test_the_page_answers_for_every_family_first():
    result = invented(np.ones((4, 3)), families=("vgg", "resnet"))
    first, *others = result.page().answer
    assert all(sentence in first for sentence in result.summary[:2])
    assert others == result.summary[2:]


def test_families_may_have_different_numbers_of_seeds():
    settings = small(families=("vgg", "resnet"), runs=4, resnet_runs=2)
    seeds = {"vgg": set(), "resnet": set()}
    for bundle in cell_bundles(settings, StageResults()):
        seeds[bundle.cells[0].family].add(bundle.cells[0].seed)
    assert seeds == {"vgg": {0, 1, 2, 3}, "resnet": {0, 1}}
    assert settings.seeds_of("resnet") == range(2)


def test_presets_and_bad_settings():
    assert set(PRESETS) == {"quick", "standard", "paper"}
    assert PRESETS["standard"].patience == PRESETS["paper"].patience == 20  # as in the paper
    assert PRESETS["paper"].width_multiplier == 1.0
    for changes in ({"levels": (0.1,)}, {"levels": (0.2, 0.1)}, {"levels": (-0.1, 0.1)}, {"levels": (0.0, 1.5)},
                    {"families": ()}, {"started": 40.0}, {"runs": 1},
                    {"teachers": [{"epochs": 0, "learning_rate": 1e-3}]},
                    {"teachers": [{"epochs": 2, "learning_rate": 1e-3}] * 2},
                    {"runs": 3, "resnet_runs": 4}):  # fmt: skip
        with pytest.raises(ValidationError):
            small(**changes)
