"""Tables as numbers: what is learned, what is done with gaps and unknown values, and JSON."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from softlabel.data.encoding import TableEncoder, plan_columns
from softlabel.errors import InputError


def fitted(frame: pl.DataFrame, **more) -> TableEncoder:
    return TableEncoder.fit(plan_columns(frame, **more), frame)


def test_numbers_with_gaps():
    frame = pl.DataFrame({"age": [1.0, None, 3.0, 9.0], "x": [0.5, 1.5, 2.5, 3.25]})
    encoder = fitted(frame)
    assert encoder.features == ("age", "age missing", "x")
    assert encoder.transform(frame).tolist() == [[1, 0, 0.5], [3, 1, 1.5], [3, 0, 2.5], [9, 0, 3.25]]


def test_gaps_that_training_rows_do_not_have_are_filled():
    encoder = fitted(pl.DataFrame({"x": [1.0, 2.0, 6.0]}))
    assert encoder.transform(pl.DataFrame({"x": [None, 4.0]})).tolist() == [[2], [4]]


def test_categories():
    frame = pl.DataFrame({"c": ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["rare"] + [None]})
    encoder = fitted(frame)
    assert encoder.features == ("c=a", "c=b", "c=c", "c=(other)", "c=(missing)")
    rows = encoder.transform(pl.DataFrame({"c": ["b", "new", None, "NA"]}))
    assert rows.argmax(axis=1).tolist() == [1, 3, 4, 4]
    assert rows.sum(axis=1).tolist() == [1, 1, 1, 1]


def test_two_values_are_one_feature():
    encoder = fitted(pl.DataFrame({"sex": ["f", "m", "m", "f", "m"]}))
    assert encoder.features == ("sex=f",)
    assert encoder.transform(pl.DataFrame({"sex": ["f", "m", "x", None]})).ravel().tolist() == [1, 0, 0, 0]


def test_numbers_as_categories():
    frame = pl.DataFrame({"code": [3.0, 1.0, 1.0, 3.0, 2.0, 2.0, 2.0]})
    encoder = fitted(frame, categorical=["code"])
    assert encoder.features == ("code=2", "code=1", "code=3")
    assert (encoder.transform(pl.DataFrame({"code": ["2", "1"]})) == encoder.transform(frame[[4, 1]])).all()


def test_dates():
    frame = pl.DataFrame({"day": ["1970-01-01", "1970-01-05", "1970-01-08", "1970-04-02"]})
    rows = fitted(frame).transform(frame)
    assert rows[:, 0].tolist() == [0, 4, 7, 91]
    assert rows[0, 3:] == pytest.approx(rows[2, 3:], abs=1e-6)  # both are Thursdays
    typed = frame.with_columns(pl.col("day").str.to_date())
    assert (fitted(typed).transform(typed) == rows).all()


def test_text():
    frame = pl.DataFrame({"note": [f"{'good' if k % 2 else 'bad'} offer number {k}" for k in range(60)]})
    encoder = fitted(frame)
    assert encoder.features == ("note contains 'bad'", "note contains 'good'")  # 'offer' is in every row
    assert encoder.transform(pl.DataFrame({"note": ["a good one", None]})).tolist() == [[0, 1], [0, 0]]


def test_other_columns_and_their_order_do_not_matter():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "y"]})
    encoder = fitted(frame)
    assert (encoder.transform(frame.select("b", pl.lit(1).alias("z"), "a")) == encoder.transform(frame)).all()


@pytest.mark.parametrize(
    ("column", "entry", "message"),
    [
        ("n", "x", "column 'n' has 'x' in row 2, which is not a number"),
        ("n", "inf", "column 'n' has an infinite value in row 2"),
        ("d", "x", "column 'd' has 'x' in row 2, which is not a date written as %Y-%m-%d"),
    ],
)
def test_entries_that_cannot_be_are_named(column, entry, message):
    frame = pl.DataFrame({"n": ["1", "2", "4"], "d": ["2024-01-01", "2024-01-02", "2024-01-03"]})
    values = frame[column].to_list()
    with pytest.raises(InputError, match=message):
        fitted(frame).transform(frame.with_columns(pl.Series(column, [values[0], entry, values[2]])))


def test_a_table_without_inputs_is_refused_with_reasons():
    with pytest.raises(InputError, match=r"no column to learn from: 'a' \(it is '1' in every row\)"):
        fitted(pl.DataFrame({"a": [1, 1, 1]}))


def test_every_column_is_described():
    frame = pl.DataFrame({"": list(range(30)), "x": [k / 3 for k in range(30)], "c": ["a", "b", "c"] * 10})
    described = {one["column"]: one for one in fitted(frame).describe()}
    assert described[""]["kind"] == "dropped"
    assert described[""]["done"] == "it numbers the rows"
    assert described["c"]["features"] == 3


ROW = st.fixed_dictionaries(
    {
        "n": st.one_of(st.none(), st.floats(-1e6, 1e6)),
        "c": st.one_of(st.none(), st.sampled_from(["a", "b", "c", "d e", "NA", ""])),
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=4, max_size=40), st.lists(ROW, min_size=1))
def test_json_keeps_everything_and_every_row_is_finite(rows, others):
    schema = {"n": pl.Float64, "c": pl.String}
    frame = pl.DataFrame(rows, schema=schema)
    try:
        encoder = fitted(frame)
    except InputError:
        return  # nothing to learn from
    copy = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    for table in (frame, pl.DataFrame(others, schema=schema)):
        encoded = encoder.transform(table)
        assert encoded.shape == (len(table), len(encoder.features))
        assert np.isfinite(encoded).all()
        assert (copy.transform(table) == encoded).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("abcdef"), min_size=30, max_size=80))
def test_categories_are_those_of_scikit_learn(values):
    frame = pl.DataFrame({"c": values})
    counts = {value: values.count(value) for value in values}
    if len(counts) < 3 or min(counts.values()) < 2:
        return
    encoder = fitted(frame)
    order = [name.removeprefix("c=") for name in encoder.features]
    slow = OneHotEncoder(categories=[order], sparse_output=False).fit_transform(np.array(values)[:, None])
    assert (encoder.transform(frame) == slow).all()


def test_damaged_json_is_refused():
    with pytest.raises(InputError, match="damaged"):
        TableEncoder.from_dict({"steps": [{"kind": "number"}], "dropped": []})
