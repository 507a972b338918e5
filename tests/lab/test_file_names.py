import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.lab.file_names import file_name, file_names
from softlabel.studies.run import default_run_dir


def folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cat", "cat"),
        ("big dog", "big_dog"),
        ("", "_"),
        ("..", "_"),
        ("../../etc/passwd", "etc_passwd"),
        ("a\\b\x00c\nd", "a_b_c_d"),
        ("名前", "名前"),
        ("\udcff", "_"),
        ("NUL", "NUL_"),
        ("com1.txt", "com1.txt_"),
        (3, "3"),
    ],
)
def test_names_are_safe(name, shown):
    assert file_name(name) == shown


def test_names_that_look_alike_stay_apart():
    names = ["a b", "a_b", "a.b", "A_B", "a/b", "", "..", "é", "e\u0301", "x" * 300, "x" * 301]
    names_shown = file_names(names)
    assert list(names_shown) == names
    assert len({folded(shown) for shown in names_shown.values()}) == len(names)
    assert names_shown["a.b"] == "a.b"
    assert file_names(reversed(names)) == names_shown


def test_a_name_that_looks_like_the_mark_of_another_stays_apart():
    marked = file_names(["a b", "a_b"])["a b"]
    names_shown = file_names(["a b", "a_b", marked])
    assert len(set(names_shown.values())) == 3


@given(st.lists(st.text(max_size=120), unique=True, max_size=8))
def test_any_names_have_safe_file_names_of_their_own(names):
    names_shown = file_names(names)
    assert len({folded(shown) for shown in names_shown.values()}) == len(names)
    for shown in names_shown.values():
        assert 0 < len(shown.encode()) <= 120
        assert shown not in (".", "..")
        assert not shown.startswith(".")
        assert not set(shown) & set('/\\:*?"<>|\n\x00')


def test_the_directory_of_a_run_is_named_safely(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_dir = default_run_dir("verdict", "../we\x1bird [a] $name.csv", "0123456789", None)
    assert run_dir.as_posix() == "runs/verdict-we_ird__a___name-01234567"
    assert len(default_run_dir("plan", "x" * 300 + ".csv", "0123456789", None).name) < 120
