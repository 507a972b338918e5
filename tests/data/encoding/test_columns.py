"""The role of every column of a table."""

import polars as pl
import pytest

from softlabel.data.encoding import plan_columns
from softlabel.data.encoding.columns import plan_column
from softlabel.errors import InputError

ROWS = range(40)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([k / 7 for k in ROWS], "number"),
        ([k % 5 for k in ROWS], "number"),
        ([k % 2 == 0 for k in ROWS], "number"),
        ([f"{k},5" for k in ROWS], "number"),
        (["a", "b"] * 20, "category"),
        ([f"town {k % 25}" for k in ROWS], "category"),
        (["2024-01-31", "2023-02-01"] * 20, "date"),
        ([f"the order number {k} came late" for k in range(100)], "text"),
        ([None] * 40, "dropped"),
        (["same"] * 40, "dropped"),
        ([f"key-{k}" for k in ROWS], "dropped"),
        ([[k] for k in ROWS], "dropped"),
        (["only", None] * 20, "category"),
    ],
)
def test_kinds(values, kind):
    assert plan_column(pl.Series("x", values)).kind == kind


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("", list(ROWS), "dropped"),
        ("x", list(range(1, 41)), "dropped"),  # rows in their order
        ("patient_id", [7 * k % 41 for k in range(1, 41)], "dropped"),
        ("customerId", [1000 - k * k for k in range(30)], "dropped"),
        ("x", [7 * k % 41 for k in range(1, 41)], "number"),  # a permutation may mean something
        ("id", [k % 3 for k in ROWS], "number"),
        ("x", [1, 2, 3], "number"),  # too few to tell
    ],
)
def test_numbers_of_rows_are_left_out(name, values, kind):
    assert plan_column(pl.Series(name, values)).kind == kind


def test_users_decide():
    frame = pl.DataFrame({"code": [1, 2, 3] * 10, "word": ["7", "8", "9"] * 10})
    plans = plan_columns(frame, categorical=["code"], numeric=["word"])
    assert [plan.kind for plan in plans] == ["category", "number"]
    with pytest.raises(InputError, match="is in `numeric` and in `categorical`"):
        plan_columns(frame, categorical=["code"], numeric=["code"])


def test_a_column_that_cannot_be_numeric_is_named_with_its_row():
    frame = pl.DataFrame({"size": ["1", "2", "large"]})
    with pytest.raises(InputError, match="column 'size' cannot be `numeric`: row 3 has 'large'"):
        plan_columns(frame, numeric=["size"])


def test_labels_play_no_role_and_order_of_rows_hardly():
    frame = pl.DataFrame({"a": [f"v{k % 4}" for k in ROWS], "b": [k * 0.5 for k in ROWS]})
    assert plan_columns(frame) == plan_columns(frame.reverse())
