"""The mechanism as a study, small, on scikit-learn's digits; measures against their definitions."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.errors import InputError
from softlabel.lab import CellResult, StageResults
from softlabel.networks import Student, TrainingOptions, hard_labels, train_students
from softlabel.studies.mechanism import MechanismResult, MechanismSettings, MechanismStudy
from softlabel.studies.mechanism.result import displacement_at
from softlabel.studies.mechanism.settings import ALL, EASY
from softlabel.studies.mechanism.training import MEASURES, Gauge, MechanismCell, checkpoints, path_every, students_of
from softlabel.studies.run import Execution, run_in
from softlabel.teachers.kernel_limit import KernelLimitTeacher
from softlabel.theory.margin import init_margin, margin


def small(**changes) -> MechanismSettings:
    values = {
        "data": "digits", "rows": 40, "teacher_rows": 300, "width": 16, "iterations": 60, "checkpoints": 3,
        "radius": 5.0, "matched_error": 0.3, "work_limit": 1e9, "runs": 2,
    }  # fmt: skip
    return MechanismSettings(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("mechanism") / "run"
    return run_dir, run_in(run_dir, MechanismStudy(small()), Execution(threads=1, progress=False))


def test_it_is_judged_and_drawn(finished):
    run_dir, result = finished
    document = result.to_dict()
    json.dumps(document, allow_nan=False)
    assert len(document["rows"]) == 2 * 6 + 2 * 2
    assert result.primary.low <= result.primary.mean <= result.primary.high
    names = {path.stem for path in (run_dir / "figures").iterdir()}
    assert names == {"displacement", "features", "direction", "ball"}
    assert "Written down before the run: Question:" in result.report.read_text()
    for row in result.rows:
        assert row.end["displacement"] > 0
        assert (row.displacement is None) == (row.labels == "hard")
        if row.radius is not None:
            assert max(row.values["displacement"]) <= row.radius * (1 + 1e-5)


def test_measures_are_what_they_say():
    """Each against its definition, in plain loops, at the last step."""
    settings = small(iterations=50, checkpoints=2)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    limit = KernelLimitTeacher.from_margin(margin(x, y, work_limit=1e8), x, y)
    gauge = Gauge(settings, x, y, limit, seed=4)
    options = TrainingOptions(callback=gauge.measure, callback_every=5, precision="float64")
    student = Student(width=16, seed=4, radius=None, learning_rate=5.0)
    (trained,) = train_students(x, [student], hard_labels(y), iterations=50, options=options)
    hidden, start = trained.network.hidden.numpy(), gauge.start
    measured = {name: gauge.values[name][-1][0] for name in MEASURES}
    assert measured["error"] == np.mean(trained.network.logits(x) * y <= 0)
    lengths = [np.linalg.norm(hidden[j] - start[j]) for j in range(16)]
    assert measured["displacement"] == pytest.approx(np.sqrt(sum(length**2 for length in lengths)))
    flips = [(hidden[j] @ row > 0) != (start[j] @ row > 0) for j in range(16) for row in x]
    assert measured["flipped"] == pytest.approx(np.mean(flips))

    def kernel(weights):
        return np.array([[np.mean([(w @ a > 0) * (w @ b > 0) for w in weights]) * (a @ b) for b in x] for a in x])

    drift = np.linalg.norm(kernel(hidden) - kernel(start)) / np.linalg.norm(kernel(start))
    assert measured["kernel"] == pytest.approx(drift)
    assert measured["margin"] == pytest.approx(init_margin(x, y, hidden))
    signs = trained.network.output.numpy()[0]
    u = np.array([signs[j] / 4 * limit.v(start[j][None])[0] for j in range(16)])
    along = ((hidden - start) * u).sum()
    assert measured["multiple"] == pytest.approx(along / (u**2).sum())
    assert measured["cosine"] == pytest.approx(along / np.linalg.norm(u) / np.linalg.norm(hidden - start))
    assert gauge.values["displacement"][0] == [0.0]
    assert [len(gauge.values["margin"]), len(gauge.paths["error"])] == [3, 11]
    assert gauge.paths["displacement"][-1] == gauge.values["displacement"][-1]


def test_paths_are_measured_at_every_checkpoint_too():
    assert path_every(small()) == 1
    assert path_every(small(iterations=4000, checkpoints=8)) == 10
    assert path_every(small(iterations=1060, checkpoints=2)) == 10
    assert checkpoints(small()) == [0, 20, 40, 60]


def invented(ratio: float) -> MechanismResult:
    """Students that move `ratio` times as far as with hard labels."""
    settings = small(runs=6)
    results = StageResults()
    steps = len(checkpoints(settings))
    for seed in settings.seeds:
        noise = np.random.default_rng(seed).normal(1, 0.01)
        for dataset in (ALL, EASY):
            students = students_of(settings, dataset)
            factors = np.array([1.0 if name == "hard" else ratio * noise for name, _ in students])
            along = np.linspace(0, 1, steps)[:, None]
            arrays = dict.fromkeys(MEASURES, along * factors)
            arrays["error"] = 0.5 - 0.4 * along * np.ones(len(students))
            points = np.linspace(0, 1, 7)[:, None]
            arrays["path: displacement"] = points * factors
            arrays["path: error"] = np.where(points == 0, 1.0, 0.5 - 0.4 * points) * np.ones(len(students))
            arrays["test"] = np.full(len(students), 90.0)
            cell = MechanismCell(dataset=dataset, seed=seed)
            results.add("train", cell, CellResult({"teacher": 98.0, "initial_margin": 0.02}, arrays))
    return MechanismResult(settings, results)


@pytest.mark.parametrize(("ratio", "words"), [(0.5, "stays nearer to its"), (2.0, "moves farther from its")])
def test_the_answer_follows_the_ratio(ratio, words):
    result = invented(ratio)
    assert words in result.summary[0]
    assert result.primary.mean == pytest.approx(ratio, rel=0.02)
    row = result.row(ALL, "soft", None)
    assert row.displacement.low < result.primary.low < result.primary.high < row.displacement.high  # adjusted
    assert row.matched.mean == pytest.approx(ratio, rel=0.02)


def test_displacement_at_an_error():
    error, moved = np.array([1.0, 0.5, 0.3, 0.1]), np.array([0.0, 0.5, 1.0, 2.0])
    assert displacement_at(error, moved, 0.2) == pytest.approx(1.5)
    assert displacement_at(error, moved, 0.1) == pytest.approx(2.0)
    assert displacement_at(error, moved, 0.05) is None
    assert displacement_at(error, moved, 0.5) is None  # reached before the first step that was measured


def test_bad_settings_are_refused():
    for changes in (
        {"rows": 290},
        {"checkpoints": 61},
        {"checkpoints": 7},
        {"corrupted": 0.5},
        {"miscalibration": 1.0},
        {"runs": 1},
    ):
        with pytest.raises(ValidationError):
            small(**changes)
    with pytest.raises((ValidationError, InputError), match="width must be even"):
        small(width=15)
    with pytest.raises(InputError, match="more than the"):
        small(teacher_rows=100_000).check_data()
