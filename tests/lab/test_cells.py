"""Identities of cells and bundles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from softlabel.lab import Bundle, identity
from tests.lab.toys import Draw


def test_equal_settings_have_one_identity_and_others_another():
    assert Draw(stage="first", seed=1).key == Draw(seed=1, stage="first").key
    keys = {Draw(stage=stage, seed=seed).key for stage in ("first", "second") for seed in range(50)}
    assert len(keys) == 100


def test_identity_is_the_same_on_every_machine():
    assert Draw(stage="first", seed=1).key == "579c8d10866158003c62"


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.floats(allow_nan=False) | st.none(), max_size=5))
def test_identity_does_not_depend_on_the_order_of_keys(values):
    assert identity(values) == identity(dict(reversed(values.items())))


def test_a_bundle_is_its_cells_in_their_order_and_what_they_need():
    cells = tuple(Draw(stage="first", seed=seed) for seed in range(3))
    keys = {
        Bundle("a", cells).key,
        Bundle("a", cells[::-1]).key,
        Bundle("a", cells[:2]).key,
        Bundle("b", cells).key,
        Bundle("a", cells, needs=("x",)).key,
    }
    assert len(keys) == 5
    assert Bundle("a", cells, cost=3.0).key == Bundle("a", cells).key


def test_settings_are_frozen_and_take_no_unknown_names():
    cell = Draw(stage="first", seed=1)
    with pytest.raises(ValidationError):
        cell.seed = 2
    with pytest.raises(ValidationError, match="Extra inputs"):
        Draw(stage="first", seed=1, sed=2)
    assert cell.model_copy(update={"seed": 2}).key == Draw(stage="first", seed=2).key


def test_a_changed_copy_has_an_identity_of_its_own():
    cell = Draw(stage="first", seed=1)
    assert cell.key
    assert cell.model_copy(update={"seed": 2}).key == Draw(stage="first", seed=2).key
