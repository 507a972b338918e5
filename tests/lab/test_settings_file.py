"""Settings survive their file."""

import json
from pathlib import Path

import pytest

from softlabel.lab.settings_file import read_settings, settings_text, without_none, written
from softlabel.studies.registry import PAPER_STUDIES, find_study
from softlabel.studies.reproduce import study_settings

PRESETS = [(name, preset) for name in PAPER_STUDIES for preset in ("quick", "standard", "paper")]
PUBLISHED = sorted(
    file for file in Path("docs/results").glob("*/settings.toml") if (file.parent / "results.json").exists()
)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_a_run_is_repeated_from_its_settings_file_whatever_the_preset(name, preset, tmp_path):
    settings = find_study(name, PAPER_STUDIES).presets[preset]
    file = tmp_path / "settings.toml"
    file.write_text(settings_text({"study": name, **settings.model_dump(mode="json")}), encoding="utf-8")
    for base in ("quick", "standard", "paper"):
        assert study_settings(name, base, file) == settings


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.parent.name)
def test_published_settings_are_those_of_the_published_numbers(file):
    values = read_settings(file)
    name = values.pop("study")
    results = json.loads((file.parent / "results.json").read_text(encoding="utf-8"))
    expected = find_study(name, PAPER_STUDIES).settings_type.model_validate(results["settings"])
    for base in ("quick", "standard", "paper"):
        assert study_settings(name, base, file) == expected


def test_none_is_kept_in_tables_and_lists(tmp_path):
    values = {"rows": None, "radii": [1.5, None], "table": {"width": None, "name": "a"}, "empty": [], "text": "None"}
    file = tmp_path / "settings.toml"
    file.write_text(settings_text(values), encoding="utf-8")
    assert read_settings(file) == values


def test_a_file_may_lack_none_and_a_word_none_is_kept():
    assert without_none(written({"a": 1, "b": None, "c": {"d": None}})) == {"a": 1, "c": {}}
    assert without_none(written({"classes": ("cat", "none")})) == {"classes": ["cat", "none"]}
