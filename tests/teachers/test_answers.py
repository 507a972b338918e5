"""Answers of every form become logits, and what cannot be read is said in one line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import softmax

from softlabel.errors import InputError
from softlabel.teachers.answers import (
    FLOOR,
    TeacherAnswers,
    call_milliseconds,
    class_order,
    floored,
    read_answers,
    student_logits,
    teacher_columns,
)

LOGITS = np.array([[2.0, -1.0, 0.5], [-3.0, 0.0, 1.0], [0.0, 0.0, 4.0]])


def read(table, classes=3, kind=None, rows=None):
    table = np.asarray(table)
    return read_answers(table, classes, kind, "teacher t", np.arange(len(table)) if rows is None else rows)


def test_logits_stay_and_probabilities_become_their_logarithms():
    found, kind = read(LOGITS)
    assert kind == "logits"
    assert np.array_equal(found, LOGITS)
    found, kind = read(softmax(LOGITS, axis=1))
    assert kind == "probabilities"
    assert softmax(found, axis=1) == pytest.approx(softmax(LOGITS, axis=1), abs=1e-12)


def test_labels_of_exactly_zero_stay_finite():
    found, _ = read([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    assert np.isfinite(found).all()
    assert found.min() == pytest.approx(np.log(1e-6))


@given(arrays.arrays(np.float64, (5, 4), elements=st.floats(0, 1)).filter(lambda p: (p.sum(axis=1) > 0.1).all()))
def test_the_floor_moves_no_probability_by_more_than_itself_times_the_classes(p):
    p = p / p.sum(axis=1, keepdims=True)
    assert np.abs(softmax(floored(p), axis=1) - p).max() <= 4 * FLOOR


def test_one_column_for_two_classes():
    found, kind = read([0.2, 0.9], classes=2)
    assert kind == "probabilities"
    assert softmax(found, axis=1)[:, 1] == pytest.approx([0.2, 0.9])
    found, kind = read([[0.2], [1.5]], classes=2)
    assert kind == "logits"
    assert student_logits(found) == pytest.approx([0.2, 1.5])


def test_the_kind_is_decided_by_all_rows_unless_named():
    rows = np.vstack([np.full((50, 3), 1 / 3), [[3.0, 1.0, -1.0]]])
    assert read(np.vstack([rows[:50]]))[1] == "probabilities"
    with_logits = np.vstack([LOGITS, rows[:2]])
    assert read(with_logits)[1] == "logits"
    assert read(rows[:50], kind="logits") == (pytest.approx(rows[:50]), "logits")
    assert read([0.2, 0.9], classes=2, kind="logits")[0][:, 1] == pytest.approx([0.2, 0.9])


@pytest.mark.parametrize(
    ("table", "kind", "message"),
    [
        ([[0.5, np.nan, 0.5]], None, r"not finite: nan \(row 8\)"),
        ([[0.5, np.inf, 0.5]], None, r"not finite: inf \(row 8\)"),
        ([[0.5, 0.5]], None, "answers with 2 columns, the data have 3 classes"),
        ([0.5], None, "answers with 1 columns, the data have 3 classes"),
        ([["a", "b", "c"]], None, "must answer with a table of numbers"),
        ([[[0.5, 0.5, 0.0]]], None, "one row of numbers a row"),
        ([[1.2, -0.1, -0.1]], None, r"adds up to 1 as probabilities do, yet there is -0.1 \(row 8\)"),
        ([[1.2, -0.1, -0.1]], "probabilities", "must not be negative"),
        ([[0.5, 0.1, 0.1]], "probabilities", r"must add up to 1, got 0.7 \(row 8\)"),
        ([[0.5, 0.1, 0.4]], "classes", "logits or probabilities, not 'classes'"),
    ],
)
def test_what_cannot_be_read(table, kind, message):
    with pytest.raises(InputError, match=message) as caught:
        read(table, kind=kind, rows=np.array([7]))
    assert "\n" not in str(caught.value)


def test_probabilities_with_some_broken_rows_are_not_taken_for_logits():
    table = np.full((10, 3), 1 / 3)
    table[4] = [0.9, 0.9, 0.1]
    with pytest.raises(InputError, match=r"most rows add up to 1 .* there is 1.9 \(row 5\)"):
        read(table)
    assert read(table, kind="logits")[1] == "logits"


def test_a_named_kind_of_one_column_is_held_to_it():
    with pytest.raises(InputError, match=r"must lie in \[0, 1\], got 1.5 \(row 2\)"):
        read([0.5, 1.5], classes=2, kind="probabilities")


def test_too_few_rows():
    with pytest.raises(InputError, match="answers with 2 rows for 3 asked"):
        read(LOGITS[:2], rows=np.arange(3))


def answers(logits=LOGITS, **more):
    return TeacherAnswers(np.asarray(logits, dtype=np.float64), "t", "logits", **more)


def test_labels_for_students():
    assert answers().labels(np.array([2, 0])).values == pytest.approx(LOGITS[[2, 0]])
    two = answers([[1.0, 3.0], [0.5, -0.5]]).labels(np.arange(2))
    assert two.kind == "logits"
    assert two.values == pytest.approx([2.0, -1.0])
    p = softmax([1.0, 3.0])
    assert two.targets()[0, 0] == pytest.approx(p[1])


@given(arrays.arrays(np.float64, 6, elements=st.floats(-50, 50)))
def test_student_outputs_and_teacher_columns_are_converses(z):
    assert np.array_equal(student_logits(teacher_columns(z)), z)


def test_rows_of_which_nothing_is_known():
    held = answers(np.vstack([LOGITS, np.full((1, 3), np.nan)]))
    assert held.known.tolist() == [True, True, True, False]
    assert np.isnan(held.probabilities[3]).all()
    assert held.probabilities[:3] == pytest.approx(softmax(LOGITS, axis=1))
    with pytest.raises(InputError, match="said nothing of 1 of 2 rows"):
        held.labels(np.array([0, 3]))


def test_answers_must_fit_together():
    with pytest.raises(InputError, match="NaN for a whole row; see row 2"):
        answers([[0.0, 1.0], [np.nan, 1.0]])
    with pytest.raises(InputError, match=r"classes ≥ 2"):
        answers([[0.0], [1.0]])
    with pytest.raises(InputError, match="must have 3 columns"):
        answers(transfer=np.zeros((4, 2)))
    with pytest.raises(InputError, match="unlabelled rows must be finite"):
        answers(transfer=np.full((1, 3), np.nan))
    with pytest.raises(InputError, match="logits or probabilities, not 'hard'"):
        TeacherAnswers(LOGITS, "t", "hard")


def test_the_fingerprint_is_of_logits_and_transfer():
    moved = LOGITS.copy()
    moved[1, 2] += 1e-12
    prints = {
        held.fingerprint for held in (answers(), answers(moved), answers(transfer=LOGITS), answers(transfer=LOGITS[:2]))
    }
    assert len(prints) == 4
    assert answers().fingerprint == TeacherAnswers(LOGITS.copy(), "another", "logits").fingerprint


@pytest.mark.parametrize(
    ("given", "classes", "order"),
    [
        (["b", "a", "c"], ("a", "b", "c"), [1, 0, 2]),
        ([1, 0], ("0", "1"), [1, 0]),
        (np.array([0.0, 1.0]), ("0", "1"), [0, 1]),
        (["0.0", "1.0"], ("0", "1"), [0, 1]),
        ([False, True], ("false", "true"), [0, 1]),
        (["true", "false"], ("False", "True"), [1, 0]),
        ([True, False], ("0", "1"), [1, 0]),
        ([1, 0], ("False", "True"), [1, 0]),
        ([10, 9, 2], ("2", "9", "10"), [2, 1, 0]),
        ([-1.0, 1.0], ("-1", "1"), [0, 1]),
        (["01", "1"], ("1", "01"), [1, 0]),
        ([b"x", b"y"], ("y", "x"), [1, 0]),
    ],
)
def test_classes_are_matched_by_name(given, classes, order):
    assert class_order(list(given), classes, "t") == order


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a", "b"], "it does not know 'c'"),
        (["a", "b", "c", "d"], "it knows 'd', which the data have not"),
        (["a", "b", "x"], "it knows 'x', which the data have not and it does not know 'c'"),
        (["a", "b", "c", "c"], "names some class twice"),
    ],
)
def test_other_classes_are_named(given, message):
    with pytest.raises(InputError, match=message):
        class_order(given, ("a", "b", "c"), "t")


def test_latency_is_a_median():
    calls = []
    assert 0 <= call_milliseconds(lambda: calls.append(1)) < 100
    assert len(calls) == 30


@pytest.mark.parametrize(
    ("given", "order"), [([0, 1], [0, 1]), ([True, False], [1, 0]), ([-1.0, 1.0], [0, 1]), (["1", "0"], [1, 0])]
)
def test_the_sides_of_a_rule_go_by_their_usual_names(given, order):
    assert class_order(given, ("not label>4", "label>4"), "teacher") == order
