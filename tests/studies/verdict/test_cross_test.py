"""Every row is tested once: by default on small data, by students and teachers that never saw it."""

import numpy as np
import pytest

import softlabel as sl
from softlabel.data import load
from softlabel.errors import InputError
from softlabel.lab import ArtifactStore
from softlabel.lab.cross_test import crossed_gap
from softlabel.lab.driver import read_results
from softlabel.lab.scores import example_scores
from softlabel.studies.run import open_ledger
from softlabel.studies.students.folds import fold_count
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.verdict import VerdictStudy
from tests.studies.students.toy import Toy

OPTIONS = sl.VerdictOptions(epochs=3, batch_size=64, cross_test=3)
TOY = Toy(rows=240, sharp=1.5)


def decide(out, options=OPTIONS, data=TOY, **settings):
    settings = {"width": 3, "seeds": 3} | settings
    return sl.verdict(data.inputs, data.labels, data.truth, out=out, options=options,
                      execution=sl.Execution(progress=False), **settings)  # fmt: skip


def test_small_data_are_tested_in_folds_by_default(default_folds):
    problem = load((TOY.inputs, TOY.labels))
    assert fold_count(problem, None, "auto") == 5
    assert fold_count(problem, 0, "auto") == 0
    assert fold_count(problem, 7, "auto") == 7
    assert fold_count(problem, None, "labels.csv") == 0  # such a teacher may have learned from any row
    assert fold_count(problem, None, TOY.truth) == 0
    assert fold_count(load("digits"), None, "auto") == 5
    large = Toy(rows=5000)
    assert fold_count(load((large.inputs, large.labels)), None, "auto") == 0
    rare = np.zeros(240, dtype=int)
    rare[:12] = 1
    assert fold_count(load((TOY.inputs, rare)), None, "auto") == 0


def test_a_teacher_that_may_have_seen_the_rows_is_warned_of(caplog):
    problem = load((TOY.inputs, TOY.labels))
    fold_count(problem, 3, "auto")
    assert caplog.messages == []
    fold_count(problem, 3, TOY.truth)
    assert "may have learned from" in caplog.messages[0]


@pytest.mark.parametrize("count", [1, -1, 121])
def test_impossible_numbers_of_folds_are_refused(count):
    with pytest.raises(InputError, match="cross_test"):
        fold_count(load((TOY.inputs, TOY.labels)), count, "auto")


@pytest.mark.parametrize("metric", ["accuracy", "balanced accuracy", "auc", "log loss"])
def test_the_gap_is_that_of_all_rows_and_is_computed_as_stated(tmp_path, metric):
    result = decide(tmp_path, metric=metric)
    document = result.to_dict()
    assert document["cross_test"] == {"folds": 3}
    assert document["test_rows"]["rows"] == 240
    assert sum(result.settings.fold_rows) == 240
    with open_ledger(tmp_path) as ledger:
        results = read_results(VerdictStudy(result.settings), ledger)
    by_arm = {}
    for arm in ("soft", "hard"):
        tested = [(cell, one) for cell, one in results["look at 3 seeds"] if cell.arm == arm]
        rows = [
            np.concatenate([one.arrays["scores"] for cell, one in sorted(tested, key=lambda pair: pair[0].fold)
                            if cell.seed == seed])
            for seed in range(3)
        ]  # fmt: skip
        by_arm[arm] = 100 * np.array(rows, dtype=np.float64)
    gap = crossed_gap(by_arm["soft"], by_arm["hard"], np.repeat(range(3), result.settings.fold_rows))
    assert document["gap"]["mean"] == pytest.approx(gap.mean)
    assert document["gap"]["high"] - document["gap"]["low"] >= 2 * gap.half_width(document["gap"]["failure"]) - 1e-9


def problems_of(run_dir):
    """The problems of a run's folds, as its students got them."""
    store, names = ArtifactStore(run_dir), open_ledger(run_dir).meta("artifacts")
    return [TaughtProblem.from_arrays(store.arrays(names[f"problem {k}"])) for k in range(len(names))]


def test_no_student_is_trained_or_tuned_on_the_rows_that_test_it(tmp_path):
    decide(tmp_path)
    seen = []
    for fold in problems_of(tmp_path):
        rows = {name: {row.tobytes() for row in fold.part(name).X} for name in ("train", "validation", "test")}
        assert not rows["test"] & (rows["train"] | rows["validation"])
        seen.append(len(rows["test"]))
    assert sum(seen) == 240


def test_teachers_that_are_trained_here_label_each_fold_on_their_own(tmp_path):
    toy = Toy(rows=150, sharp=1.5)
    result = sl.verdict(toy.inputs, toy.labels, width=2, seeds=2, out=tmp_path, execution=sl.Execution(progress=False),
                        options=sl.VerdictOptions(epochs=2, cross_test=2))  # fmt: skip
    first, second = problems_of(tmp_path)
    assert not np.array_equal(first.train.logits, second.train.logits)
    assert 0.5 < result.teacher_metric <= 1


def test_a_verdict_in_folds_resumes(tmp_path):
    whole = decide(tmp_path / "a", seeds=6)
    decide(tmp_path / "b", seeds=6)
    again = decide(tmp_path / "b", seeds=6)
    assert {**whole.to_dict(), "report": 0, "teacher": 0} == {**again.to_dict(), "report": 0, "teacher": 0}


def test_synthetic_rows_are_an_arm_of_their_own(tmp_path):
    options = sl.VerdictOptions(epochs=3, augment=1.5, cross_test=0)
    result = decide(tmp_path, options)
    assert set(result.arms) == {"hard", "soft", "smooth", "augmented"}
    assert {(c.first, c.second) for c in result.comparisons} >= {("augmented", "soft"), ("augmented", "hard")}
    assert "synthetic rows" in str(result)
    with pytest.raises(InputError, match="exclude each other"):
        decide(tmp_path / "x", sl.VerdictOptions(augment=1.0, transfer=TOY.inputs))
    with pytest.raises(InputError, match="augment must lie between"):
        decide(tmp_path / "x", sl.VerdictOptions(augment=-1.0))


def test_scores_within_folds_have_the_mean_of_the_folds():
    rng = np.random.default_rng(0)
    said, truth = rng.dirichlet([1, 1], 90), rng.integers(0, 2, 90)
    parts = np.array_split(np.arange(90), 4)
    joined = np.concatenate([example_scores("auc", said[part], truth[part]) for part in parts])
    weighted = sum(len(part) * example_scores("auc", said[part], truth[part]).mean() for part in parts) / 90
    assert joined.mean() == pytest.approx(weighted)
