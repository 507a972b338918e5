"""Figures 1 to 6 as a study, small, on scikit-learn's digits; verdicts from invented outcomes."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.lab import Outcome, Results
from softlabel.studies import running
from softlabel.studies.kernel_regime import Judgement
from softlabel.studies.kernel_regime.settings import PRESETS, KernelRegime
from softlabel.studies.kernel_regime.work import SeedCell, inputs, work

NAMES = (
    "teacher", "no teacher", "student", "λ = 0", "λ = ∞", "imperfect", "no start", "teacher, kernel", "student, kernel",
)  # fmt: skip
OVERLAPS = ("teacher", "imperfect teacher", "teacher, kernel", "student", "imperfect", "student, kernel")


def small(**changes) -> KernelRegime:
    values = {
        "data": "digits", "classes": "3,8", "teacher_width": 8, "student_width": 3, "iterations": 20, "early": 5,
        "records": 4, "step": 1e-3, "landmarks": 20, "kernels": 3, "top": 3, "runs": 2,
    }  # fmt: skip
    return KernelRegime(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regime") / "run"
    return folder, running.reproduce("kernel-regime", small(), folder, executor="serial", threads=1)


def test_every_figure_is_judged_and_drawn(finished):
    folder, done = finished
    figures = done.document["figures"]
    assert [figure["figure"] for figure in figures] == [f"Figure {k}" for k in range(1, 7)]
    assert {figure["verdict"] for figure in figures} <= {"holds", "holds partly", "does not hold", "open"}
    json.dumps(done.document, allow_nan=False)
    names = {path.name for path in (folder / "figures").iterdir()}
    assert names == {f"figure{k}.{ending}" for k in range(1, 7) for ending in ("png", "svg")}
    assert "Privileged knowledge in the kernel regime" in done.page.read_text()
    assert running.rebuild(folder).document == done.document


def test_a_seed_measures_what_it_says():
    (outcome,) = work(small(), [SeedCell(seed=3)], {})
    steps = outcome.arrays["steps"]
    assert steps[0] == 0
    assert steps[-1] == 20
    for name in NAMES:
        for part in ("train", "test"):
            assert outcome.arrays[f"{part}: {name}"].shape == steps.shape
    still = outcome.arrays["train: λ = ∞"]
    assert still == pytest.approx(np.full_like(still, still[0]), rel=1e-6)  # it knows already what it is to learn
    assert outcome.arrays["train: teacher"][-1] < outcome.arrays["train: teacher"][0]
    start = [outcome.arrays[f"train: {name}"][0] for name in ("student", "λ = 0", "λ = ∞")]
    assert start == pytest.approx([start[0]] * 3)
    for name in OVERLAPS:
        assert (outcome.arrays[f"overlap: {name}"] >= 0).all()
        assert (outcome.arrays[f"share: {name}"] <= 1 + 1e-6).all()


def test_inputs_have_norm_one_and_parts_do_not_overlap():
    held = inputs(small())
    for part in held.values():
        for x, y in (part.train, part.test):
            assert np.linalg.norm(x, axis=1) == pytest.approx(np.ones(len(x)), rel=1e-5)
            assert set(y) == {-1.0, 1.0}
    train, test = ({row.tobytes() for row in part[0]} for part in (held["images"].train, held["images"].test))
    assert not train & test


def invented(better: dict[str, float]) -> Results:
    """Outcomes in which every curve ends at 1, but for those named."""
    results = Results()
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(0, 1e-3)
        arrays = {"steps": np.array([0, 10])}
        metrics = {f"overlap: {name}": 0.1 + noise + 0.1 * ("kernel" in name) for name in OVERLAPS}
        for name in NAMES:
            end = better.get(name, 1.0) + np.random.default_rng([seed, len(name)]).normal(0, 1e-3)
            arrays |= {f"{part}: {name}": np.array([1.0, end]) for part in ("train", "test")}
        results.add("train", SeedCell(seed=seed), Outcome(metrics, arrays))
    return results


def test_verdicts_follow_the_outcomes():
    judged = Judgement(small(runs=4), invented({"student": 0.5, "λ = 0": 0.3, "teacher, kernel": 0.2}))
    verdicts = {figure.name: figure.verdict for figure in judged.figures}
    assert verdicts["Figure 1"] == "holds"
    assert verdicts["Figure 2"] == "holds partly"
    assert verdicts["Figure 3"] == "holds"
    assert verdicts["Figure 4"] == "holds partly"
    assert verdicts["Figure 5"] == "open"
    assert verdicts["Figure 6"] == "holds"
    bad = Judgement(small(runs=4), invented({"no teacher": 0.5}))
    assert bad.figures[0].verdict == "does not hold"


def test_settings_that_make_no_sense():
    with pytest.raises(ValidationError, match="must be below iterations"):
        small(early=20)
    with pytest.raises(ValidationError, match="must not exceed the teacher's"):
        small(student_width=9)
    assert all(preset.student_width == 20 and preset.teacher_width == 100 for preset in PRESETS.values())
