"""Numbers and dates that are written as text."""

import datetime

import polars as pl
import pytest

from softlabel.data.encoding.written import (
    DATE_STYLES,
    as_dates,
    as_numbers,
    blank,
    first_unreadable,
    parse_dates,
    unreadable,
)


@pytest.mark.parametrize(
    ("entries", "numbers", "style"),
    [
        (["1", "2.5", "-3e2"], [1, 2.5, -300], "plain"),
        (["1,234.5", "12", "1,000,000"], [1234.5, 12, 1e6], "1,234.5"),
        (["1,5", "-2,25", "3"], [1.5, -2.25, 3], "1.234,5"),
        (["1.234,50 €", "12,00 €"], [1234.5, 12], "1.234,5"),
        (["12 %", "7 %"], [12, 7], "1,234.5"),
        (["1 234,5", "2\u00a0000"], [1234.5, 2000], "1 234,5"),
        (["1", "NA", " ? ", "", None], [1, None, None, None, None], "plain"),
    ],
)
def test_numbers(entries, numbers, style):
    values, written = as_numbers(pl.Series("x", entries))
    assert written == style
    assert values.to_list() == numbers


@pytest.mark.parametrize("entries", [["1", "two"], ["a"], ["1,2,3"], ["1.2.3", "4"], ["NA", ""], ["12:30"]])
def test_what_is_no_number(entries):
    assert as_numbers(pl.Series("x", entries)) is None


@pytest.mark.parametrize(
    ("entries", "days", "style"),
    [
        (["1970-01-02", "1969-12-31", "NA"], [1, -1, None], "%Y-%m-%d"),
        (["1970-01-01 12:00:00"], [0.5], "%Y-%m-%d %H:%M:%S"),
        (["31.01.1970", "01.02.1970"], [30, 31], "%d.%m.%Y"),
        (["01/31/1970"], [30], "%m/%d/%Y"),
        (["1970-01-02T02:00:00+02:00", "1970-01-01T12:00:00Z"], [1, 0.5], "%Y-%m-%dT%H:%M:%S%z"),
        (["1970-01-02 06:00:00.000", "1970-01-01 12:00:00.0"], [1.25, 0.5], "%Y-%m-%d %H:%M:%S.%f"),
        (["31.01.1970 18:00"], [30.75], "%d.%m.%Y %H:%M"),
        (["1/31/1970 6:00 PM", "1/31/1970 12:00 AM"], [30.75, 30], "%m/%d/%Y %I:%M %p"),
    ],
)
def test_dates(entries, days, style):
    values, written = as_dates(pl.Series("x", entries))
    assert written == style
    assert values.to_list() == days


@pytest.mark.parametrize("entries", [["1970-02-30"], ["soon"], ["", None], ["1970-01-01", "later 1"]])
def test_what_is_no_date(entries):
    assert as_dates(pl.Series("x", entries)) is None


@pytest.mark.parametrize("style", DATE_STYLES)
def test_every_style_is_read_as_plain_python_reads_it(style):
    from softlabel.export.numpy_functions import as_days

    time = datetime.datetime(2024, 12, 31, 13, 45, 59, 250_000, datetime.UTC)
    entry = time.strftime(style)
    assert parse_dates(pl.Series("x", [entry]), style)[0] == pytest.approx(as_days(entry, style), rel=1e-15, abs=0)


def test_the_row_that_is_not_written_as_the_others():
    assert first_unreadable(pl.Series("x", ["1,5", "2,5", "abc"]), dates=False) == 2
    assert first_unreadable(pl.Series("x", ["31.12.2024", "NA", "soon", "1.1.2025"]), dates=True) == 2


def test_words_for_missing_values():
    column = pl.Series("x", ["a ", "n/a", "NULL", "nan", "-", "none of these"])
    assert blank(column).to_list() == ["a", None, None, None, None, "none of these"]


def test_the_first_entry_that_is_not_understood():
    column = pl.Series("x", ["1", "NA", "x", "y"])
    assert unreadable(column, pl.Series([1.0, None, None, None])) == 2
    assert unreadable(column, pl.Series([1.0, None, 2.0, 3.0])) is None
