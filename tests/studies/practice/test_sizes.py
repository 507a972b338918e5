"""Students that are not smaller than their teacher are remarked upon, by verdict, plan and distill."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import softlabel as sl
from softlabel.studies.distilling import Parts
from softlabel.studies.practice.sizes import SizeComparison
from tests.networks.deep.small import images
from tests.studies.practice.toy import Toy

TOY = Toy(rows=400, sharp=3.0)
QUICK = {"epochs": 4, "batch": 128, "seeds": 3}


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


def test_a_verdict_about_a_larger_student_says_so(tmp_path, teacher):
    said: list[str] = []
    found = sl.verdict(TOY.inputs, TOY.labels, teacher, width=21, folder=tmp_path, note=said.append, **QUICK)
    size = found.document["size"]
    assert (size["student_parameters"], size["teacher_parameters"], size["smaller"]) == (127, 5, False)
    sentence = "a student of 21 neurons is not smaller than the teacher: 127 parameters, 25.4 times as many"
    assert any(sentence in line for line in said)  # before anything is trained
    assert sum(sentence in warning for warning in found.document["warnings"]) == 1
    assert sentence in found.summary[1]
    assert str(found).count(sentence) == 1
    assert sentence in found.page.read_text()


def test_a_plan_does_not_call_a_larger_student_a_compression(tmp_path, teacher):
    settings = QUICK | {"widths": [2, 4], "confirm": 0, "rival": False, "epochs": 30, "seeds": 5}
    found = sl.plan(TOY.inputs, TOY.labels, teacher, accuracy=0.6, folder=tmp_path / "a", **settings)
    for arm, planned in found.document["arms"].items():
        assert planned["width"] is not None
        assert planned["size"]["smaller"] is False
        line = next(line for line in found.summary if line.startswith(f"{arm.capitalize()} labels:"))
        assert "no compression" in line
        assert any(f"the planned student on {arm} labels is not smaller" in w for w in found.document["warnings"])
    page = found.page.read_text()
    assert "no smaller than the teacher" in page
    unknown = sl.verdict(TOY.inputs, TOY.labels, TOY.truth, width=8, folder=tmp_path / "b", **QUICK)
    assert unknown.document["size"]["smaller"] is None


def test_distill_compares_student_and_teacher(tmp_path):
    sets = [images(), images(30, seed=1), images(30, seed=2)]
    parts = Parts(*sets, tuple(np.arange(len(one)) for one in sets))  # type: ignore[arg-type]
    small, large = (sl.build_network("resnet8", 2, (1, 8, 8), width, seed=1) for width in (0.25, 0.5))
    for teacher, student, smaller in ((large, small, True), (small, large, False)):
        document = sl.distill(parts, teacher, student, training=sl.Training(epochs=1)).document
        assert document["size"]["smaller"] is smaller
        assert bool(document["warnings"]) is not smaller
