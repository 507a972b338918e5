"""`softlabel.studies.certify`: an audit of a data set finds its teacher, or uses one."""

import pytest

from softlabel.errors import InputError
from softlabel.studies.certify import AuditOptions, audit
from softlabel.studies.margin import margin
from softlabel.teachers import KernelLimitTeacher

X = [[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]]
SIGNS = [1, 1, -1, -1]
SMALL = {"width": 16, "iterations": 5}


def test_a_saved_teacher_gives_the_same_audit(tmp_path):
    limits = {"work_limit": 1e8}
    fresh = audit(X, SIGNS, **SMALL, options=AuditOptions(**limits))
    margin(X, SIGNS, out=tmp_path, **limits)
    path = tmp_path / "teacher.safetensors"
    for teacher in (path, str(path), KernelLimitTeacher.load(path)):
        assert audit(X, SIGNS, teacher=teacher, **SMALL).to_dict() == fresh.to_dict()
    assert fresh.holds


def test_the_temperature_is_that_of_the_options(tmp_path):
    margin(X, SIGNS, out=tmp_path, work_limit=1e8)
    result = audit(X, SIGNS, teacher=tmp_path / "teacher.safetensors", **SMALL, options=AuditOptions(kappa=0.5))
    assert result.radius == 0.5


def test_settings_are_checked_before_the_teacher_is_computed(monkeypatch):
    monkeypatch.setattr("softlabel.studies.certify.search_margin", lambda *_, **__: pytest.fail("too late"))
    for change in ({"width": 5}, {"arm": "firm"}, {"learning_rate": 9.0}, {"iterations": 0}):
        with pytest.raises(InputError):
            audit(X, SIGNS, **SMALL | change)
