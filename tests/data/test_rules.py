import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.data.catalogue import CIFAR10, FASHION_MNIST
from softlabel.data.rules import binary_rule, class_pair, find_class, leave_out
from softlabel.errors import InputError

DIGITS = tuple("0123456789")
LABELS = np.arange(10)


def positive(rule: str, classes=DIGITS) -> list[int]:
    return np.flatnonzero(binary_rule(rule, LABELS[: len(classes)], classes) > 0).tolist()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("label>4", [5, 6, 7, 8, 9]),
        (" label >= 4 ", [4, 5, 6, 7, 8, 9]),
        ("label<2", [0, 1]),
        ("label<=2", [0, 1, 2]),
        ("label==3", [3]),
        ("label!=3", [0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ("label in 0,2, 4", [0, 2, 4]),
        ("label>4.5", [5, 6, 7, 8, 9]),
    ],
)
def test_rules(rule, expected):
    assert positive(rule) == expected


def test_sides_are_plus_and_minus_one_in_float32():
    y = binary_rule("label>4", LABELS, DIGITS)
    assert y.dtype == np.float32
    assert set(y.tolist()) == {-1.0, 1.0}


def test_numbers_are_values_where_classes_are_numbers_and_indices_elsewhere():
    assert positive("label>0", ("-1", "1")) == [1]
    assert positive("label==10", ("2", "10", "30")) == [1]
    assert positive("label>4", FASHION_MNIST.classes) == [5, 6, 7, 8, 9]


def test_rules_with_names():
    assert positive("label==Ankle boot", FASHION_MNIST.classes) == [9]
    assert positive("label in cat,DOG", CIFAR10.classes) == [3, 5]
    assert positive("label!=truck", CIFAR10.classes) == list(range(9))


@given(st.integers(0, 8), st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_a_rule_and_its_opposite(bound, labels):
    labels = np.array([*labels, 0, 9])
    above, below = (binary_rule(f"label{sign}{bound}", labels, DIGITS) for sign in (">", "<="))
    np.testing.assert_array_equal(above, -below)
    np.testing.assert_array_equal(above > 0, labels > bound)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("label", "`task` 'label' is not a rule: write it as 'label>4'"),
        ("lable>4", "is not a rule"),
        ("label=4", "is not a rule"),
        ("label>", "is not a rule"),
        ("", "`task` '' is not a rule"),
        ("label>cat", "'cat', which is not a number: for names use ==, != or in"),
        ("label==12", "unknown class '12'"),
        ("label in 1,,2", "contain an empty name"),
        ("label>9", r"every example the same sign \(−1\): choose a rule that divides the classes 0, 1"),
        ("label>=0", r"every example the same sign \(\+1\)"),
    ],
)
def test_rules_that_are_wrong(rule, message):
    with pytest.raises(InputError, match=message):
        binary_rule(rule, LABELS, DIGITS)


def test_pairs():
    assert class_pair("cat,dog", CIFAR10.classes) == (3, 5)
    assert class_pair(["dog", "Cat"], CIFAR10.classes) == (5, 3)
    assert class_pair([3, 8], DIGITS) == (3, 8)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("cat,dgo", "unknown class 'dgo': did you mean 'dog'"),
        ("cat", "must be two, got 1"),
        ("cat,dog,frog", "must be two, got 3"),
        ("cat,cat", "the same class twice"),
        ("cat,", "an empty name"),
        ("", "an empty name"),
    ],
)
def test_pairs_that_are_wrong(names, message):
    with pytest.raises(InputError, match=message):
        class_pair(names, CIFAR10.classes)


def test_leaving_out():
    assert leave_out("1,7,4,9", DIGITS) == [0, 2, 3, 5, 6, 8]
    assert leave_out([0], ("a", "b", "c")) == [1, 2]
    with pytest.raises(InputError, match="leaving out a,b keeps 1 of 3 classes"):
        leave_out("a,b", ("a", "b", "c"))
    with pytest.raises(InputError, match="unknown class 'z'"):
        leave_out("z", ("a", "b", "c"))


def test_a_class_by_name_before_number():
    assert find_class("1", ("1", "0")) == 0
    assert find_class("1.0", ("0", "1")) == 1
