"""Predictions of every form become logits in one way, and what cannot be read is refused in one line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import softmax

from softlabel.errors import InputError
from softlabel.teachers.predictions import student_logits
from softlabel.teachers.reading import (
    FLOOR,
    IMAGE_FLOOR,
    are_percentages,
    class_order,
    decide_reading,
    find_class_columns,
    input_order,
    log_probabilities,
    probability_rows,
)

LOGITS = np.array([[2.0, -1.0, 0.5], [-3.0, 0.0, 1.0], [0.0, 0.0, 4.0]])


def read(table, classes=3, kind=None, rows=None):
    reading = decide_reading(table, classes=classes, kind=kind, name="teacher t", rows=rows)
    return reading.logits(table, rows), reading.kind


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
    assert np.abs(softmax(log_probabilities(p), axis=1) - p).max() <= 4 * FLOOR


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


def test_rounding_does_not_make_probabilities_negative():
    """Forests in ONNX give −1.5e-8 where they mean 0."""
    logits, kind = read(np.array([[1 + 1.5e-8, -1.5e-8, 0.0], [0.2, 0.3, 0.5]]))
    assert kind == "probabilities"
    assert np.exp(logits[0]) == pytest.approx([1, 0, 0], abs=1e-5)
    assert read(np.array([-1.5e-8, 0.5, 1 + 1.5e-8]), classes=2)[1] == "probabilities"


@pytest.mark.parametrize(
    ("table", "kind", "message"),
    [
        ([[0.5, np.nan, 0.5]], None, r"not finite: nan \(row 8\)"),
        ([[0.5, np.inf, 0.5]], None, r"not finite: inf \(row 8\)"),
        ([[0.5, 0.5]], None, "predictions have 2 columns, the data have 3 classes"),
        ([0.5], None, "predictions have 1 column, the data have 3 classes"),
        ([["a", "b", "c"]], None, "must be a table of numbers"),
        ([[[0.5, 0.5, 0.0]]], None, "one row of numbers per input row"),
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
    with pytest.raises(InputError, match="predictions have 2 rows for 3 input rows"):
        read(LOGITS[:2], rows=np.arange(3))


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
        (["a", "b", "c", "d"], "it knows 'd', which the data do not have"),
        (["a", "b", "x"], "it knows 'x', which the data do not have and it does not know 'c'"),
        (["a", "b", "c", "c"], "names a class twice"),
    ],
)
def test_other_classes_are_named(given, message):
    with pytest.raises(InputError, match=message):
        class_order(given, ("a", "b", "c"), "t")


@pytest.mark.parametrize(
    ("given", "order"), [([0, 1], [0, 1]), ([True, False], [1, 0]), ([-1.0, 1.0], [0, 1]), (["1", "0"], [1, 0])]
)
def test_the_sides_of_a_rule_go_by_their_usual_names(given, order):
    assert class_order(given, ("not label>4", "label>4"), "teacher") == order


def test_later_predictions_are_read_as_the_first_ones_were():
    reading = decide_reading(LOGITS, classes=3, name="teacher t")
    uniform = np.full((2, 3), 1 / 3)
    assert np.array_equal(reading.logits(uniform), uniform)
    reading = decide_reading(uniform, classes=3, name="teacher t")
    with pytest.raises(InputError, match=r"t on unlabeled rows: probabilities must not be negative, got -1 \(row 1, 2"):
        reading.logits(LOGITS, name="teacher t on unlabeled rows")
    single = decide_reading([0.2, 0.9], classes=2)
    with pytest.raises(InputError, match="predictions have 2 columns, earlier ones had 1"):
        single.logits([[0.5, 0.5]])


def test_columns_follow_the_teachers_own_names():
    p = np.array([[0.7, 0.2, 0.1]])
    reading = decide_reading(p, classes=("a", "b", "c"), column_names=["c", "a", "b"])
    assert reading.columns == (1, 2, 0)
    assert np.exp(reading.logits(p))[0] == pytest.approx([0.2, 0.1, 0.7])
    assert decide_reading(p, classes=3, column_names=["c", "a", "b"]).columns == (0, 1, 2)
    single = decide_reading([0.2, 0.9], classes=("no", "yes"), column_names=["yes", "no"])
    assert np.exp(single.logits([0.2]))[0] == pytest.approx([0.2, 0.8])


def test_a_single_column_of_the_first_class():
    reading = decide_reading([0.2, 0.9], classes=("no", "yes"), columns=(0,))
    assert np.exp(reading.logits([0.2]))[0] == pytest.approx([0.2, 0.8])
    assert student_logits(decide_reading([3.0, -1.0], classes=2, columns=(0,)).logits([3.0])) == pytest.approx([-3])


def test_the_floor_is_a_part_of_the_reading():
    p = [[1.0, 0.0], [0.0, 1.0]]
    assert decide_reading(p, classes=2, floor=IMAGE_FLOOR).logits(p).min() == pytest.approx(np.log(1e-12))


def test_rows_that_are_probabilities():
    table = np.array([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]])
    assert probability_rows(table).tolist() == [True, False, False]
    assert probability_rows(np.array([[0.0], [1.0], [1.1]])).tolist() == [True, True, False]
    assert are_percentages(np.array([[30.0, 70.0], [0.0, 100.0]]))
    assert not are_percentages(table)
    with pytest.raises(InputError, match="every row adds up to 100, so these are percentages"):
        read([[30.0, 60.0, 10.0]])


def test_decisions_order_columns_without_names():
    z = np.array([[3.0, 0.0], [0.0, 3.0], [4.0, 1.0]])
    decisions = np.array([["yes"], ["no"], ["yes"]])
    assert decide_reading(z, classes=("no", "yes"), decisions=decisions).columns == (1, 0)
    assert decide_reading(z, classes=("no", "yes"), decisions=np.array([[0], [1], [0]])).columns == (0, 1)
    with pytest.raises(InputError, match="is for other classes: it decides for 'well', 'ill'"):
        decide_reading(z, classes=("no", "yes"), decisions=np.array([["well"], ["ill"], ["well"]]))


def test_columns_of_label_files_are_found_by_class_name():
    assert find_class_columns(["p_b", "x", "p_a"], ("a", "b"), None, "f") == (["p_a", "p_b"], (0, 1), "probabilities")
    assert find_class_columns(["logit_a"], ("a", "b"), None, "f") == (["logit_a"], (0,), "logits")
    assert find_class_columns(["x", "y"], ("a", "b"), None, "f") == ([], (), None)


def test_input_columns_are_matched_by_name():
    assert input_order(["b", "a"], ("a", "b"), "t") == [1, 0]
    assert input_order(["dose__mg_", "a"], ("a", "dose (mg)"), "t", identifiers=True) == [1, 0]
    with pytest.raises(InputError, match=r"the data have no 'dose__mg_' and it does not know 'dose \(mg\)'"):
        input_order(["dose__mg_", "a"], ("a", "dose (mg)"), "t")
    with pytest.raises(InputError, match="names a column twice"):
        input_order(["a", "a", "b"], ("a", "b"), "t")
