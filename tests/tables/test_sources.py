"""The files of the list of tables, and the program that reads them beside onnxruntime."""

import csv
import io
import math
import re
from dataclasses import replace

import pytest
from benchmarks.tables import TABLES, realistic, sources
from benchmarks.tables.goals import dropped
from benchmarks.tables.sources import MissingPackage, read_rows, write_table
from benchmarks.tables.use_onnx import Forbidden, days, number


def test_a_sample_is_drawn_by_a_seed_and_keeps_the_order_and_the_form(tmp_path):
    table = TABLES["orders"]
    everything = read_rows(table, write_table(table, tmp_path / "all"))
    some = read_rows(table, write_table(table, tmp_path / "some", 100))
    again = read_rows(table, write_table(table, tmp_path / "again", 100))
    assert some == again
    assert len(some) == 100
    places = [everything.index(row) for row in some]
    assert places == sorted(places)
    assert places[-1] > 1000  # not the first rows


def test_a_written_file_is_not_written_again(tmp_path, monkeypatch):
    table = TABLES["subscribers"]
    path = write_table(table, tmp_path, 50)
    monkeypatch.setattr(sources, "_content", lambda *_: pytest.fail("written again"))
    assert write_table(table, tmp_path, 50) == path


def test_a_package_that_is_not_installed_is_named(tmp_path):
    absent = replace(TABLES["penguins"], package="softlabel-no-such-package")
    with pytest.raises(MissingPackage, match=r"softlabel-no-such-package is not installed.*requirements\.txt"):
        write_table(absent, tmp_path)
    with pytest.raises(MissingPackage, match=r"has no file nowhere\.csv"):
        sources.package_file("numpy", "nowhere.csv")
    assert not list(tmp_path.rglob("*.part"))


def test_a_folder_of_packages_is_searched_first(tmp_path):
    about = tmp_path / "numpy-0.0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.0.1\n")
    (tmp_path / "table.csv").write_text("x\n1\n")
    assert sources.package_file("numpy", "table.csv", tmp_path) == tmp_path / "table.csv"


@pytest.mark.parametrize("name", realistic.WRITERS)
def test_made_tables_are_the_same_every_time_and_have_both_classes(name):
    table, content = TABLES[name], realistic.WRITERS[name]()
    assert content == realistic.WRITERS[name]()
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig")), delimiter=table.delimiter))
    labels = [row[table.label] for row in rows]
    shares = sorted(labels.count(label) / len(labels) for label in set(labels))
    assert len(shares) == 2
    assert shares[0] > 0.1


def test_orders_are_written_as_in_germany():
    text = realistic.orders(rows=200).decode("utf-8")
    assert text.startswith("\ufeffBestellnr;")
    amounts = [line.split(";")[2] for line in text.splitlines()[1:]]
    assert all(re.fullmatch(r"\d{1,3}(\.\d{3})*,\d\d €", amount) for amount in amounts)
    assert realistic.german(1234567.891, 2) == "1.234.567,89"


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [("1.234,50 €", ",", 1234.5), ("12,5 %", ",", 12.5), ("-3.5", ".", -3.5), ("True", ".", 1), ("false", ".", 0)],
)
def test_numbers_as_they_are_written(text, decimal, value):
    assert number(text, decimal) == value


def test_missing_entries_are_not_numbers():
    assert all(math.isnan(number(text, ".")) for text in ("", "NA", "?", " n/a "))
    assert math.isnan(days("", "%Y-%m-%d"))
    assert days("1970-01-02", "%Y-%m-%d") == 1
    assert days("31.12.1969", "%d.%m.%Y") == -1


def test_what_is_forbidden_cannot_be_imported():
    forbidden = Forbidden(["torch"])
    with pytest.raises(ModuleNotFoundError, match=r"torch\.nn"):
        forbidden.find_spec("torch.nn")
    assert forbidden.find_spec("torchdistill") is None


def test_columns_that_are_no_inputs():
    assert dropped(TABLES["mroz"]) == ["hoursw", "hearnw"]
    assert dropped(TABLES["arrests"]) == ["year"]
    assert dropped(TABLES["fifa"]) == []
