"""The audit: right numbers, a warning for every ailment, and none for a healthy teacher."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.metrics import accuracy_score
from sklearn.metrics import log_loss as sklearn_log_loss

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.audit import audit_teacher, best_temperature, log_loss
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.reading import log_probabilities


def made(rows=1500, classes=3, sharpness=2.0, seed=0):
    """A problem whose labels are drawn from z, so that z is a teacher without fault."""
    rng = np.random.default_rng(seed)
    z = sharpness * rng.normal(size=(rows, classes))
    y = np.array([rng.choice(classes, p=p) for p in softmax(z, axis=1)])
    names = np.array([f"c{k}" for k in range(classes)])
    return Problem.from_arrays(z, names[y]), z


def audit(problem, logits, **more):
    return audit_teacher(problem, TeacherPredictions(np.asarray(logits, dtype=np.float64), "t", "logits", **more))


def warned(problem, logits, words, **more):
    """The one warning with these words, among those given."""
    found = audit(problem, logits, **more).warnings
    assert sum(words in warning for warning in found) == 1, found
    assert all("\n" not in warning for warning in found)
    return found


@pytest.mark.parametrize("classes", [2, 3, 8])
@pytest.mark.parametrize("sharpness", [0.7, 2.0, 5.0])
def test_a_healthy_teacher_has_no_warnings(classes, sharpness):
    problem, z = made(1500, classes, sharpness)
    assert audit(problem, z).warnings == ()


def test_a_healthy_teacher_of_few_rows_has_none_either():
    """Calibration errors of 30 rows are large by chance alone."""
    warnings, errors = 0, []
    for seed in range(40):
        problem, z = made(150, 3, 2.0, seed)
        found = audit(problem, z)
        warnings += len(found.warnings)
        errors.append(found.parts["validation"].calibration_error)
    assert np.median(errors) > 0.05
    assert warnings <= 1


def test_the_numbers_are_right():
    problem, z = made()
    found = audit(problem, z)
    for part, scores in found.parts.items():
        rows = problem.part(part).rows
        p, truth = softmax(z[rows], axis=1), problem.y[rows]
        assert scores.rows == len(rows)
        assert scores.accuracy == pytest.approx(accuracy_score(truth, p.argmax(axis=1)))
        assert scores.loss == pytest.approx(sklearn_log_loss(truth, p))
        assert scores.entropy == pytest.approx((-p * np.log(p)).sum(axis=1).mean() / np.log(3))
        assert 0 < scores.calibration_error < 0.1


@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 5))
def test_the_best_temperature_undoes_a_scale(factor):
    problem, z = made(400)
    plain = best_temperature(z, problem.y)
    assert best_temperature(z * factor, problem.y) == pytest.approx(plain * factor, rel=1e-2)
    around = [log_loss(z / (plain * s), problem.y) for s in (0.9, 1.0, 1.1)]
    assert around[1] == min(around)


def test_a_prior_keeps_the_temperature_of_faultless_rows():
    z, y = np.array([[2.0, 0.0]] * 10 + [[0.0, 2.0]] * 10), np.repeat([0, 1], 10)
    assert best_temperature(z, y) < 0.05
    assert 0.2 < best_temperature(z, y, prior=1.0) < 1


def test_disagreements_are_counted_and_placed_in_the_users_file():
    problem, z = made(300, sharpness=6)
    problem = replace(problem, rows=np.arange(300) * 2 + 100, file_rows=1000)
    found = audit(problem, z).disagreement
    said = z.argmax(axis=1)
    wrong = np.flatnonzero(said != problem.y)
    assert found.rows == len(wrong)
    assert found.share == pytest.approx(len(wrong) / 300)
    assert sum(count for _, _, count in found.pairs) == len(wrong)
    assert [pair[2] for pair in found.pairs] == sorted((pair[2] for pair in found.pairs), reverse=True)
    given, said_name, count = found.pairs[0]
    both = (problem.y == int(given[1])) & (said == int(said_name[1]))
    assert both.sum() == count
    p = softmax(z, axis=1).max(axis=1)
    surest = wrong[np.argmax(p[wrong])]
    row, given, said_name, probability = found.confident[0]
    assert row == surest * 2 + 101
    assert (given, said_name) == (f"c{problem.y[surest]}", f"c{said[surest]}")
    assert probability == pytest.approx(p[surest])
    assert len(found.confident) == 10


def test_a_teacher_that_always_agrees():
    problem, _ = made(300)
    found = audit(problem, 4 * np.eye(3)[problem.y]).disagreement
    assert (found.rows, found.share, found.pairs, found.confident) == (0, 0, (), ())


def test_the_document_is_json():
    problem, z = made(300)
    document = json.loads(json.dumps(audit(problem, 10 * z).to_dict()))
    assert set(document) == {
        "description", "parts", "disagreement", "temperature", "tempered_loss", "warnings"
    }  # fmt: skip
    assert set(document["parts"]["test"]) == {"rows", "accuracy", "loss", "calibration_error", "entropy"}
    assert set(document["disagreement"]["pairs"][0]) == {"given", "said", "count"}
    assert set(document["disagreement"]["confident"][0]) == {"row", "given", "said", "probability"}
    assert len(document["warnings"]) > 0
    assert document["temperature"] == pytest.approx(10, rel=0.3)
    assert document["tempered_loss"] < document["parts"]["validation"]["loss"]


def test_parts_of_which_nothing_is_known():
    problem, z = made()
    z[problem.test.rows] = np.nan
    z[problem.train.rows[:100]] = np.nan
    found = audit(problem, z)
    assert found.parts["test"] is None
    assert found.parts["train"].rows == 800
    assert found.to_dict()["parts"]["test"] is None
    assert found.warnings == ()
    z[problem.validation.rows] = np.nan
    found = audit(problem, z)
    assert (found.temperature, found.tempered_loss, found.warnings) == (None, None, ())
    with pytest.raises(InputError, match="no prediction for any row"):
        audit(problem, np.full_like(z, np.nan))
    with pytest.raises(InputError, match=r"shape \(1500, 2\), the problem \(1500, 3\)"):
        audit(problem, np.zeros((1500, 2)))


def test_no_better_than_the_most_frequent_class():
    problem, z = made(classes=2, sharpness=1)
    shuffled = z[np.random.default_rng(1).permutation(len(z))]
    rare = replace(problem, y=(np.arange(1500) % 4 == 0).astype(np.int64))
    warnings = warned(rare, shuffled, "no better than always predicting 'c0' (7")
    assert any("worse than that of the class frequencies alone" in warning for warning in warnings)


def test_worse_than_the_shares_of_the_classes():
    problem, z = made(sharpness=1)
    assert not any("frequencies" in warning for warning in audit(problem, z).warnings)
    warned(problem, 12 * z, "worse than that of the class frequencies alone")


def test_practically_hard():
    problem, _ = made(sharpness=8)
    said = problem.y.copy()
    said[::50] = (said[::50] + 1) % 3
    warned(problem, 12 * np.eye(3)[said], "soft labels this hard teach what hard labels teach")
    warned(problem, log_probabilities(np.eye(3)[said]), "practically hard")


def test_collapsed():
    problem, z = made()
    warned(problem, z + np.array([9.0, 0.0, 0.0]), "predicts 'c0' for 99.9% of the rows, but only 3")
    warned(problem, np.tile([0.5, 0.2, 0.1], (1500, 1)), "predicts the same for every row: it has collapsed")
    lone = replace(made(classes=2)[0], y=(np.arange(1500) % 200 == 0).astype(np.int64))
    z = np.random.default_rng(0).normal(size=(1500, 2)) + np.array([5.5, 0.0])
    assert not any("collapsed" in warning for warning in audit(lone, z).warnings)


@pytest.mark.parametrize(("factor", "how"), [(5.0, "overconfident"), (0.3, "underconfident")])
def test_over_and_underconfident(factor, how):
    problem, z = made(sharpness=2)
    warnings = warned(problem, factor * z, f"the teacher is {how}")
    told = next(warning for warning in warnings if how in warning)
    assert f"temperature {audit(problem, factor * z).temperature:.2g} on its labels" in told


def test_memorised():
    problem, z = made(sharpness=1)
    train = problem.train.rows
    z[train] = 3 * np.eye(3)[problem.y[train]]
    warned(problem, z, "has memorized the training rows (accuracy 100.0% there")
    assert not any("memorized" in warning for warning in audit(problem, z, out_of_fold=True).warnings)


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_softmaxed_twice(classes):
    problem, z = made(classes=classes, sharpness=4)
    warnings = warned(problem, softmax(z, axis=1), "softmaxed twice")
    assert not any("underconfident" in warning for warning in warnings)


def test_a_teacher_that_is_rightly_unsure_is_not_called_softmaxed_twice():
    problem, z = made(classes=2, sharpness=0.25)
    z = np.clip(z, -0.45, 0.45)
    assert softmax(z, axis=1).max() < np.e / (np.e + 1)
    assert not any("twice" in warning for warning in audit(problem, z).warnings)


def test_a_teacher_that_is_never_wrong_may_have_seen_the_test():
    problem, _ = made()
    known = 4 * np.eye(3)[problem.y]
    warned(problem, known, "fitted on them")
    assert not any("fitted on them" in warning for warning in audit(problem, known, out_of_fold=True).warnings)


def test_a_notebook_and_a_console_show_the_audit():
    problem, z = made(300)
    found = audit(problem, z)
    assert repr(found).startswith("<TeacherAudit: train accuracy ")
    assert repr(found).endswith("; no warnings>")
    html = audit(problem, np.tile([0.5, 0.2, 0.1], (300, 1)))._repr_html_()
    assert "<td>60</td>" in html
    assert "<li>the teacher predicts the same for every row" in html
    named = TeacherPredictions(z, "<script>", "logits")
    assert "<script>" not in audit_teacher(problem, named)._repr_html_()
