"""Verdicts on problems whose answer is known, their documents, and runs that are taken up again."""

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score

import softlabel as sl
from softlabel.errors import InputError
from softlabel.studies.rebuild import read_run
from softlabel.studies.students.families import family_of
from softlabel.studies.students.recipe import Recipe, StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.students.training import probabilities, train_cells
from softlabel.teachers.sources import query_teacher
from tests.studies.students.quick import verdict
from tests.studies.students.toy import Toy

SCIKIT = {
    "accuracy": lambda truth, said: accuracy_score(truth, said.argmax(1)),
    "balanced accuracy": lambda truth, said: balanced_accuracy_score(truth, said.argmax(1)),
    "auc": lambda truth, said: roc_auc_score(truth, said[:, 1]),
    "log loss": lambda truth, said: log_loss(truth, said[:, 1]),
}
QUICK = {"width": 4, "epochs": 6, "batch_size": 128, "seeds": 8}
NOISY = Toy(rows=1500, sharp=0.8)


def test_true_probabilities_win_over_noisy_labels(tmp_path):
    toy = Toy(rows=2000, sharp=0.6, columns=20)
    problem = toy.problem(shares=(0.2, 0.2, 0.6))
    settings = QUICK | {"width": 16, "epochs": 20}
    found = verdict(problem, teacher=toy.truth, metric="log loss", out=tmp_path, **settings)
    assert found.verdict == "soft wins"
    assert found.to_dict()["gap"]["low"] > 0
    arms = found.to_dict()["arms"]
    assert arms["soft"]["log_loss"] < arms["hard"]["log_loss"]
    assert arms["soft"]["mean"] == pytest.approx(arms["soft"]["log_loss"])
    assert "Yes, distill" in str(found)


def test_a_wrong_teacher_loses_and_is_warned_of(tmp_path, caplog):
    caplog.set_level("INFO", "softlabel")
    toy = Toy(rows=1500, sharp=2.5)
    found = verdict(toy.inputs, toy.labels, toy.wrong, out=tmp_path, **QUICK)
    assert found.verdict == "hard wins"
    assert found.to_dict()["gap"]["high"] < 0
    assert "do not distill" in str(found)


def test_where_both_are_always_right_there_is_no_difference(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=6000)
    inputs = rng.standard_normal((6000, 3)) * 0.1 + 4 * labels[:, None]

    def teacher(x):
        return (np.asarray(x)[:, 0] > 2) * 0.98 + 0.01

    found = verdict(inputs, labels, teacher, out=tmp_path / "many", **QUICK)
    assert found.verdict == "no difference"
    assert found.to_dict()["runs"] == 5  # the first look decides
    assert found.to_dict()["runs_needed"] is None
    assert "does not help" in str(found)
    few = verdict(inputs[:600], labels[:600], teacher, out=tmp_path / "few", **QUICK)
    assert few.verdict == "undecided"  # 120 rows without a difference leave room for rows that were not met
    assert few.to_dict()["runs_needed"] is None
    assert few.to_dict()["test_rows_needed"] > 500


def test_the_document_has_the_keys_that_scripts_rely_on(tmp_path):
    found = verdict(NOISY.inputs, NOISY.labels, NOISY.truth, out=tmp_path, **(QUICK | {"seeds": 3}))
    document = found.to_dict()
    assert set(document) >= {"verdict", "gap", "arms", "runs", "runs_needed", "report"}
    assert set(document["gap"]) >= {"mean", "low", "high"}
    assert set(document["arms"]) == {"hard", "soft", "smooth"}
    assert document["runs"] == 3
    assert document["gap"]["low"] <= document["gap"]["mean"] <= document["gap"]["high"]
    json.dumps(document, allow_nan=False)
    assert found.report.is_file()
    points = 100 * (document["arms"]["soft"]["mean"] - document["arms"]["hard"]["mean"])
    assert document["gap"]["mean"] == pytest.approx(points)


def test_unlabeled_rows_have_an_arm_of_their_own(tmp_path):
    toy = Toy(rows=300, sharp=1.0)
    more = Toy(rows=2000, seed=5).inputs
    settings = QUICK | {"seeds": 4, "epochs": 20}
    found = verdict(toy.inputs, toy.labels, toy.truth, transfer=more, metric="log loss", out=tmp_path, **settings)
    arms = found.to_dict()["arms"]
    assert set(arms) == {"hard", "soft", "smooth", "transfer"}
    assert arms["transfer"]["log_loss"] < arms["hard"]["log_loss"]
    assert any(c["first"] == "transfer" for c in found.to_dict()["comparisons"])
    assert "unlabeled rows" in str(found)


@pytest.mark.parametrize("metric", ["accuracy", "balanced accuracy", "auc", "log loss"])
def test_every_metric_is_that_of_the_students(tmp_path, metric):
    found = verdict(NOISY.inputs, NOISY.labels, NOISY.truth, metric=metric, out=tmp_path, **(QUICK | {"seeds": 2}))
    problem, settings = NOISY.problem(), found.to_dict()["settings"]
    taught = TaughtProblem.from_predictions(problem, query_teacher(problem, NOISY.truth))
    truth = problem.test.y
    means = []
    for arm in ("hard", "soft"):
        chosen = found.to_dict()["arms"][arm]["chosen"] | {"stage": "test", "arm": arm, "width": QUICK["width"]}
        cells = [StudentCell(seed=seed, **chosen) for seed in range(2)]
        recipe = Recipe.model_validate(settings["recipe"])
        heats = [student.calibration for student in family_of("two-layer").train(taught, recipe, cells)]
        trained = train_cells(taught, recipe, cells)
        said = [
            probabilities(student.network.logits(taught.test.X) / heat)
            for student, heat in zip(trained, heats, strict=True)
        ]
        means.append(np.mean([SCIKIT[metric](truth, each) for each in said]))
    assert [found.to_dict()["arms"][arm]["mean"] for arm in ("hard", "soft")] == pytest.approx(means, abs=1e-5)


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(tmp_path):
    def ask(out, progress=False):
        return verdict(
            NOISY.inputs, NOISY.labels, NOISY.truth, width=3, epochs=3, batch_size=256, seeds=12, equivalence=0.01,
            out=out, progress=progress,
        ).to_dict()  # fmt: skip

    def stop(at):
        if at.stage.startswith("look at 8"):
            raise KeyboardInterrupt

    whole = ask(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        ask(tmp_path / "broken", stop)
    again = ask(tmp_path / "broken")
    for key in ("gap", "arms", "runs", "looks", "verdict"):
        assert again[key] == whole[key]


def test_the_figure_shows_every_look_and_the_equivalence_range(tmp_path):
    from softlabel.report.drawing import chart_figure
    from softlabel.studies.verdict.page import verdict_page

    found = verdict(NOISY.inputs, NOISY.labels, NOISY.truth, out=tmp_path, **(QUICK | {"seeds": 4}))
    (chart,) = verdict_page(found).charts
    gap, students = chart.panels
    assert (list(gap.series[0].low), list(gap.series[0].high)) == ([found.gap.low], [found.gap.high])
    assert gap.series[0].marks  # one look has an interval, too
    assert gap.band == (-0.5, 0.5)
    for k, series in enumerate(students.series):
        places = students.positions(series)
        assert len(set(places)) == 4
        assert np.mean(places) == pytest.approx(k)
        assert max(abs(place - k) for place in places) < 0.3
    bottom, top = chart_figure(chart).axes[0].get_ylim()
    assert bottom < min(found.gap.low, -0.5)
    assert top > max(found.gap.high, 0.5)
    page = found.report.read_text()
    assert '"y0":-0.5' in page
    assert '"y1":0.5' in page


def test_the_page_is_rebuilt_without_the_data(tmp_path):
    settings = QUICK | {"seeds": 2}
    found = verdict(NOISY.inputs, NOISY.labels, NOISY.truth, out=tmp_path / "run", **settings)
    before = found.report.read_text()
    code = "import sys, pathlib; from softlabel.studies.rebuild import read_run; read_run(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=True)
    assert found.report.read_text() == before
    assert read_run(tmp_path / "run").to_dict()["gap"] == found.to_dict()["gap"]


def test_a_folder_of_other_data_is_refused(tmp_path):
    settings = QUICK | {"seeds": 2}
    verdict(NOISY.inputs, NOISY.labels, NOISY.truth, out=tmp_path, **settings)
    other = Toy(rows=1500, sharp=0.8, seed=9)
    with pytest.raises(InputError, match="other settings"):
        verdict(other.inputs, other.labels, other.truth, out=tmp_path, **settings)


def test_too_few_test_rows_are_said_at_once(tmp_path, caplog):
    caplog.set_level("INFO", "softlabel")
    small = Toy(rows=90)
    with pytest.raises(InputError, match="18 rows for the test, and at least 20 are needed: provide at least 100"):
        verdict(small.inputs, small.labels, small.truth, out=tmp_path, **QUICK)
    few = Toy(rows=300)
    found = verdict(few.inputs, few.labels, few.truth, out=tmp_path / "few", **QUICK)
    assert caplog.messages[0].startswith("60 test rows")
    assert found.to_dict()["test_rows"]["rows"] == 60


def test_the_warning_before_the_run_does_not_depend_on_the_number_of_seeds(tmp_path, caplog):
    def teacher(inputs):
        raise RuntimeError("the warning comes first")

    few = Toy(rows=300)
    for seeds in (2, 8, 40):
        with pytest.raises(InputError, match="comes first"):
            verdict(few.inputs, few.labels, teacher, out=tmp_path / str(seeds), **(QUICK | {"seeds": seeds}))
    (message,) = {line for line in caplog.messages if "test rows" in line}
    assert "whatever the number of seeds" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width"),
        ({"width": 10**8}, "choose a smaller `width`"),
        ({"equivalence": -1.0}, "equivalence"),
        ({"equivalence": float("nan")}, "equivalence"),
        ({"seeds": 1}, "seeds"),
        ({"confidence": 1.0}, "confidence"),
        ({"metric": "f1"}, "unknown metric"),
        ({"epochs": 0}, "epochs must be"),
        ({"batch_size": -1}, "batch_size must be"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_trained(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        verdict(NOISY.inputs, NOISY.labels, NOISY.truth, out=tmp_path / "run", **(QUICK | change))
    assert not (tmp_path / "run").exists()


def test_unlabeled_rows_that_are_test_rows_are_left_out(tmp_path, caplog):
    caplog.set_level("INFO", "softlabel")
    toy = Toy(rows=300)
    problem = toy.problem()
    more = np.concatenate([toy.inputs[problem.test.rows], Toy(rows=50, seed=5).inputs])
    settings = QUICK | {"seeds": 2}
    verdict(problem, teacher=toy.truth, transfer=more, out=tmp_path, **settings)
    assert any(line.startswith("note: 60 unlabeled rows are validation or test rows") for line in caplog.messages)
    with pytest.raises(InputError, match="every unlabeled row"):
        verdict(problem, teacher=toy.truth, transfer=more[:60], out=tmp_path / "none", **settings)


def test_other_unlabeled_rows_are_another_question(tmp_path):
    """Though a teacher that does not look at a column says the same about both."""
    toy = Toy(rows=300)
    toy.direction = np.array([1.0, 1.0, 0.0, 0.0])
    more = Toy(rows=60, seed=5).inputs
    other = more.copy()
    other[:, 3] *= 3
    settings = QUICK | {"seeds": 2, "out": tmp_path}
    verdict(toy.inputs, toy.labels, toy.truth, transfer=more, **settings)
    with pytest.raises(InputError, match="other settings"):
        verdict(toy.inputs, toy.labels, toy.truth, transfer=other, **settings)


def test_unlabeled_frames_have_the_columns_in_order(tmp_path):
    toy, names = Toy(rows=300), list("abcd")
    data, more = (pl.DataFrame(each.inputs, schema=names) for each in (toy, Toy(rows=60, seed=5)))
    settings = QUICK | {"seeds": 2}
    with pytest.raises(InputError, match="in order: 'd' is not 'a'"):
        verdict(data, toy.labels, toy.truth, transfer=more[names[::-1]], out=tmp_path / "no", **settings)
    text = more.with_columns(a=pl.lit("x"))
    with pytest.raises(InputError, match="unlabeled rows: inputs must be numbers"):
        verdict(data, toy.labels, toy.truth, transfer=text, out=tmp_path / "no", **settings)
    found = verdict(data, toy.labels, toy.truth, transfer=more, out=tmp_path / "run", **settings)
    assert "transfer" in found.to_dict()["arms"]


def test_a_file_is_no_run_folder(tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(InputError, match="run' is a file; choose another"):
        verdict(NOISY.inputs, NOISY.labels, NOISY.truth, out=tmp_path / "run", **QUICK)
    assert (tmp_path / "run").read_text() == "mine"


def test_rows_that_both_files_hold_are_part_of_the_answer(tmp_path, caplog):
    caplog.set_level("INFO", "softlabel")

    def write(name, toy, more=()):
        frame = pl.DataFrame(toy.inputs, schema=list("abcd")).with_columns(y=pl.Series(toy.labels))
        pl.concat([frame, *more]).write_csv(tmp_path / name)
        return frame

    own = write("train.csv", Toy(rows=300))
    write("test.csv", Toy(rows=100, seed=5), [own.head(20)])
    problem = sl.load(tmp_path / "train.csv", "y", test=tmp_path / "test.csv")
    teacher = Toy().truth
    found = verdict(problem, teacher=teacher, out=tmp_path / "run", **(QUICK | {"seeds": 2}))
    assert any(warning.startswith("20 of 120 test rows are also rows of") for warning in found.to_dict()["warnings"])
    assert "Warning: 20 of 120 test rows are also rows of 'train.csv'" in str(found)
    assert any(line.startswith("20 of 120") for line in caplog.messages)


def test_arms_of_a_seed_share_the_order_of_batches_however_wide(monkeypatch, tmp_path):
    from softlabel.studies.students import training
    from softlabel.studies.verdict import cells

    orders: dict[int, set[int]] = {}
    real = training.train_students

    def recording(inputs, students, labels, *, seed, **options):
        for student, order in zip(students, seed, strict=True):
            if student.seed < 100:  # not of the choice of settings
                orders.setdefault(student.seed, set()).add(order)
        return real(inputs, students, labels, seed=seed, **options)

    monkeypatch.setattr(training, "train_students", recording)
    monkeypatch.setattr(cells, "TRAINED_TOGETHER", 8)  # two students at a time
    verdict(NOISY.inputs, NOISY.labels, NOISY.truth, out=tmp_path, **(QUICK | {"seeds": 3}))
    assert sorted(orders) == [0, 1, 2]
    assert all(len(order) == 1 for order in orders.values())
    assert len(set.union(*orders.values())) == 3  # every seed has an own one


def test_arms_have_equal_budgets():
    from softlabel.studies.students.recipe import choices, recipe_for

    def rates(recipe, arm):
        return {choice["learning_rate"] for choice in choices(recipe, arm)}

    deep = Recipe(epochs=1, batch_size=1, learning_rates=(1e-3,), temperatures=(2.0, 4.0), smoothings=())
    assert rates(deep, "soft") <= rates(deep, "hard")
    for radius in (False, True):
        recipe = recipe_for(1000, search_radius=radius)
        counts = {arm: len(choices(recipe, arm)) for arm in ("hard", "soft", "smooth", "transfer")}
        assert rates(recipe, "soft") <= rates(recipe, "hard")
        assert len(set(counts.values())) == 1
        assert all(len({json.dumps(c) for c in choices(recipe, arm)}) == counts[arm] for arm in counts)


@pytest.mark.parametrize(
    ("metric", "assumption"),
    [
        ("accuracy", "if students of two arms differ on 5% of them"),
        ("balanced accuracy", "if students of two arms differ on 5% of the rows of every class"),
        ("auc", "if both arms have an AUC of about 0.9"),
        ("log loss", "is unknown before the run"),
    ],
)
def test_one_answer_names_one_number_of_test_rows(tmp_path, metric, assumption, caplog):
    """Before the run an assumption that is named, by metric; in the answer what was measured, and that alone."""
    caplog.set_level("INFO", "softlabel")
    toy = Toy(rows=300, sharp=1.0)
    settings = QUICK | {"seeds": 3, "epochs": 2}
    found = verdict(toy.inputs, toy.labels, toy.truth, metric=metric, out=tmp_path, **settings)
    before = [line for line in caplog.messages if "test rows" in line]
    assert len(before) == 1
    assert assumption in before[0]
    assert assumption not in str(found)
    assert not any("test rows" in warning for warning in found.to_dict()["warnings"])
    numbers = set(re.findall(r"at least ([\d,]+) test rows and ([\d,]+) seeds", str(found) + found.report.read_text()))
    needed = found.to_dict()["test_rows_needed"]
    assert numbers == (set() if needed is None else {(f"{needed:,}", f"{found.analysis.seeds:,}")})
    assert found.to_dict()["test_rows"]["rows"] == 60
    assert found.to_dict()["test_rows"]["half_width"] >= 0
    assert (found.verdict == "undecided") == (needed is not None or found.to_dict()["runs_needed"] is not None)
