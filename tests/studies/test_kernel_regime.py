"""Figures 1 to 6 as a study, small, on scikit-learn's digits; verdicts from invented results."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.lab import CellResult, StageResults
from softlabel.lab.statistics import crossed_mean, student_interval
from softlabel.studies.kernel_regime import PRESETS, KernelRegimeResult, KernelRegimeSettings, KernelRegimeStudy
from softlabel.studies.kernel_regime.training import SeedCell, regime_inputs, train
from softlabel.studies.rebuild import read_run
from softlabel.studies.run import Execution, run_in

NAMES = (
    "teacher", "no teacher", "student", "λ = 0", "λ = ∞", "imperfect", "no start", "teacher, kernel", "student, kernel",
)  # fmt: skip
OVERLAPS = ("teacher", "imperfect teacher", "teacher, kernel", "student", "imperfect", "student, kernel")


def small(**changes) -> KernelRegimeSettings:
    values = {
        "data": "digits", "classes": "3,8", "teacher_width": 8, "student_width": 3, "iterations": 20, "early": 5,
        "records": 4, "learning_rate": 1e-3, "landmarks": 20, "kernels": 3, "top": 3, "runs": 2,
    }  # fmt: skip
    return KernelRegimeSettings(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("regime") / "run"
    return run_dir, run_in(run_dir, KernelRegimeStudy(small()), Execution(threads=1, progress=False))


def test_every_figure_is_judged_and_drawn(finished):
    run_dir, result = finished
    document = result.to_dict()
    figures = document["figures"]
    assert [figure["figure"] for figure in figures] == [f"Figure {k}" for k in range(1, 7)]
    assert {figure["verdict"] for figure in figures} <= {"holds", "holds partly", "does not hold", "open"}
    json.dumps(document, allow_nan=False)
    names = {path.name for path in (run_dir / "figures").iterdir()}
    assert names == {f"figure{k}.{ending}" for k in range(1, 7) for ending in ("png", "svg")}
    assert "Privileged knowledge in the kernel regime" in result.report.read_text()
    assert read_run(run_dir).to_dict() == document
    assert repr(result).startswith("<KernelRegimeResult: What the paper's figures claim: ")
    assert len(result.plot().axes) == 2
    assert "data:image/svg+xml" in result._repr_html_()


def test_a_seed_measures_what_it_says():
    (result,) = train(small(), [SeedCell(seed=3)], {})
    steps = result.arrays["steps"]
    assert steps[0] == 0
    assert steps[-1] == 20
    for name in NAMES:
        for part in ("train", "test"):
            assert result.arrays[f"{part}: {name}"].shape == steps.shape
    still = result.arrays["train: λ = ∞"]
    assert still == pytest.approx(np.full_like(still, still[0]), rel=1e-6)  # it knows already what it is to learn
    assert result.arrays["train: teacher"][-1] < result.arrays["train: teacher"][0]
    initial = [result.arrays[f"train: {name}"][0] for name in ("student", "λ = 0", "λ = ∞")]
    assert initial == pytest.approx([initial[0]] * 3)
    for name in NAMES:
        assert result.arrays[f"errors: {name}"].mean() == pytest.approx(result.metrics[f"test: {name}"], rel=1e-4)
    for name in OVERLAPS:
        assert (result.arrays[f"overlap: {name}"] >= 0).all()
        assert (result.arrays[f"share: {name}"] <= 1 + 1e-6).all()


def test_inputs_have_norm_one_and_parts_do_not_overlap():
    inputs = regime_inputs(small())
    for part in inputs.values():
        for x, y in (part.train, part.test):
            assert np.linalg.norm(x, axis=1) == pytest.approx(np.ones(len(x)), rel=1e-5)
            assert set(y) == {-1.0, 1.0}
    train, test = ({row.tobytes() for row in part[0]} for part in (inputs["images"].train, inputs["images"].test))
    assert not train & test


def invented(better: dict[str, float]) -> StageResults:
    """Results in which every curve ends at 1, except those named."""
    results = StageResults()
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(0, 1e-3)
        arrays = {"steps": np.array([0, 10])}
        metrics = {f"share: {name}": 0.1 + noise + 0.1 * ("kernel" in name) for name in OVERLAPS}
        for name in NAMES:
            end = better.get(name, 1.0) + np.random.default_rng([seed, len(name)]).normal(0, 1e-3)
            arrays |= {f"{part}: {name}": np.array([1.0, end]) for part in ("train", "test")}
            arrays[f"errors: {name}"] = end + np.random.default_rng(len(name)).normal(0, 1e-3, 50)
        results.add("train", SeedCell(seed=seed), CellResult(metrics, arrays))
    return results


def test_verdicts_follow_the_outcomes():
    result = KernelRegimeResult(small(runs=4), invented({"student": 0.5, "λ = 0": 0.3, "teacher, kernel": 0.2}))
    verdicts = {figure.name: figure.verdict for figure in result.figures}
    assert verdicts["Figure 1"] == "holds"
    assert verdicts["Figure 2"] == "holds partly"
    assert verdicts["Figure 3"] == "holds"
    assert verdicts["Figure 4"] == "holds partly"
    assert verdicts["Figure 5"] == "open"
    assert verdicts["Figure 6"] == "holds"
    assert result.answer == (
        "What the paper's figures claim: Figures 1, 3 and 6 hold; Figures 2 and 4 hold partly; Figure 5 is open."
    )
    assert result.figures[1].confirmed == "2 of 4 comparisons confirm it, 2 against it"
    assert result.figures[4].confirmed == "0 of 2 comparisons confirm it, 2 undecided"
    bad = KernelRegimeResult(small(runs=4), invented({"no teacher": 0.5}))
    assert bad.figures[0].verdict == "does not hold"


def test_intervals_are_adjusted_and_test_losses_speak_of_images_too():
    result = KernelRegimeResult(small(runs=4), invented({"student": 0.5}))
    train, test, _ = result.figures[0].comparisons
    this, that = (np.array(values) for values in train.values)
    _, low, high = student_interval(that - this, 0.95)
    assert train.low < low < high < train.high
    assert train.that - train.this == pytest.approx((that - this).mean())
    errors = invented({"student": 0.5})["train"]
    tables = [np.stack([r.arrays[f"errors: {name}"] for _, r in errors]) for name in ("student", "no teacher")]
    expected = crossed_mean(tables[1] - tables[0]).interval(1 - 0.05 / 19)
    assert (test.low, test.high) == pytest.approx(expected)
    assert len(test.values[0]) == 4


def test_settings_that_make_no_sense():
    with pytest.raises(ValidationError, match="must be below `iterations`"):
        small(early=20)
    with pytest.raises(ValidationError, match="must not exceed `teacher_width`"):
        small(student_width=9)
    for changes in ({"rows": 30, "top": 30}, {"rows": 30, "landmarks": 31}):
        with pytest.raises(ValidationError, match=r"`rows` \(30\) must exceed `top`"):
            small(**changes)
    assert all(preset.student_width == 20 and preset.teacher_width == 100 for preset in PRESETS.values())
