"""Students that are not smaller than their teacher are remarked upon, by verdict and plan."""

import pytest
from sklearn.linear_model import LogisticRegression

from softlabel.studies.students.sizes import SizeComparison
from tests.studies.students.quick import plan, verdict
from tests.studies.students.toy import Toy

TOY = Toy(rows=400, sharp=3.0)
QUICK = {"epochs": 4, "batch_size": 128, "seeds": 3}


@pytest.mark.parametrize(
    ("student", "teacher", "ratio", "smaller"),
    [(100, 4, 25.0, False), (4, 4, 1.0, False), (4, 100, 0.04, True), (4, None, None, None), (None, 4, None, None)],
)
def test_comparison(student, teacher, ratio, smaller):
    size = SizeComparison(student, teacher)
    assert (size.ratio, size.smaller) == (ratio, smaller)
    assert (size.warning() is not None) == (smaller is False)
    assert ("no compression" in size.words) == (smaller is False)


@pytest.fixture(scope="module")
def teacher():
    return LogisticRegression().fit(TOY.inputs, TOY.labels)  # five parameters


def test_a_verdict_about_a_larger_student_says_so(tmp_path, teacher, caplog):
    caplog.set_level("INFO", "softlabel")
    found = verdict(TOY.inputs, TOY.labels, teacher, width=21, out=tmp_path, **QUICK)
    size = found.to_dict()["size"]
    assert (size["student_parameters"], size["teacher_parameters"], size["smaller"]) == (127, 5, False)
    sentence = "a student of 21 neurons is not smaller than the teacher: 127 parameters, 25.4 times as many"
    assert any(sentence in line for line in caplog.messages)  # before anything is trained
    assert sum(sentence in warning for warning in found.to_dict()["warnings"]) == 1
    assert sentence in found.summary[1]
    assert str(found).count(sentence) == 1
    assert found.report.read_text().count(f"<li>A{sentence.removeprefix('a')}") == 1  # in the list of warnings


def test_a_plan_does_not_call_a_larger_student_a_compression(tmp_path, teacher):
    settings = QUICK | {"widths": [2, 4], "confirm": 0, "rival": False, "epochs": 30, "seeds": 5}
    found = plan(TOY.inputs, TOY.labels, teacher, accuracy=0.6, out=tmp_path / "a", **settings)
    for arm, planned in found.to_dict()["arms"].items():
        assert planned["width"] is not None
        assert planned["size"]["smaller"] is False
        line = next(line for line in found.summary if line.startswith(f"{arm.capitalize()} labels:"))
        assert "no compression" in line
        assert any(f"the planned student on {arm} labels is not smaller" in w for w in found.to_dict()["warnings"])
    page = found.report.read_text()
    assert "no smaller than the teacher" in page
    unknown = verdict(TOY.inputs, TOY.labels, TOY.truth, width=8, out=tmp_path / "b", **QUICK)
    assert unknown.to_dict()["size"]["smaller"] is None
