"""Every student gets one temperature on validation rows: its outputs are probabilities, and its decisions stay."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

import softlabel as sl
from softlabel.networks.deep.evaluation import calibration_error
from softlabel.studies.students.calibration import TEMPERATURES, expected_temperature, fit_temperature
from softlabel.studies.students.recipe import StudentCell
from tests.studies.students.quick import plan, verdict
from tests.studies.students.toy import Toy

TOY = Toy(rows=900, sharp=3.0)


def drawn(rows: int, scale: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits that are `scale` times too large, and classes drawn from the true probabilities."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((rows, 3))
    truth = (rng.random(rows)[:, None] > softmax(z, axis=1).cumsum(axis=1)).sum(axis=1)
    return scale * z, truth


@pytest.mark.parametrize("scale", [0.125, 0.5, 1.0, 4.0])
def test_the_temperature_undoes_a_scale(scale):
    z, truth = drawn(20_000, scale)
    assert fit_temperature(z, truth) == pytest.approx(scale, rel=0.05)


@pytest.mark.parametrize("rows", [15, 200])
def test_it_minimizes_the_penalized_loss(rows):
    """Against a search on a grid."""
    z, truth = drawn(rows, 2.0)
    grid = np.geomspace(*TEMPERATURES, 4001)
    losses = [
        -log_softmax(z / t, axis=1)[np.arange(rows), truth].sum() + (np.log(t / 0.5)) ** 2 / (2 * 0.5**2) for t in grid
    ]
    assert fit_temperature(z, truth, expected=0.5) == pytest.approx(grid[np.argmin(losses)], rel=0.01)


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0.02, 50.0))
@settings(max_examples=60, deadline=None)
def test_it_stays_in_its_range(seed, rows, scale):
    z, truth = drawn(rows, scale, seed)
    temperature = fit_temperature(z, truth)
    assert TEMPERATURES[0] <= temperature <= TEMPERATURES[1]


def test_few_rows_that_are_all_right_do_not_make_a_student_sure():
    z, truth = 3 * np.eye(2)[[0, 1] * 5], np.array([0, 1] * 5)
    assert fit_temperature(z, truth) > 0.5
    assert fit_temperature(z[:0], truth[:0], expected=0.25) == pytest.approx(0.25)


def test_what_is_expected_of_labels():
    def expected(arm, **more):
        return expected_temperature(StudentCell(stage="test", arm=arm, width=2, seed=0, **more))

    assert expected("soft", temperature=4.0) == 0.25  # its logits imitate those of the teacher over 4
    assert expected("soft", temperature=4.0, both_sides=True) == 1
    assert expected("soft", temperature=0.25) == 1  # a teacher that is too uncertain, corrected
    assert expected("hard") == expected("smooth", smoothing=0.1) == 1


@pytest.fixture
def hot(monkeypatch):
    """Soft arms can choose label temperature 8 alone."""
    module = import_module("softlabel.studies.students.families.two_layer")
    real = module.recipe_for

    def only(*words):
        return real(*words).model_copy(update={"temperatures": (8.0,), "both_sides": (), "learning_rates": (0.1,)})

    monkeypatch.setattr(module, "recipe_for", only)


def test_students_of_softened_labels_have_calibrated_outputs_and_files(tmp_path, hot):
    settings = {"epochs": 20, "batch_size": 128}
    result = verdict(TOY.inputs, TOY.labels, TOY.truth, width=8, seeds=3, out=tmp_path / "v", **settings)
    for arm, numbers in result.to_dict()["arms"].items():
        assert numbers["probabilities_are"] == "probabilities"
        assert numbers["calibration_error"] < 0.08, arm
        assert 0 < numbers["brier_score"] < 0.3
    assert result.to_dict()["arms"]["soft"]["chosen"]["temperature"] == 8
    assert "imitate" not in str(result)

    planned = plan(
        TOY.inputs, TOY.labels, TOY.truth, accuracy=0.6, widths=[4, 8], confirm=0, rival=False, seeds=5,
        out=tmp_path / "p", **settings,
    )  # fmt: skip
    assert "imitate" not in str(planned)
    files = [path for path in planned.exported if Path(path).name.startswith("soft") and not path.endswith(".py")]
    assert {path.rpartition(".")[2] for path in files} == {"onnx", "safetensors", "npz"}
    for path in files:
        model = sl.load_model(path)
        assert model.softening.temperature == 8
        assert 0.05 <= model.softening.calibration < 0.5
        assert model.softening.note is None
        p = model.probabilities(TOY.inputs)
        assert calibration_error(p.max(1), (p.argmax(1) == TOY.labels).astype(float)) < 0.06
        result = sl.predict(path, TOY.inputs)
        assert result.to_dict()["probabilities_are"] == "probabilities"
        assert result.to_dict()["label_temperature"] == 8
