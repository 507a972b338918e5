import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.data.splits import SALT, split, split_by_groups
from softlabel.errors import InputError

PINNED = ([0, 2, 3, 4, 6], [5, 7, 38, 41, 43], [1, 16, 19, 27, 58])
PINNED_HASH = "a310373314f51d4d"
_FRACTIONS = st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5), (1.0,), (0.7, 0.3), (1 / 3, 1 / 3, 1 / 3)])


@given(st.integers(10, 300), _FRACTIONS, st.integers(0, 2**63), st.booleans())
def test_the_parts_are_a_partition_of_the_right_sizes(n, fractions, seed, stratified):
    labels = np.arange(n) % 3 if stratified else None
    parts = split(n, fractions, seed, labels)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    for part, fraction in zip(parts, fractions, strict=True):
        assert abs(len(part) - fraction * n) <= 1
        assert (np.diff(part) > 0).all()


@given(st.integers(20, 200), st.integers(0, 1000))
def test_the_split_depends_on_the_seed_alone(n, seed):
    np.random.seed(n)  # noqa: NPY002
    first = split(n, seed=seed)
    np.random.seed(n + 1)  # noqa: NPY002
    second = split(n, seed=seed)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_seed_gives_another_split():
    assert len({split(100, seed=seed)[0].tobytes() for seed in range(20)}) == 20


def test_the_split_is_the_same_on_every_machine():
    train, valid, test = split(1000, seed=7, salt=0)
    assert (train[:5].tolist(), valid[:5].tolist(), test[:5].tolist()) == PINNED
    together = np.concatenate([train, valid, test]).astype("<i8").tobytes()
    assert hashlib.sha256(together).hexdigest()[:16] == PINNED_HASH


@given(st.integers(10, 100), st.integers(0, 1000), st.booleans())
def test_the_salt_is_added_to_the_seed(n, seed, stratified):
    labels = np.arange(n) % 2 if stratified else None
    for salted, plain in zip(
        split(n, (0.5, 0.5), seed, labels), split(n, (0.5, 0.5), seed + SALT, labels, salt=0), strict=True
    ):
        np.testing.assert_array_equal(salted, plain)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_data_drawn_from_the_same_seed_are_not_sorted_into_the_parts(seed):
    drawn = np.random.Generator(np.random.PCG64(seed)).uniform(size=600)
    for part in split(600, (0.6, 0.2, 0.2), seed):
        assert 0.4 < drawn[part].mean() < 0.6


@given(st.lists(st.integers(0, 4), min_size=30, max_size=200), st.integers(0, 100))
def test_strata_are_kept_in_proportion(labels, seed):
    labels = np.array(labels)
    fractions = (0.6, 0.2, 0.2)
    for part, fraction in zip(split(len(labels), fractions, seed, labels), fractions, strict=True):
        for label in np.unique(labels):
            expected = fraction * (labels == label).sum()
            assert abs((labels[part] == label).sum() - expected) <= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"n": 10, "fractions": (0.5, 0.6)}, r"add up to 1, got \(0.5, 0.6\)"),
        ({"n": 10, "fractions": (1.5, -0.5)}, "fractions must be positive"),
        ({"n": 10, "fractions": ()}, "fractions must be positive"),
        ({"n": 3}, "3 rows are too few"),
        ({"n": 10, "seed": -1}, "seed must be"),
        ({"n": 10, "stratify": np.zeros(9)}, "one entry for each of 10 rows, got 9"),
    ],
)
def test_what_cannot_be_split(arguments, message):
    with pytest.raises(InputError, match=message):
        split(**arguments)


def test_too_few_groups():
    with pytest.raises(InputError, match=r"`group` has 1 different entry, too few for 2 parts.*choose another column"):
        split_by_groups(np.zeros(20, dtype=int), (0.5, 0.5), 0, np.arange(20) % 2)
