"""`softlabel.studies.audit`: every step of a training is checked, and a fault in it is noticed."""

import importlib
import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import entr

from softlabel.errors import InputError
from softlabel.networks import Labels, Student, TrainingOptions, hard_labels, optimizers, train_students
from softlabel.networks.initialization import draw_weights
from softlabel.studies.audit import AuditOptions, audit
from softlabel.studies.margin import margin
from softlabel.teachers import KernelLimitTeacher
from softlabel.theory import bounds
from tests.studies.toy import easy_teacher

MODULE = importlib.import_module("softlabel.studies.audit.audit")
X = [[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]]
SIGNS = [1, 1, -1, -1]
SMALL = {"width": 16, "iterations": 5}
NAMES = {"start", "radius", "update", "gradient", "descent", "flips", "drift", "error"}


def audited(x, y, teacher, **settings):
    """An audit with the κ of the teacher."""
    theorem = {name: settings.pop(name) for name in ("epsilon", "delta") if name in settings}
    return audit(x, y, teacher=teacher, **settings, options=AuditOptions(kappa=teacher.kappa, **theorem))


@pytest.fixture(scope="module")
def toy():
    return easy_teacher()


@pytest.mark.parametrize("arm", ["soft", "hard"])
@pytest.mark.parametrize("width", [2, 30, 200])
def test_every_deterministic_check_holds_at_any_width(toy, arm, width):
    x, y, teacher = toy
    result = audited(x, y, teacher, arm=arm, width=width, iterations=60)
    assert result.holds
    names = {check.name for check in result.checks}
    assert names == (NAMES | {"descent, (16)"} if arm == "soft" else NAMES)
    assert result.certificate.measured <= result.certificate.bound


@pytest.mark.parametrize("kappa", [0.2, 3.0])
def test_temperature(toy, kappa):
    x, y, _ = toy
    _, _, teacher = easy_teacher(kappa)
    result = audited(x, y, teacher, width=64, iterations=40)
    assert result.radius == pytest.approx(kappa)
    assert result.holds


def test_where_the_radius_binds_the_checks_still_hold(toy):
    x, y, teacher = toy
    result = audited(x, y, teacher, arm="hard", width=20, iterations=150, radius=1.0, learning_rate=1.0)
    assert result.holds
    radius = next(check for check in result.checks if check.name == "radius")
    assert radius.worst == pytest.approx(0, abs=1e-9)  # on the ball
    assert {check.name for check in result.checks} == NAMES | {"descent, (16)"}


@pytest.mark.parametrize("kappa", [1e-300, 1e-150, 1e-15, 1e-12, 1e-9, 1e-5, 1e5, 1e100])
def test_tiny_and_huge_temperatures_fail_no_check_by_rounding(toy, kappa):
    x, y, teacher = toy
    for settings in (
        {},
        {"learning_rate": 1e-300 if kappa <= 1 else 1e-50},
        {"learning_rate": 3.9999},
        {"width": 2, "iterations": 1},
        {"delta": 1e-300},
    ):
        result = audited(x, y, replace(teacher, kappa=kappa), **{"width": 10, "iterations": 8} | settings)
        assert failing(result) == set(), settings
        assert result.holds
        certificate = result.certificate
        assert 0 <= certificate.measured <= certificate.bound < math.inf
        assert 0 < certificate.rounding <= certificate.bound
        assert certificate.rounding < 0.01 * certificate.bound or kappa < 1e-9 or "learning_rate" in settings


@pytest.mark.parametrize("radius", [1e-300, 1e-15, 1e-12, 1e-6, 1e6, 1e149])
def test_tiny_and_huge_radii_fail_no_check_by_rounding(toy, radius):
    x, y, teacher = toy
    for learning_rate in (1e-300 if radius < 1 else 1e-3, 1.0, 4.9):
        result = audited(x, y, teacher, arm="hard", width=10, iterations=8, radius=radius, learning_rate=learning_rate)
        assert failing(result) == set(), learning_rate
        assert 0 <= result.certificate.measured <= result.certificate.bound < math.inf


def test_fewer_rows_than_columns_are_rotated_by_the_engine_and_fail_no_check():
    x, y, teacher = easy_teacher(n=10, d=40)
    for kappa in (1.0, 1e-9):
        assert audited(x, y, replace(teacher, kappa=kappa), width=20, iterations=20).holds


def moved(stack, step, factor, share):
    """An optimizer that moves all weights by another share of the gradient than −1."""
    for slot in stack.slots():
        slot.value.addcmul_(slot.gradient, slot.learning_rate, value=share)


@pytest.mark.parametrize("kappa", [1e-6, 1.0])
def test_a_step_off_by_a_hundredth_is_noticed_at_any_scale(toy, kappa, monkeypatch):
    x, y, teacher = toy
    monkeypatch.setitem(
        optimizers.OPTIMIZERS,
        "gradient",
        lambda: partial(moved, share=-1.01),
    )
    result = audited(x, y, replace(teacher, kappa=kappa), width=20, iterations=5, radius=10.0, learning_rate=1.0)
    assert "update" in failing(result)


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 4.0},
        {"learning_rate": 5.0},
        {"learning_rate": math.nan},
        {"learning_rate": math.inf},
        {"delta": 0.0},
        {"epsilon": 1.0},
        {"width": 3},
    ],
)
def test_what_the_theorem_does_not_cover_is_refused_before_any_work(toy, settings, monkeypatch):
    x, y, teacher = toy
    for owner, name in ((MODULE, "train_students"), (KernelLimitTeacher, "logits")):
        monkeypatch.setattr(owner, name, lambda *_, **__: pytest.fail("work was done"))
    with pytest.raises(InputError):
        audited(x, y, teacher, **{"width": 10, "iterations": 2} | settings)


def failing(result) -> set[str]:
    return {check.name for check in result.checks if not check.holds}


def test_a_wrong_sign_is_caught(toy, monkeypatch):
    x, y, teacher = toy
    monkeypatch.setitem(
        optimizers.OPTIMIZERS,
        "gradient",
        lambda: partial(moved, share=1.0),
    )
    result = audited(x, y, teacher, width=50, iterations=30)
    assert not result.holds
    assert failing(result) >= {"descent", "update"}


def test_a_missing_projection_is_caught(toy, monkeypatch):
    x, y, teacher = toy

    def distances(stack):
        return (stack.hidden.value - stack.initial).norm(dim=-1)

    monkeypatch.setattr("softlabel.networks.pgd.project", distances)
    result = audited(x, y, teacher, arm="hard", width=20, iterations=150, radius=1.0, learning_rate=1.0)
    assert failing(result) >= {"radius"}


def test_an_unpaired_initialization_is_caught(toy, monkeypatch):
    x, y, teacher = toy

    def unpaired(init, **shape):
        return draw_weights("gaussian", **shape)

    monkeypatch.setattr("softlabel.networks.two_layer.draw_weights", unpaired)
    result = audited(x, y, teacher, width=50, iterations=5)
    assert "start" in failing(result)


def test_a_step_longer_than_the_learning_rate_is_caught(toy, monkeypatch):
    x, y, teacher = toy
    monkeypatch.setitem(
        optimizers.OPTIMIZERS,
        "gradient",
        lambda: partial(moved, share=-1.01),
    )
    result = audited(x, y, teacher, width=50, iterations=5)
    assert failing(result) == {"update"}


def test_training_on_other_labels_is_caught(toy, monkeypatch):
    x, y, teacher = toy

    def shuffled(inputs, students, labels, **options):
        return train_students(inputs, students, {k: Labels(v.kind, -v.values) for k, v in labels.items()}, **options)

    monkeypatch.setattr(MODULE, "train_students", shuffled)
    result = audited(x, y, teacher, width=50, iterations=30)
    assert "descent" in failing(result)


def test_the_result_as_json_figure_and_html(toy):
    x, y, teacher = toy
    result = audited(x, y, teacher, width=10, iterations=4)
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (document["steps"], document["width"], document["holds"]) == (4, 10, True)
    assert document["step"] == result.learning_rate
    assert repr(result) == "<Audit: soft labels, 10 neurons, 4 steps: all deterministic checks hold.>"
    assert len(result.plot().axes) == 1
    assert "Certificate: this training proves a mean loss" in str(result)
    assert "data:image/svg" in result._repr_html_()
    assert result.counts[0].formula.split("|")[0] in result._repr_html_()
    failing = replace(result, checks=(replace(result.checks[0], holds=False), *result.checks[1:]))
    assert failing.failed == [result.checks[0].name]
    assert "these checks fail: start" in repr(failing)


def test_the_figure_shows_exact_equalities_in_words_and_failures_as_failures(toy):
    x, y, teacher = toy
    result = audited(x, y, teacher, width=10, iterations=4)
    (panel,) = result.chart.panels
    assert panel.title.endswith("exactly equal: start, flips")
    assert [series.name for series in panel.series] == ["right − left + allowance for rounding"]
    assert {"start", "flips"}.isdisjoint(panel.categories)
    broken = replace(result, checks=tuple(replace(check, worst=1.0, allowance=0.0) for check in result.checks))
    (series,) = broken.chart.panels[0].series
    assert (series.name, set(series.y)) == ("fails by", {1.0})


def test_labels_without_a_margin_are_explained(toy):
    x, y, teacher = toy
    result = audited(x, -y, teacher, width=10, iterations=2)
    assert {check.name for check in result.checks} == NAMES - {"error"} | {"descent, (16)"}
    assert "not positive: the teacher misclassifies at least one row" in str(result)
    assert "Warning" not in str(audited(x, y, teacher, width=10, iterations=2))


def test_a_student_narrower_than_the_theorem_needs_is_told_so(toy):
    x, y, teacher = toy
    result = audited(x, y, teacher, width=10, iterations=2)
    assert result.counts[-1].failed == 3
    assert result.sufficient_width == bounds.soft_width(result.gamma, 0.1, len(x), family="refined")
    assert f"sufficient is {result.sufficient_width:,} neurons, and this student has 10." in str(result)
    assert "sufficient" not in str(replace(result, width=result.sufficient_width))


def test_bad_settings(toy):
    x, y, teacher = toy
    with pytest.raises(InputError, match=r"`radius` must be at least `kappa` \(1.0\).*got 0.5"):
        audited(x, y, teacher, radius=0.5, learning_rate=1.0, iterations=2)
    with pytest.raises(InputError, match="set `radius` and `learning_rate`, or use a better teacher"):
        audited(x, -y, teacher, arm="hard", iterations=2)


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
    monkeypatch.setattr(MODULE, "search_margin", lambda *_, **__: pytest.fail("too late"))
    for change in ({"width": 5}, {"arm": "firm"}, {"learning_rate": 9.0}, {"iterations": 0}):
        with pytest.raises(InputError):
            audit(X, SIGNS, **SMALL | change)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["soft", "hard"])
def test_the_theorem_at_its_sizes(arm):
    """Refined Theorem 2 with Corollary 4, and its hard counterpart: n = 50, ε = .3, twenty seeds, none may fail.

    The theorem allows a share of 2δ = 10% to fail; the conditions are only sufficient, and none fails.
    """
    x, y, teacher = easy_teacher(spread=0.15)
    epsilon, delta, gamma = 0.3, 0.05, teacher.margin_lower
    assert gamma >= 0.3
    z, _ = teacher.logits(x)
    assert (y * z).min() >= gamma
    need = getattr(bounds, arm)(gamma, epsilon, len(x), delta, family="refined")
    labels = {"hard": hard_labels(y), "soft": Labels("logits", z)}
    target = epsilon * bounds.coin_divergence(gamma) if arm == "soft" else math.log(2) * epsilon
    p = labels[arm].targets()[0]
    entropy = entr(p) + entr(1 - p)
    students = [
        Student(width=int(need.width), seed=seed, labels=arm, radius=need.radius, learning_rate=need.learning_rate)
        for seed in range(20)
    ]
    losses, errors = np.zeros(20), np.zeros(20)

    def callback(step, weights):
        if step < need.iterations:
            for k in range(20):
                f = weights[k].logits(x)
                losses[k] += np.mean(np.logaddexp(0, f) - p * f - entropy) / need.iterations
                errors[k] += np.mean(y * f <= 0) / need.iterations

    options = TrainingOptions(precision="float64", callback=callback)
    train_students(x, students, labels, iterations=int(need.iterations), options=options)
    assert losses.max() <= target
    assert errors.max() <= epsilon
