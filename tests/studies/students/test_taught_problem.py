"""A problem with its teacher's predictions, as an artifact: every bit comes back, and any executor reads it."""

import numpy as np
import pytest

import softlabel as sl
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.lab import ArtifactStore
from softlabel.studies.students.taught_problem import PARTS, TaughtProblem, TaughtRows
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.sources import query_teacher
from tests.studies.students.toy import Toy

TOY = Toy(rows=120)


def from_toy(unlabeled: np.ndarray | None = None, **settings) -> TaughtProblem:
    problem = TOY.problem(**settings)
    return TaughtProblem.from_predictions(problem, query_teacher(problem, TOY.truth, transfer=unlabeled), unlabeled)


def from_images() -> TaughtProblem:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    problem = sl.load((rng.random((90, 3, 6, 7)).astype(np.float32), labels))
    return TaughtProblem.from_predictions(problem, query_teacher(problem, lambda x: np.asarray(x)[:, :, 0, 0]))


def partly_known() -> TaughtProblem:
    """Test rows without predictions are NaN."""
    problem = TOY.problem()
    logits = query_teacher(problem, TOY.truth).logits.copy()
    logits[problem.test.rows[::2]] = np.nan
    return TaughtProblem.from_predictions(problem, TeacherPredictions(logits, "a file", "logits"))


CASES = {
    "table": from_toy,
    "unlabeled rows": lambda: from_toy(Toy(rows=30, seed=5).inputs),
    "unscaled": lambda: from_toy(scale="none"),
    "images": from_images,
    "rows without predictions": partly_known,
}


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def same_rows(first: TaughtRows | None, second: TaughtRows | None) -> bool:
    if first is None or second is None:
        return first is second
    return all(same_bits(getattr(first, name), getattr(second, name)) for name in ("X", "y", "logits"))


@pytest.mark.parametrize("case", CASES)
def test_it_comes_back_from_an_artifact_bit_for_bit(case, tmp_path):
    problem = CASES[case]()
    key = ArtifactStore(tmp_path).put(problem.to_arrays())
    read = TaughtProblem.from_arrays(ArtifactStore(tmp_path).arrays(key))
    assert all(same_rows(problem.part(name), read.part(name)) for name in PARTS)
    assert same_rows(problem.unlabeled, read.unlabeled)
    assert problem.example is not None
    assert read.example is not None
    assert same_bits(problem.example, read.example)
    for name in ("classes", "scaler", "columns", "image_shape", "name"):
        assert getattr(read, name) == getattr(problem, name)
    assert ArtifactStore(tmp_path).put(read.to_arrays()) == key
    for mine, theirs in zip(problem.labels().values(), read.labels().values(), strict=True):
        assert same_bits(mine.targets(2.0, 0.0), theirs.targets(2.0, 0.0))
    if problem.unlabeled is not None:
        assert same_bits(problem.extended, read.extended)


def test_what_differs_has_another_key(tmp_path):
    store = ArtifactStore(tmp_path)
    assert len({store.put(make().to_arrays()) for make in CASES.values()}) == len(CASES)


def test_names_of_any_kind_come_back(tmp_path):
    names = ["naïve 名前", 'a "b" \\ \x1b[31m', "</script>"]
    frame = {name: TOY.inputs[:, k] for k, name in enumerate(names)}
    polars = pytest.importorskip("polars")
    problem = Problem.from_arrays(polars.DataFrame(frame), np.where(TOY.labels, "ja ✓", "nein"))
    taught_problem = TaughtProblem.from_predictions(problem, query_teacher(problem, lambda x: np.asarray(x)[:, 0]))
    key = ArtifactStore(tmp_path).put(taught_problem.to_arrays())
    read = TaughtProblem.from_arrays(ArtifactStore(tmp_path).arrays(key))
    assert read.columns == tuple(names)
    assert read.classes == ("ja ✓", "nein")


def test_rows_without_predictions_are_known(tmp_path):
    problem = partly_known()
    assert problem.train.teacher_probabilities is not None
    assert problem.test.teacher_probabilities is None
    assert np.isnan(problem.test.logits[::2]).all()


def test_the_teacher_must_predict_every_training_row():
    problem = TOY.problem()
    logits = query_teacher(problem, TOY.truth).logits.copy()
    logits[problem.train.rows[:3]] = np.nan
    with pytest.raises(InputError, match="predicts nothing for 3 training rows"):
        TaughtProblem.from_predictions(problem, TeacherPredictions(logits, "a file", "logits"))
    with pytest.raises(InputError, match="go together"):
        TaughtProblem.from_predictions(problem, query_teacher(problem, TOY.truth), TOY.inputs[:5])
