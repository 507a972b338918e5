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
from softlabel.studies.practice import Held, Recipe, StudentCell, train_cells
from softlabel.studies.practice.students import probabilities
from softlabel.studies.running import rebuild
from softlabel.teachers.asking import ask_teacher
from tests.studies.practice.toy import Toy

SCIKIT = {
    "accuracy": lambda truth, said: accuracy_score(truth, said.argmax(1)),
    "balanced accuracy": lambda truth, said: balanced_accuracy_score(truth, said.argmax(1)),
    "auc": lambda truth, said: roc_auc_score(truth, said[:, 1]),
    "log loss": lambda truth, said: log_loss(truth, said[:, 1]),
}
QUICK = {"width": 4, "epochs": 6, "batch": 128, "seeds": 8}
NOISY = Toy(rows=1500, sharp=0.8)


def test_true_probabilities_win_over_noisy_labels(tmp_path):
    toy = Toy(rows=2000, sharp=0.6, columns=20)
    problem = toy.problem(shares=(0.2, 0.2, 0.6))
    settings = QUICK | {"width": 16, "epochs": 20}
    found = sl.verdict(problem, teacher=toy.truth, metric="log loss", folder=tmp_path, **settings)
    assert found.verdict == "soft wins"
    assert found.document["gap"]["low"] > 0
    arms = found.document["arms"]
    assert arms["soft"]["log_loss"] < arms["hard"]["log_loss"]
    assert arms["soft"]["mean"] == pytest.approx(arms["soft"]["log_loss"])
    assert "Yes, distil" in str(found)


def test_a_wrong_teacher_loses_and_is_warned_of(tmp_path):
    said: list[str] = []
    toy = Toy(rows=1500, sharp=2.5)
    found = sl.verdict(toy.inputs, toy.labels, toy.wrong, folder=tmp_path, note=said.append, **QUICK)
    assert found.verdict == "hard wins"
    assert found.document["gap"]["high"] < 0
    assert "do not distil" in str(found)


def test_where_both_are_always_right_there_is_no_difference(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=6000)
    inputs = rng.standard_normal((6000, 3)) * 0.1 + 4 * labels[:, None]

    def teacher(x):
        return (np.asarray(x)[:, 0] > 2) * 0.98 + 0.01

    found = sl.verdict(inputs, labels, teacher, folder=tmp_path / "many", **QUICK)
    assert found.verdict == "no difference"
    assert found.document["runs"] == 5  # the first look decides
    assert found.document["runs_needed"] is None
    assert "does not help" in str(found)
    few = sl.verdict(inputs[:600], labels[:600], teacher, folder=tmp_path / "few", **QUICK)
    assert few.verdict == "undecided"  # 120 rows without a difference leave room for rows that were not met
    assert few.document["runs_needed"] is None
    assert few.document["test_rows_needed"] > 500


def test_the_document_has_the_keys_that_scripts_rely_on(tmp_path):
    found = sl.verdict(NOISY.inputs, NOISY.labels, NOISY.truth, folder=tmp_path, **(QUICK | {"seeds": 3}))
    document = found.document
    assert set(document) >= {"verdict", "gap", "arms", "runs", "runs_needed", "report"}
    assert set(document["gap"]) >= {"mean", "low", "high"}
    assert set(document["arms"]) == {"hard", "soft", "smooth"}
    assert document["runs"] == 3
    assert document["gap"]["low"] <= document["gap"]["mean"] <= document["gap"]["high"]
    json.dumps(document, allow_nan=False)
    assert found.page.is_file()
    points = 100 * (document["arms"]["soft"]["mean"] - document["arms"]["hard"]["mean"])
    assert document["gap"]["mean"] == pytest.approx(points)


def test_unlabelled_rows_have_an_arm_of_their_own(tmp_path):
    toy = Toy(rows=300, sharp=1.0)
    more = Toy(rows=2000, seed=5).inputs
    settings = QUICK | {"seeds": 4, "epochs": 20}
    found = sl.verdict(toy.inputs, toy.labels, toy.truth, transfer=more, metric="log loss", folder=tmp_path, **settings)
    arms = found.document["arms"]
    assert set(arms) == {"hard", "soft", "smooth", "transfer"}
    assert arms["transfer"]["log_loss"] < arms["hard"]["log_loss"]
    assert any(c["first"] == "transfer" for c in found.document["comparisons"])
    assert "unlabelled rows" in str(found)


@pytest.mark.parametrize("metric", ["accuracy", "balanced accuracy", "auc", "log loss"])
def test_every_metric_is_that_of_the_students(tmp_path, metric):
    found = sl.verdict(
        NOISY.inputs, NOISY.labels, NOISY.truth, metric=metric, folder=tmp_path, **(QUICK | {"seeds": 2})
    )
    problem, settings = NOISY.problem(), found.document["settings"]
    held = Held(problem, ask_teacher(problem, NOISY.truth))
    truth = problem.truth("test")
    means = []
    for arm in ("hard", "soft"):
        chosen = found.document["arms"][arm]["chosen"] | {"stage": "test", "arm": arm, "width": QUICK["width"]}
        cells = [StudentCell(seed=seed, **chosen) for seed in range(2)]
        trained = train_cells(held, Recipe.model_validate(settings["recipe"]), cells, 0)
        said = [probabilities(student.network.logits(held.inputs["test"])) for student in trained]
        means.append(np.mean([SCIKIT[metric](truth, each) for each in said]))
    assert [found.document["arms"][arm]["mean"] for arm in ("hard", "soft")] == pytest.approx(means, abs=1e-5)


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(tmp_path):
    def ask(folder, watch=None):
        return sl.verdict(
            NOISY.inputs, NOISY.labels, NOISY.truth, width=3, epochs=3, batch=256, seeds=12, margin=0.01,
            folder=folder, watch=watch,
        ).document  # fmt: skip

    def stop(at):
        if at.stage.startswith("look at 8"):
            raise KeyboardInterrupt

    whole = ask(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        ask(tmp_path / "broken", stop)
    again = ask(tmp_path / "broken")
    for key in ("gap", "arms", "runs", "looks", "verdict"):
        assert again[key] == whole[key]


def test_the_page_is_rebuilt_without_the_data(tmp_path):
    settings = QUICK | {"seeds": 2}
    found = sl.verdict(NOISY.inputs, NOISY.labels, NOISY.truth, folder=tmp_path / "run", **settings)
    before = found.page.read_text()
    code = "import sys, pathlib; from softlabel.studies.running import rebuild; rebuild(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=True)
    assert found.page.read_text() == before
    assert rebuild(tmp_path / "run").document["gap"] == found.document["gap"]


def test_a_folder_of_other_data_is_refused(tmp_path):
    settings = QUICK | {"seeds": 2}
    sl.verdict(NOISY.inputs, NOISY.labels, NOISY.truth, folder=tmp_path, **settings)
    other = Toy(rows=1500, sharp=0.8, seed=9)
    with pytest.raises(InputError, match="other settings"):
        sl.verdict(other.inputs, other.labels, other.truth, folder=tmp_path, **settings)


def test_too_few_test_rows_are_said_at_once(tmp_path):
    small = Toy(rows=90)
    with pytest.raises(InputError, match="18 rows for the test; fewer than 20 decide nothing: bring at least 100"):
        sl.verdict(small.inputs, small.labels, small.truth, folder=tmp_path, **QUICK)
    said: list[str] = []
    few = Toy(rows=300)
    found = sl.verdict(few.inputs, few.labels, few.truth, folder=tmp_path / "few", note=said.append, **QUICK)
    assert said[0].startswith("warning: 60 test rows")
    assert found.document["test_rows"]["rows"] == 60


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width"),
        ({"width": 10**8}, "take fewer neurons"),
        ({"margin": -1.0}, "margin"),
        ({"margin": float("nan")}, "margin"),
        ({"seeds": 1}, "seeds"),
        ({"confidence": 1.0}, "confidence"),
        ({"metric": "f1"}, "unknown metric"),
        ({"epochs": 0}, "epochs must be"),
        ({"batch": -1}, "batch must be"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_trained(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        sl.verdict(NOISY.inputs, NOISY.labels, NOISY.truth, folder=tmp_path / "run", **(QUICK | change))
    assert not (tmp_path / "run").exists()


def test_unlabelled_rows_that_are_test_rows_are_left_out(tmp_path):
    toy = Toy(rows=300)
    problem = toy.problem()
    said: list[str] = []
    more = np.concatenate([toy.inputs[problem.parts["test"]], Toy(rows=50, seed=5).inputs])
    settings = QUICK | {"seeds": 2}
    sl.verdict(problem, teacher=toy.truth, transfer=more, folder=tmp_path, note=said.append, **settings)
    assert any(line.startswith("note: 60 unlabelled rows are validation or test rows") for line in said)
    with pytest.raises(InputError, match="every unlabelled row"):
        sl.verdict(problem, teacher=toy.truth, transfer=more[:60], folder=tmp_path / "none", **settings)


def test_other_unlabelled_rows_are_another_question(tmp_path):
    """Though a teacher that does not look at a column says the same about both."""
    toy = Toy(rows=300)
    toy.direction = np.array([1.0, 1.0, 0.0, 0.0])
    more = Toy(rows=60, seed=5).inputs
    other = more.copy()
    other[:, 3] *= 3
    settings = QUICK | {"seeds": 2, "folder": tmp_path}
    sl.verdict(toy.inputs, toy.labels, toy.truth, transfer=more, **settings)
    with pytest.raises(InputError, match="other settings"):
        sl.verdict(toy.inputs, toy.labels, toy.truth, transfer=other, **settings)


def test_unlabelled_frames_have_the_columns_in_order(tmp_path):
    toy, names = Toy(rows=300), list("abcd")
    data, more = (pl.DataFrame(each.inputs, schema=names) for each in (toy, Toy(rows=60, seed=5)))
    settings = QUICK | {"seeds": 2}
    with pytest.raises(InputError, match="in order: 'd' is not 'a'"):
        sl.verdict(data, toy.labels, toy.truth, transfer=more[names[::-1]], folder=tmp_path / "no", **settings)
    text = more.with_columns(a=pl.lit("x"))
    with pytest.raises(InputError, match="unlabelled rows: inputs must be numbers"):
        sl.verdict(data, toy.labels, toy.truth, transfer=text, folder=tmp_path / "no", **settings)
    found = sl.verdict(data, toy.labels, toy.truth, transfer=more, folder=tmp_path / "run", **settings)
    assert "transfer" in found.document["arms"]


def test_a_file_is_no_run_folder(tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(InputError, match="run' is a file; name another"):
        sl.verdict(NOISY.inputs, NOISY.labels, NOISY.truth, folder=tmp_path / "run", **QUICK)
    assert (tmp_path / "run").read_text() == "mine"


def test_rows_that_both_files_hold_are_part_of_the_answer(tmp_path):
    def write(name, toy, more=()):
        frame = pl.DataFrame(toy.inputs, schema=list("abcd")).with_columns(y=pl.Series(toy.labels))
        pl.concat([frame, *more]).write_csv(tmp_path / name)
        return frame

    own = write("train.csv", Toy(rows=300))
    write("test.csv", Toy(rows=100, seed=5), [own.head(20)])
    problem = sl.load_problem(tmp_path / "train.csv", "y", test=tmp_path / "test.csv")
    said: list[str] = []
    teacher = Toy().truth
    found = sl.verdict(problem, teacher=teacher, folder=tmp_path / "run", note=said.append, **(QUICK | {"seeds": 2}))
    assert any(warning.startswith("20 of 120 test rows are rows of") for warning in found.document["warnings"])
    assert "Warning: 20 of 120 test rows are rows of 'train.csv' too" in str(found)
    assert any(line.startswith("warning: 20 of 120") for line in said)


def test_nothing_is_kept_in_memory_afterwards(tmp_path):
    from softlabel.studies.practice import held

    sl.verdict(NOISY.inputs, NOISY.labels, NOISY.truth, folder=tmp_path, **(QUICK | {"seeds": 2}))
    assert held._HELD == {}


def test_arms_of_a_seed_share_the_order_of_batches_however_wide(monkeypatch, tmp_path):
    from softlabel.studies.verdict import cells

    orders: dict[int, set[int]] = {}
    real = cells.train_cells

    def watched(held, recipe, given, order_seed=None):
        for cell in given:
            if cell.stage == "test":
                orders.setdefault(cell.seed, set()).add(order_seed)
        return real(held, recipe, given, order_seed)

    monkeypatch.setattr(cells, "train_cells", watched)
    monkeypatch.setattr(cells, "BUNDLE_NEURONS", 8)  # two students at a time
    sl.verdict(NOISY.inputs, NOISY.labels, NOISY.truth, folder=tmp_path, **(QUICK | {"seeds": 3}))
    assert sorted(orders) == [0, 1, 2]
    assert all(len(order) == 1 for order in orders.values())


def test_arms_have_equal_budgets():
    from softlabel.studies.practice import Recipe, choices, recipe_for

    deep = Recipe(epochs=1, batch=1, steps=(1e-3,), temperatures=(2.0, 4.0), smoothings=())
    assert {choice["step"] for choice in choices(deep, "soft")} <= {choice["step"] for choice in choices(deep, "hard")}
    for radius in (False, True):
        recipe = recipe_for(1000, search_radius=radius)
        counts = {arm: len(choices(recipe, arm)) for arm in ("hard", "soft", "smooth", "transfer")}
        assert {c["step"] for c in choices(recipe, "soft")} <= {c["step"] for c in choices(recipe, "hard")}
        assert len(set(counts.values())) == 1
        assert all(len({json.dumps(c) for c in choices(recipe, arm)}) == counts[arm] for arm in counts)


@pytest.mark.parametrize(
    ("metric", "assumption"),
    [
        ("accuracy", "if students of two arms differ on 5% of them"),
        ("balanced accuracy", "if students of two arms differ on 5% of the rows of every class"),
        ("auc", "if both arms have an AUC of about 0.9"),
        ("log loss", "cannot be told before the run"),
    ],
)
def test_one_answer_names_one_number_of_test_rows(tmp_path, metric, assumption):
    """Before the run an assumption that is named, by metric; in the answer what was measured, and that alone."""
    said: list[str] = []
    toy = Toy(rows=300, sharp=1.0)
    settings = QUICK | {"seeds": 3, "epochs": 2}
    found = sl.verdict(toy.inputs, toy.labels, toy.truth, metric=metric, folder=tmp_path, note=said.append, **settings)
    before = [line for line in said if "test rows" in line]
    assert len(before) == 1
    assert assumption in before[0]
    assert assumption not in str(found)
    assert not any("test rows" in warning for warning in found.document["warnings"])
    numbers = set(re.findall(r"about ([\d,]+) test rows", str(found) + found.page.read_text()))
    needed = found.document["test_rows_needed"]
    assert numbers == (set() if needed is None else {f"{needed:,}"})
    assert found.document["test_rows"]["rows"] == 60
    assert found.document["test_rows"]["half_width"] >= 0
    assert (found.verdict == "undecided") == (needed is not None or found.document["runs_needed"] is not None)
