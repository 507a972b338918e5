import io

import polars as pl

from softlabel.lab.spreadsheets import csv_bytes


def test_text_that_a_spreadsheet_would_execute_is_marked_as_text():
    table = pl.DataFrame(
        {
            "=id": ["=1+1", "@SUM(A1)", "-2", "+3.5e2", "-x", None],
            "class": ["+49 151", "\tx", "plain", "a=b", "", "'quoted"],
            "number": [-1.5, 2.0, None, 4.0, 5.0, 6.0],
        }
    )
    found = pl.read_csv(io.BytesIO(csv_bytes(table)), infer_schema_length=0)
    assert found.columns == ["'=id", "class", "number"]
    assert found["'=id"].to_list() == ["'=1+1", "'@SUM(A1)", "-2", "+3.5e2", "'-x", None]
    assert found["class"].to_list() == ["'+49 151", "'\tx", "plain", "a=b", "", "'quoted"]
    assert found["number"].to_list() == ["-1.5", "2.0", None, "4.0", "5.0", "6.0"]


def test_tables_without_such_text_are_written_as_before():
    table = pl.DataFrame({"a": [1, 2], "b": ["x", "y, z"]})
    assert csv_bytes(table) == table.write_csv().encode()
