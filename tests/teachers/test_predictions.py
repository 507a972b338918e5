"""A teacher's predictions: labels for students, rows without predictions, and their identity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import softmax

from softlabel.errors import InputError
from softlabel.teachers.predictions import TeacherPredictions, call_milliseconds, student_logits, teacher_columns

LOGITS = np.array([[2.0, -1.0, 0.5], [-3.0, 0.0, 1.0], [0.0, 0.0, 4.0]])


def predictions(logits=LOGITS, **more):
    return TeacherPredictions(np.asarray(logits, dtype=np.float64), "t", "logits", **more)


def test_labels_for_students():
    assert predictions().labels(np.array([2, 0])).values == pytest.approx(LOGITS[[2, 0]])
    two = predictions([[1.0, 3.0], [0.5, -0.5]]).labels(np.arange(2))
    assert two.kind == "logits"
    assert two.values == pytest.approx([2.0, -1.0])
    p = softmax([1.0, 3.0])
    assert two.targets()[0, 0] == pytest.approx(p[1])


@given(arrays.arrays(np.float64, 6, elements=st.floats(-50, 50)))
def test_student_outputs_and_teacher_columns_are_converses(z):
    assert np.array_equal(student_logits(teacher_columns(z)), z)


def test_rows_without_predictions():
    partial = predictions(np.vstack([LOGITS, np.full((1, 3), np.nan)]))
    assert partial.known.tolist() == [True, True, True, False]
    assert np.isnan(partial.probabilities[3]).all()
    assert partial.probabilities[:3] == pytest.approx(softmax(LOGITS, axis=1))
    with pytest.raises(InputError, match="no prediction for 1 of 2 rows"):
        partial.labels(np.array([0, 3]))


def test_predictions_must_fit_together():
    with pytest.raises(InputError, match="NaN in the entire row; see row 2"):
        predictions([[0.0, 1.0], [np.nan, 1.0]])
    with pytest.raises(InputError, match=r"classes ≥ 2"):
        predictions([[0.0], [1.0]])
    with pytest.raises(InputError, match="must have 3 columns"):
        predictions(transfer=np.zeros((4, 2)))
    with pytest.raises(InputError, match="unlabeled rows must be finite"):
        predictions(transfer=np.full((1, 3), np.nan))
    with pytest.raises(InputError, match="logits or probabilities, not 'hard'"):
        TeacherPredictions(LOGITS, "t", "hard")


def test_the_fingerprint_is_of_logits_and_transfer():
    moved = LOGITS.copy()
    moved[1, 2] += 1e-12
    prints = {
        partial.fingerprint
        for partial in (
            predictions(),
            predictions(moved),
            predictions(transfer=LOGITS),
            predictions(transfer=LOGITS[:2]),
        )
    }
    assert len(prints) == 4
    assert predictions().fingerprint == TeacherPredictions(LOGITS.copy(), "another", "logits").fingerprint


def test_latency_is_a_median():
    calls = []
    assert 0 <= call_milliseconds(lambda: calls.append(1)) < 100
    assert len(calls) == 30


def test_the_repr_is_one_line():
    assert repr(predictions()) == "<TeacherPredictions: 3 rows, 3 classes, logits; t>"
