"""Classes that are missing, rare, or so unequal that accuracy misleads."""

import numpy as np
import polars as pl
import pytest

from softlabel.data import load
from softlabel.lab.scores import find_metric
from softlabel.studies.doctor import doctor


def examine(tmp_path, *labels):
    paths = []
    for k, kinds in enumerate(labels):
        x = np.random.default_rng(k).standard_normal((len(kinds), 2))
        paths.append(tmp_path / f"part{k}.csv")
        pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "kind": kinds}).write_csv(paths[-1])
    return {one.name: one for one in doctor(*paths, label="kind").findings}


@pytest.mark.parametrize(("rare", "misleading"), [(20, True), (40, True), (60, False), (100, False)])
def test_unequal_classes(tmp_path, rare, misleading):
    result = examine(tmp_path, ["no"] * (200 - rare) + ["yes"] * rare)
    assert set(result) == ({"imbalanced classes"} if misleading else set())
    if misleading:
        finding = result["imbalanced classes"]
        assert finding.evidence["accuracy of always predicting the most frequent"] == pytest.approx(1 - rare / 200)
        assert finding.evidence["rows of each class"] == f"no {200 - rare}, yes {rare}"
        assert "`metric` 'balanced-accuracy' or 'auc'" in finding.remedy


def test_metrics_that_are_advised_exist():
    assert [find_metric(name) for name in ("balanced-accuracy", "auc")] == ["balanced accuracy", "auc"]


def test_one_rare_class_of_many(tmp_path):
    result = examine(tmp_path, ["a"] * 500 + ["b"] * 500 + ["c"] * 20)
    assert set(result) == {"imbalanced classes"}
    assert "auc" not in result["imbalanced classes"].remedy


def test_classes_of_a_few_rows(tmp_path):
    result = examine(tmp_path, ["a"] * 50 + ["b"] * 50 + ["c"] * 3 + ["d"] * 9)
    assert set(result) == {"rare classes"}
    assert result["rare classes"].evidence["rows"] == "c 3, d 9"
    assert "`leave_out` 'c,d'" in result["rare classes"].remedy
    assert load(tmp_path / "part0.csv", "kind", leave_out="c,d").classes == ("a", "b")


def test_missing_labels(tmp_path):
    kinds = ["yes", "no"] * 30
    kinds[4] = kinds[9] = None  # type: ignore[call-overload]
    finding = examine(tmp_path, kinds)["labels missing"]
    assert finding.severity == "mistake"
    assert finding.evidence == {"rows without a label": 2, "of": 60, "first in row": 5}
    assert "`leave_out` '(missing)'" in finding.remedy
    assert len(load(tmp_path / "part0.csv", "kind", leave_out="(missing)")) == 58, "the remedy works"


def test_words_for_missing_labels(tmp_path):
    result = examine(tmp_path, ["yes", "no", "NA"] * 20)
    assert result["labels missing"].severity == "hint"
    assert "`leave_out` 'NA'" in result["labels missing"].remedy


def test_missing_labels_of_another_split_are_not_a_class(tmp_path):
    result = examine(tmp_path, ["yes", "no"] * 30, ["yes", "no", None] * 10)
    assert set(result) == {"labels missing"}
    assert result["labels missing"].evidence["rows without a label"] == 10


def test_one_class_in_two_spellings(tmp_path):
    kinds = ["no", "yes", "No ", "maybe"] * 30
    finding = examine(tmp_path, kinds)["one class spelled in several ways"]
    assert finding.evidence["rows of each spelling"] == "'No' 30, 'no' 30"
    (note,) = load(tmp_path / "part0.csv", "kind").notes
    assert note.startswith("'No', 'no' are different classes")
    assert "one class spelled in several ways" not in examine(tmp_path, ["no", "none"] * 30)
