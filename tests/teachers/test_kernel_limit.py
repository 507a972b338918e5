"""The kernel-limit teacher against brute force, and its file."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy.special import expit

from softlabel.errors import InputError
from softlabel.teachers import KernelLimitTeacher
from softlabel.theory.margin import Margin, margin
from tests.theory.margin.problems import digits, random_points


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray, Margin]:
    x, y = random_points(15, 3, 2)
    return x, y, margin(x, y)


@pytest.fixture(scope="module")
def teacher(problem) -> KernelLimitTeacher:
    x, y, found = problem
    return KernelLimitTeacher.from_margin(found, x, y)


def brute_force(teacher: KernelLimitTeacher, x: np.ndarray, draws: int = 400_000) -> tuple[np.ndarray, np.ndarray]:
    """E⟨v(Z), φ_x(Z)⟩ by plain drawing, and its standard error."""
    z = np.random.default_rng(123).standard_normal((draws, x.shape[1]))
    points, weights = teacher.points.numpy(), teacher.weights.numpy()
    g = ((z @ points.T > 0) * weights) @ points
    v = g / np.maximum(np.linalg.norm(g, axis=1), teacher.smoothing)[:, None]
    terms = (z @ x.T > 0) * (v @ x.T)
    return terms.mean(0), terms.std(0) / np.sqrt(draws)


def test_logits_equal_brute_force_on_old_and_new_points(problem, teacher):
    x, _, _ = problem
    new = np.concatenate([x, np.random.default_rng(5).standard_normal((10, 3)), np.zeros((1, 3))])
    truth, error = brute_force(teacher, new)
    value, errors = teacher.logits(new)
    assert (np.abs(value - truth) <= 4.5 * np.hypot(errors, error) + 1e-7).all()
    assert (value[-1], errors[-1]) == (0, 0)
    assert errors[:15].max() < 0.004


def test_error_bars_cover(problem, teacher):
    x, _, _ = problem
    truth, error = brute_force(teacher, x, 1_500_000)
    held = [
        np.abs((found := teacher.logits(x, pairs=300, seed=seed))[0] - truth) <= 1.645 * found[1] for seed in range(150)
    ]
    assert error.max() < 0.1 * teacher.logits(x, pairs=300)[1].max()
    assert np.mean(held) == pytest.approx(0.9, abs=0.04)


def test_training_points_have_the_margin_that_was_certified(problem, teacher):
    x, y, found = problem
    assert teacher.margin_lower == found.teacher_lower > 0
    value, error = teacher.logits(x)
    assert (y * value + 4 * error >= found.teacher_lower).all()
    assert (y * value > 0).all()
    assert y * value == pytest.approx(found.teacher_margins, abs=5 * (error + found.teacher_errors).max())
    assert (y * value).min() <= found.upper + 4 * error.max()


def test_v_has_norm_1_at_most_and_is_the_margins_own(problem, teacher):
    x, y, found = problem
    z = np.random.default_rng(0).standard_normal((500, 3))
    v = teacher.v(z)
    assert v.shape == (500, 3)
    assert np.linalg.norm(v, axis=1).max() <= 1 + 1e-12
    g = ((z @ x.T > 0) * (found.q * y)) @ x
    assert v == pytest.approx(g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), found.smoothing), abs=1e-12)
    assert np.abs(teacher.weights.numpy()).sum() == pytest.approx(1)


def test_kappa_scales_logits_and_softens_labels(problem):
    x, y, found = problem
    plain, sharp = (KernelLimitTeacher.from_margin(found, x, y, kappa) for kappa in (1.0, 4.0))
    logits, errors = plain.logits(x)
    assert sharp.logits(x)[0] == pytest.approx(4 * logits)
    assert sharp.logits(x)[1] == pytest.approx(4 * errors)
    assert sharp.soft_labels(x) == pytest.approx(expit(4 * logits))
    assert ((plain.soft_labels(x) > 0.5) == (y > 0)).all()
    assert sharp.margin_lower == plain.margin_lower  # γ(v) is that of v


def test_the_seed_and_the_pairs_decide(problem, teacher):
    x, _, _ = problem
    first, again, other = (teacher.logits(x, pairs=500, seed=seed) for seed in (1, 1, 2))
    assert (first[0] == again[0]).all()
    assert (first[0] != other[0]).any()
    assert teacher.logits(x, pairs=8000)[1].max() < 0.4 * first[1].max()


def test_saved_and_loaded_it_is_the_same(problem, teacher, tmp_path):
    x, _, _ = problem
    path = tmp_path / "a" / "teacher.safetensors"
    KernelLimitTeacher(teacher.points, teacher.weights, teacher.smoothing, 0.1, teacher.margin_lower).save(path)
    loaded = KernelLimitTeacher.load(path)
    assert torch.equal(loaded.points, teacher.points)
    assert torch.equal(loaded.weights, teacher.weights)
    assert (loaded.kappa, loaded.margin_lower) == (0.1, teacher.margin_lower)
    assert loaded.smoothing == teacher.smoothing > 0
    assert (loaded.logits(x, pairs=100)[0] == 0.1 * teacher.logits(x, pairs=100)[0]).all()


def test_single_precision_inputs_with_idle_columns():
    x, y = digits(40)
    x = x.astype(np.float32)
    found = margin(x, y, rtol=0.2)
    teacher = KernelLimitTeacher.from_margin(found, x, y)
    assert teacher.points.shape[1] == 64
    value, error = teacher.logits(x)
    assert (y * value + 4 * error >= teacher.margin_lower).all()


@pytest.mark.parametrize("content", [b"", b"no safetensors", None])
def test_files_that_are_none(content, tmp_path):
    path = tmp_path / "t.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"t\.safetensors' cannot be read"):
        KernelLimitTeacher.load(path)
    with pytest.raises(InputError, match="cannot be read"):
        KernelLimitTeacher.load(tmp_path)


@pytest.mark.parametrize(
    "metadata", [None, {"format": "softlabel-two-layer-1"}, {"format": "softlabel-kernel-limit-3"}]
)
def test_files_of_something_else(metadata, tmp_path):
    path: Path = tmp_path / "t.safetensors"
    save_file({"points": torch.ones(2, 2)}, path, metadata=metadata)
    with pytest.raises(InputError, match="not one of a kernel-limit teacher"):
        KernelLimitTeacher.load(path)


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_with_another_definition_of_v_is_of_an_earlier_version(version, tmp_path):
    path: Path = tmp_path / "t.safetensors"
    tensors = {"points": torch.ones(2, 2), "weights": torch.ones(2)}
    numbers = {"kappa": "1.0", "margin_lower": "0.1", "smoothing": "0.1"}
    save_file(tensors, path, metadata={"format": f"softlabel-kernel-limit-{version}"} | numbers)
    with pytest.raises(InputError, match=r"was written by an earlier version.*recompute it"):
        KernelLimitTeacher.load(path)


@pytest.mark.parametrize("change", [{"smoothing": "0.0"}, {"smoothing": "nan"}, {"smoothing": "wide"}, {"kappa": "0"}])
def test_files_with_bad_numbers(change, tmp_path, teacher):
    path: Path = tmp_path / "t.safetensors"
    numbers = {"smoothing": "0.1", "kappa": "1.0", "margin_lower": "0.1"} | change
    tensors = {"points": teacher.points, "weights": teacher.weights}
    save_file(tensors, path, metadata={"format": "softlabel-kernel-limit-3"} | numbers)
    with pytest.raises(InputError, match=r"must be positive|is damaged|no number"):
        KernelLimitTeacher.load(path)
    del tensors["weights"]
    save_file(tensors | {"weights": torch.ones(1)}, path, metadata={"format": "softlabel-kernel-limit-3"} | numbers)
    with pytest.raises(InputError, match=r"is damaged|must be|no number"):
        KernelLimitTeacher.load(path)


def test_what_cannot_be(problem, teacher):
    x, y, found = problem
    for kappa in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="kappa must be positive"):
            KernelLimitTeacher.from_margin(found, x, y, kappa)
    with pytest.raises(InputError, match=r"3 columns like the teacher's points, got shape \(15, 2\)"):
        teacher.logits(x[:, :2])
    with pytest.raises(InputError, match="3 columns"):
        teacher.logits(x[0])
    with pytest.raises(InputError, match="at row 0, column 0"):
        teacher.logits(np.full((1, 3), np.nan))
    with pytest.raises(InputError, match="pairs must be at least 3, got 0"):
        teacher.logits(x, pairs=0)
    with pytest.raises(InputError, match="15 rows and 3 columns"):
        KernelLimitTeacher.from_margin(found, x[:5], y[:5])
    x, y = x.copy(), y.copy()
    x[1], y[1] = x[0], -y[0]
    with pytest.raises(InputError, match="no kernel-limit teacher: rows 0 and 1 are parallel"):
        KernelLimitTeacher.from_margin(margin(x, y), x, y)
