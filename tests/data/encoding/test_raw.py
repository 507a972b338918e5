"""Raw columns in memory, in any form, and encoders that come from files."""

import datetime as dt
import json

import numpy as np
import pandas
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.data.encoding import TableEncoder, plan_columns
from softlabel.data.encoding.encoder import category_text
from softlabel.data.encoding.raw import checked_encoder, encoded_rows, raw_frame, text_columns, unseen_notes
from softlabel.errors import InputError

ENTRIES = {
    "number": st.none() | st.floats(-1e6, 1e6, width=32),
    "count": st.none() | st.integers(-(10**6), 10**6),
    "truth": st.none() | st.booleans(),
    "word": st.none() | st.sampled_from(["a", "b c", "ü", "NA", "", " x "]),
    "day": st.none() | st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fixed_dictionaries(ENTRIES), min_size=1, max_size=8))
def test_every_form_of_the_same_rows_is_encoded_alike(rows):
    types = [pl.Float64, pl.Int64, pl.Boolean, pl.String, pl.Date]
    frame = pl.DataFrame(rows, schema=dict(zip(ENTRIES, types, strict=True)))
    known = pl.DataFrame(
        {
            "number": [0.5, None, 2.0], "count": [1, 2, None], "truth": [True, False, None], "word": ["a", "ü", "a"],
            "day": [dt.date(2020, 1, 1), None, dt.date(2021, 5, 2)],
        }
    )  # fmt: skip
    encoder = TableEncoder.fit(plan_columns(known), known)
    truth = encoder.transform(frame)
    lists = frame.to_dict(as_series=False)
    for form in (frame.select(reversed(frame.columns)), lists, rows, pandas.DataFrame(lists)):
        np.testing.assert_array_equal(encoded_rows(encoder, form), truth)
    assert checked_encoder(json.loads(json.dumps(encoder.to_dict()))).to_dict() == encoder.to_dict()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": [1]}, "t lacks 1 of the model's 2 columns: b; it has a"),
        ({"a": [1], "b": [1, 2]}, "t has columns of different lengths: 1, 2"),
        ({"a": [1], "b": 3}, "t: column 'b' must be a list of entries, got int"),
        ({"a": [1], "b": "x"}, "t: column 'b' must be a list of entries, got str"),
        ({"a": [1], "b": np.zeros((1, 2))}, "t: column 'b' must be a list of entries, got ndarray"),
        (pandas.DataFrame([[1, 2, 3]], columns=["a", "b", "b"]), "t has several columns of the same name: b"),
        (np.zeros((2, 2)), "t must be a polars or pandas frame or a dictionary with the columns a, b, got ndarray"),
        ([], "got list"),
    ],
)
def test_what_has_not_the_columns_is_one_line(inputs, message):
    with pytest.raises(InputError, match=message):
        raw_frame(inputs, ["a", "b"], "t")


def test_times_with_a_zone_are_in_utc():
    times = pandas.Series(pandas.to_datetime(["2020-01-01 01:00", "2020-07-01 01:00"])).dt.tz_localize("Europe/Berlin")
    frame = raw_frame({"t": times}, ["t"])
    assert frame["t"].to_list() == [dt.datetime(2020, 1, 1), dt.datetime(2020, 6, 30, 23)]


def test_a_number_as_a_category_does_not_depend_on_other_rows():
    assert category_text(pl.Series([1.0, 2.5, None, float("nan")])).to_list() == ["1", "2.5", None, None]
    assert category_text(pl.Series([1.0])).to_list() == ["1"]


def test_durations_do_not_depend_on_their_unit():
    known = pl.DataFrame({"d": [dt.timedelta(seconds=k * k % 7) for k in range(30)]})
    encoder = TableEncoder.fit(plan_columns(known), known)
    for unit in ("ms", "us", "ns"):
        assert encoder.transform(known.cast(pl.Duration(unit))).ravel()[2] == 4


def test_columns_to_be_read_as_text():
    frame = pl.DataFrame(
        {
            "code": ["01", "A1"] * 20, "grade": [1, 2, 3, 2] * 10, "flag": [True, False] * 20, "n": [0.5, 1.5] * 20,
            "money": ["1.500,5", "2,5"] * 20, "day": ["2020-01-01", "2021-01-01"] * 20, "plain": ["1", "NA"] * 20,
        }
    )  # fmt: skip
    encoder = TableEncoder.fit(plan_columns(frame, categorical=["grade", "flag"]), frame)
    assert text_columns(encoder) == ["code", "money", "day"]


def test_entries_that_training_rows_did_not_have_are_named():
    known = pl.DataFrame({"island": ["Dream", "Biscoe"] * 30, "other": ["a", "b", "c"] * 20, "x": range(60)})
    encoder = TableEncoder.fit(plan_columns(known), known)
    assert unseen_notes(encoder, known) == []
    new = pl.DataFrame({"island": ["Dream", "Mars", None], "other": ["a", "b", "c"], "x": [1, 2, 3]})
    (note,) = unseen_notes(encoder, new)
    assert note.startswith("column 'island' has 2 entries unlike any training row (first in row 2: 'Mars')")
