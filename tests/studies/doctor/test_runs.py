"""Runs of verdict and plan, and of other studies: what their ledgers tell."""

import json

import numpy as np
import pytest

from softlabel.data.problem import Problem
from softlabel.errors import InputError, SoftlabelError
from softlabel.lab import Bundle, CellResult, Ledger, make_executor
from softlabel.studies.doctor import doctor
from softlabel.studies.doctor.runs import ledger_groups
from softlabel.studies.doctor.signatures import OPEN, examine_group
from softlabel.studies.run import Execution
from softlabel.studies.students.families.two_layer import calibrated
from softlabel.studies.students.measures import measured
from softlabel.studies.students.recipe import Recipe, StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.students.training import course_numbers, train_cells
from softlabel.studies.verdict import verdict
from softlabel.teachers.predictions import TeacherPredictions
from tests.lab.toys import run_study, toy
from tests.studies.doctor.test_signatures import SHORT, names

RECIPE = Recipe(epochs=30, batch_size=64)
SOME = {"stage": "test", "arm": "hard", "width": 16, "learning_rate": 0.05}


@pytest.fixture(scope="module")
def digits():
    """Digits, and the logits of a teacher that is right in nineteen rows of twenty."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    problem = Problem.from_arrays(x / 16, y, scale="unit")
    rng = np.random.default_rng(5)
    logits = 3 * np.eye(10)[problem.y] + 0.5 * rng.standard_normal((len(problem), 10))
    wrong = rng.random(len(problem)) < 0.05
    logits[wrong] = rng.standard_normal((int(wrong.sum()), 10))
    return problem, logits


def problem_with_teacher(problem, logits):
    return TaughtProblem.from_predictions(problem, TeacherPredictions(logits, "a teacher", "logits"))


def write_run(run_dir, digits, settings, seeds=3, study="verdict", epochs=30):
    """Write a ledger of students that are trained here, as a verdict does, and examine it."""
    cells = tuple(StudentCell(**(SOME | one), seed=seed) for one in settings for seed in range(seeds))  # type: ignore[arg-type]
    problem, recipe = problem_with_teacher(*digits), RECIPE.model_copy(update={"epochs": epochs})
    results = []
    tried = [cell for cell in cells if cell.stage == "choose"]
    taken = [cell for cell in cells if cell.stage != "choose"]
    cells = (*tried, *taken)
    for one in [one for part in (tried, taken) if part for one in train_cells(problem, recipe, part)]:
        numbers, _ = measured(problem, calibrated(problem, one), "accuracy", "validation")
        results.append(CellResult(numbers | {"validation": numbers["metric"]} | course_numbers(one)))
    run_dir.mkdir()
    error = {"accuracy": float((digits[1].argmax(1) == digits[0].y).mean())}
    with Ledger(run_dir / "ledger.sqlite") as ledger:
        ledger.set_meta(study=study, settings={"metric": "accuracy"}, facts={"audit": {"parts": {"train": error}}})
        ledger.record("stage", Bundle("students", cells), results, attempts=1, seconds=1.0)
    return doctor(run_dir)


def test_healthy_students_of_every_arm(tmp_path, digits):
    arms = [{}, {"arm": "soft", "learning_rate": 0.02, "temperature": 2.0}, {"arm": "smooth", "smoothing": 0.1}]
    result = write_run(tmp_path / "run", digits, arms)
    assert names(result) == set()
    assert result.examined == (
        f"run '{tmp_path / 'run'}' of verdict, 9 results, 9 courses of students with chosen settings",
    )


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"learning_rate": 0.001}, SHORT),
        ({"learning_rate": 0.003}, SHORT),
        ({"arm": "soft", "learning_rate": 0.001}, SHORT),
        ({"learning_rate": 1.0}, "dead neurons"),
        ({"learning_rate": 5.0}, "learning rate too large"),
        ({"width": 2}, "width too small"),
        ({"arm": "soft", "width": 2}, "width too small"),
        ({"radius": 1.0}, "radius too small"),
        ({"radius": 1.0, "arm": "soft"}, "radius too small"),
    ],
)
def test_mistakes_are_named_as_a_cosine_and_adam_show_them(tmp_path, digits, settings, name):
    epochs = 90 if name == "width too small" else 30  # ample, so that it is not the length that is too small
    result = write_run(tmp_path / "run", digits, [settings], epochs=epochs)
    assert name in names(result)
    finding = next(one for one in result.mistakes if one.name == name)
    assert finding.where["arm"] == settings.get("arm", "hard")
    assert finding.where["run"] == str(tmp_path / "run")


def test_a_radius_that_does_nothing_is_a_hint(tmp_path, digits):
    result = write_run(tmp_path / "run", digits, [{"radius": 5000.0}])
    assert "radius too large" in names(result, "hint")


def test_settings_that_were_only_tried_are_no_mistakes(tmp_path, digits):
    bad = [{"stage": "choose", "learning_rate": rate} for rate in (0.001, 1.0)]
    bad += [{"stage": "choose", "radius": 0.1}]
    assert names(write_run(tmp_path / "run", digits, [*bad, {}])) == set()
    assert names(write_run(tmp_path / "all", digits, [{**one, "stage": "test"} for one in bad])) >= {
        SHORT,
        "dead neurons",
        "radius too small",
    }


def test_the_best_learning_rate_at_the_edge_is_a_hint(tmp_path, digits):
    tried = [{"stage": "choose", "learning_rate": rate} for rate in (0.0005, 0.002, 0.01)]
    result = write_run(tmp_path / "run", digits, [*tried, {"learning_rate": 0.01}])
    (hint,) = [one for one in result.findings if one.name == "learning rate at the edge"]
    assert hint.severity == "hint"
    assert hint.evidence["best learning rate"] == 0.01
    assert hint.where["arm"] == "hard"
    assert "largest that was tried" in hint.remedy
    assert "train for more `epochs`" in hint.remedy, "no option changes the learning rates of a verdict"
    tried = [{"stage": "choose", "learning_rate": rate} for rate in (0.0005, 0.05, 5.0)]
    assert "learning rate at the edge" not in names(write_run(tmp_path / "wide", digits, tried), "hint")


def test_widths_of_a_ladder_are_narrow_on_purpose(tmp_path, digits):
    ladder = [{"stage": "search", "width": width} for width in (2, 4, 16)]
    result = write_run(tmp_path / "run", digits, ladder, study="plan")
    assert "width too small" not in names(result)
    assert "seeds disagree" not in names(result)
    result = write_run(tmp_path / "top", digits, ladder[:1], study="plan", epochs=90)
    assert "width too small" in names(result), "the widest width of a ladder is judged"


def test_one_finding_names_all_widths(tmp_path, digits):
    result = write_run(tmp_path / "run", digits, [{"width": width, "learning_rate": 0.001} for width in (8, 16)])
    (finding,) = [one for one in result.findings if one.name == SHORT]
    assert {finding.where["width"], *finding.where["also at width"]} == {8, 16}


def test_a_finished_verdict(tmp_path, digits):
    """A complete short run; other findings may be correct, so that only some mistakes are ruled out."""
    problem, logits = digits
    rows = np.random.default_rng(3).permutation(len(problem))[:400]
    smaller = Problem.from_arrays(problem.X[rows], problem.y[rows])
    execution = Execution(command="softlabel verdict digits", progress=False)
    verdict(smaller, teacher=lambda x: logits[rows], width=8, seeds=2, out=tmp_path / "run", execution=execution)
    result = doctor(tmp_path / "run")
    assert not names(result) & {SHORT, "learning rate too large", "dead neurons", "failed work", "radius too small"}
    assert "of verdict" in result.examined[0]
    assert not [one for one in result.findings if one.name == "unfinished run"]
    for lost, stage in (("stage LIKE 'look at%'", "look at 2 seeds"), ("stage != 'choose'", "epochs ×2")):
        forget(tmp_path / "run", lost)
        (finding,) = [one for one in doctor(tmp_path / "run").findings if one.name == "unfinished run"]
        assert finding.severity == "hint"
        assert finding.where["stage"] == stage
        assert finding.remedy == "rerun the same command: softlabel verdict digits"


def forget(run_dir, lost) -> None:
    """Remove the bundles of some stages from a ledger, as if the run had been interrupted before them."""
    with Ledger(run_dir / "ledger.sqlite") as ledger:
        ledger._db.execute(f"DELETE FROM outcomes WHERE bundle IN (SELECT key FROM bundles WHERE {lost})")
        ledger._db.execute(f"DELETE FROM bundles WHERE {lost}")
        ledger._db.execute(
            "DELETE FROM checksums WHERE of LIKE 'bundle %' AND substr(of, 8) NOT IN (SELECT key FROM bundles)"
        )


def test_failed_bundles_are_reported_with_their_reasons(tmp_path):
    trouble = tmp_path / "trouble"
    trouble.mkdir()
    for seed, accident in ((0, "diverge"), (3, "crash"), (6, "crash")):
        (trouble / f"first-{seed}").write_text(accident)
    with pytest.raises(SoftlabelError, match="failed"):
        run_study(toy(trouble=str(trouble)), tmp_path / "run", make_executor("serial", 1), threads=1)
    result = doctor(tmp_path / "run")
    assert names(result) == {"learning rate too large", "failed work"}
    crashed = next(one for one in result.findings if one.name == "failed work")
    assert crashed.evidence["failed"] == 2
    assert "ZeroDivisionError: nothing to divide" in crashed.evidence["the first"]
    diverged = next(one for one in result.findings if one.name == "learning rate too large")
    assert "diverged" in diverged.evidence["the first"]


def paper_run(run_dir, study, rows):
    from softlabel.studies.figure1.settings import TeacherTraining
    from softlabel.studies.figure1.training import Figure1Cell
    from softlabel.studies.table1.cells import Table1Cell

    teacher = TeacherTraining(epochs=1, learning_rate=1e-3)
    cells = [
        Table1Cell(
            stage="test", protocol="papers", leave_out=(), width=4, arm="hard", seed=seed, init="symmetric",
            radius=None, temperature=None, learning_rate=1.0,
        ) if study == "table1" else Figure1Cell(family="vgg", teacher=teacher, level=0.1, seed=seed)
        for seed in range(len(rows))
    ]  # fmt: skip
    run_dir.mkdir()
    with Ledger(run_dir / "ledger.sqlite") as ledger:
        ledger.set_meta(study=study, settings={})
        ledger.record("test", Bundle("all", tuple(cells)), [CellResult(row) for row in rows], attempts=1, seconds=1.0)
    return doctor(run_dir)


def test_seeds_of_other_studies_that_only_guess(tmp_path):
    result = paper_run(tmp_path / "a", "table1", [{"test": 95.0}, {"test": 50.2}, {"test": 94.0}])
    assert names(result) == {"seeds disagree"}
    assert result.findings[0].evidence["seeds no better than guessing"] == 1
    assert result.findings[0].where["width"] == "4"
    assert paper_run(tmp_path / "b", "table1", [{"test": 95.0}, {"test": 92.0}]).findings == ()
    rows = [{"hard: accuracy": value, "soft: accuracy": 0.9} for value in (0.8, 0.5)]
    result = paper_run(tmp_path / "c", "figure1", rows)
    assert [one.where["accuracy"] for one in result.mistakes] == ["hard: accuracy"]
    noisy = [{"hard: accuracy": value} for value in (0.52, 0.5)]
    assert paper_run(tmp_path / "d", "figure1", noisy).findings == (), "noise may leave nothing to learn"


def test_deep_students_leave_losses_alone(tmp_path):
    """Courses of a plan's deep students have no errors, and nothing of neurons."""
    cells = tuple(StudentCell(**(SOME | {"stage": "final"}), seed=seed) for seed in range(3))
    (tmp_path / "run").mkdir()
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        ledger.set_meta(study="plan", settings={"family": "vgg"})
        course = {"step": list(range(20)), "loss": np.linspace(2, 1.5, 20).tolist()}
        results = [CellResult({"validation": 0.5, "accuracy": 0.5, "course": course}) for _ in cells]
        ledger.record("final", Bundle("all", cells), results, attempts=1, seconds=1.0)
    assert names(doctor(tmp_path / "run")) == {SHORT}


def test_directories_that_are_not_runs(tmp_path):
    with pytest.raises(InputError, match="is not a run directory: it has neither ledger"):
        doctor(tmp_path)
    (tmp_path / "records.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be read"):
        doctor(tmp_path)
    (tmp_path / "records.json").write_text(json.dumps({"verb": "train", "students": [{"settings": {}}]}))
    with pytest.raises(InputError, match="not complete"):
        doctor(tmp_path)
    (tmp_path / "ledger.sqlite").write_text("not a database, but long enough to be read as one " * 20)
    with pytest.raises(InputError, match="is not a ledger of softlabel"):
        doctor(tmp_path)
    (tmp_path / "other").mkdir()
    Ledger(tmp_path / "other" / "ledger.sqlite").close()
    with pytest.raises(InputError, match="without a study"):
        doctor(tmp_path / "other")


def test_several_runs_at_once(tmp_path, digits):
    write_run(tmp_path / "a", digits, [{"learning_rate": 0.001}])
    write_run(tmp_path / "b", digits, [{}])
    result = doctor(tmp_path / "a", tmp_path / "b")
    assert len(result.examined) == 2
    assert {one.where["run"] for one in result.mistakes} == {str(tmp_path / "a")}


def moons(rows, seed):
    from sklearn.datasets import make_moons

    return make_moons(rows, noise=0.15, random_state=seed)


def spirals(rows, seed):
    rng = np.random.default_rng(seed)
    angle = np.sqrt(rng.random(rows // 2)) * 3 * np.pi
    arm = np.stack([-np.cos(angle) * angle, np.sin(angle) * angle], axis=1) + 0.3 * rng.random((rows // 2, 2))
    return np.concatenate([arm, -arm]), np.repeat([0, 1], rows // 2)


def rings(rows, seed):
    rng = np.random.default_rng(seed)
    y, angle = rng.integers(3, size=rows), rng.uniform(0, 2 * np.pi, rows)
    away = 0.5 + y + 0.2 * rng.standard_normal(rows)
    return away[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), y


def examined(data, seed, width, epochs, learning_rate, seeds=3):
    """Findings for students on these data, whose teacher makes no mistake."""
    x, y = data(800, seed)
    problem = Problem.from_arrays(x, y, seed=seed)
    problem = problem_with_teacher(problem, 8.0 * np.eye(y.max() + 1)[problem.y])
    settings = SOME | {"width": width, "learning_rate": learning_rate}
    cells = [StudentCell(**settings, seed=one) for one in range(seeds)]  # type: ignore[arg-type]
    rows = []
    for one in train_cells(problem, Recipe(epochs=epochs, batch_size=64), cells):
        numbers, _ = measured(problem, calibrated(problem, one), "accuracy", "validation")
        rows.append(one.cell.model_dump() | numbers | {"validation": 1.0} | course_numbers(one))
    (group,) = ledger_groups(rows, "cosine")
    return {one.name: one for one in examine_group(group, wider=0.0)}, group


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("data", "epochs", "rate"),
    [
        (moons, 1, 0.1), (moons, 2, 0.1), (moons, 6, 0.02), (moons, 12, 0.02), (spirals, 2, 0.02), (spirals, 6, 0.02),
        (spirals, 12, 0.02), (spirals, 6, 0.1), (rings, 1, 0.1), (rings, 4, 0.02),
    ],
)  # fmt: skip
def test_a_training_that_is_too_short_is_not_called_too_narrow(data, epochs, rate, seed):
    result, group = examined(data, seed, 64, epochs, rate)
    assert group.error >= 0.05
    assert "width too small" not in result
    assert SHORT in result or OPEN in result
    if OPEN in result:  # time is named before neurons
        remedy = result[OPEN].remedy
        assert remedy.index("train about 4 times as long (`epochs`)") < remedy.index(
            "use more neurons, e.g. `width` 256"
        )


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("data", "width"), [(moons, 1), (spirals, 2), (rings, 2)])
def test_too_few_neurons_with_ample_training_are_called_too_narrow(data, width, seed):
    result, _ = examined(data, seed, width, 120, 0.1)
    assert "width too small" in result
    assert not result.keys() & {SHORT, OPEN}


def test_wider_students_of_a_run_that_is_too_short_prove_nothing():
    """Wider students need fewer steps: that they are better after two epochs does not mean that neurons are missing."""
    _, group = examined(moons, 0, 64, 2, 0.1)
    (finding,) = examine_group(group, wider=0.0, wider_students=0.0)
    assert finding.name == OPEN
    assert "wider students learn in fewer of them" in finding.remedy
    (finding,) = examine_group(group, wider=0.0, wider_students=group.error)
    assert finding.name == OPEN


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_same_width_is_enough_in_a_longer_run(seed):
    """What the finding of a short run advises is right: only the number of epochs differs here."""
    short, before = examined(moons, seed, 64, 2, 0.1)
    long, after = examined(moons, seed, 64, 80, 0.1)
    assert OPEN in short
    assert after.error <= before.error - 0.05
    assert not long.keys() & {OPEN, SHORT, "width too small"}
