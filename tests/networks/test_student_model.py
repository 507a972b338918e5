"""A student with its scale and names: what it says, and that a file gives back every bit of it."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.data import load
from softlabel.data.scaling import SCALES, Scaler
from softlabel.errors import InputError
from softlabel.networks.student_model import FORMAT, StudentModel, _fingerprint
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics import save_tensors
from softlabel.numerics.tensor_files import read_tensors
from tests.export.students import COLUMNS, NAMES, inputs, network, student


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("classes", [2, 5])
def test_it_says_what_the_network_says_of_scaled_inputs(scale, classes):
    model, x = student(classes, scale), inputs(seed=1)
    z = model.network.logits(model.scaler.apply(x))
    assert np.array_equal(model.logits(x), z)
    p = model.probabilities(x)
    assert p.shape == (40, classes)
    assert p.sum(axis=1) == pytest.approx(np.ones(40), abs=1e-12)
    decided = z > 0 if classes == 2 else z.argmax(axis=1)
    assert np.array_equal(model.predict(x), decided)
    assert np.array_equal(p.argmax(axis=1), decided)


def test_two_classes_are_the_sigmoid():
    model, x = student(), inputs()
    z = model.logits(x).astype(np.float64)
    assert model.probabilities(x)[:, 1] == pytest.approx(1 / (1 + np.exp(-z)), rel=1e-12)


def test_certain_answers_stay_finite():
    model = student(size=1e3, scale="none")
    p = model.probabilities(1e3 * inputs())
    assert np.isfinite(p).all()
    assert {0.0, 1.0} == set(p.ravel().tolist())


@settings(max_examples=40, deadline=None)
@given(
    scale=st.sampled_from(SCALES),
    classes=st.sampled_from([2, 5]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    biases=st.booleans(),
    named=st.booleans(),
    centre=st.floats(-1e6, 1e6, width=32),
    seed=st.integers(0, 2**31),
)
def test_a_file_gives_back_every_bit(tmp_path_factory, scale, classes, dtype, biases, named, centre, seed):
    path = tmp_path_factory.mktemp("s") / "s.safetensors"
    model = student(classes, scale, COLUMNS if named else None, centre, dtype=dtype, biases=biases, seed=seed)
    model.save(path)
    again = StudentModel.load(path)
    for name in ("hidden", "output", "hidden_bias", "output_bias"):
        mine, read = getattr(model.network, name), getattr(again.network, name)
        assert (mine is None and read is None) or (mine.dtype == read.dtype and torch.equal(mine, read))
    assert again.scaler == model.scaler
    assert (again.classes, again.columns) == (model.classes, model.columns)
    assert again.network.activation == model.network.activation
    assert again.fingerprint == model.fingerprint
    x = inputs(centre=centre, seed=1)
    assert np.array_equal(again.probabilities(x), model.probabilities(x))


def test_weights_that_share_memory_can_be_saved(tmp_path):
    tensor = torch.randn(2, 4, 3)
    model = StudentModel(
        TwoLayer(tensor[0], tensor[1, :1, :].expand(1, 3)[:, [0, 1, 2, 0]]), Scaler("none"), ("a", "b")
    )
    model.save(tmp_path / "s.safetensors")
    assert torch.equal(StudentModel.load(tmp_path / "s.safetensors").network.hidden, tensor[0])


def test_the_fingerprint_is_of_numbers_and_names():
    model = student()
    marks = {model.fingerprint, student(seed=1).fingerprint, student(columns=None).fingerprint}
    marks |= {student(scale="unit").fingerprint, student(activation="tanh").fingerprint, student(5).fingerprint}
    marks.add(StudentModel(model.network, model.scaler, ("yes", "no"), COLUMNS).fingerprint)
    assert len(marks) == 7
    assert student().fingerprint == model.fingerprint


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentModel(network(2), Scaler("none"), ("a", "b", "c")), "3 classes need a network with 3 outputs"),
        (lambda: StudentModel(network(3), Scaler("none"), ("a", "b")), "2 classes need a network with 1 outputs"),
        (lambda: StudentModel(network(2), Scaler("none"), ("a",)), "1 classes"),
        (lambda: StudentModel(network(2), Scaler("none"), ("a", "a")), "different names"),
        (lambda: StudentModel(network(2), Scaler("none"), ("a", "b"), ("x",)), "takes 3 columns, 1 are named"),
        (lambda: StudentModel(network(2), Scaler("standard", 1.0, (0.0,), (1.0,)), ("a", "b")), "the scaler has 1"),
        (lambda: student().logits(np.zeros((2, 4))), r"takes 3 input columns, got shape \(2, 4\)"),
        (lambda: student().logits(np.zeros(3)), r"got shape \(3,\)"),
        (lambda: student(scale="unit").logits(np.zeros((2, 3))), "zero inputs"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def change(path, tensors=lambda weights: None, about=lambda facts: None, sealed=False):
    """Change a saved student; `sealed` with a fingerprint that fits."""
    weights, metadata = read_tensors(path, FORMAT, "student")
    facts = json.loads(metadata["about"])
    tensors(weights)
    about(facts)
    text = json.dumps(facts)
    mark = _fingerprint(text, weights) if sealed else metadata["fingerprint"]
    save_tensors(path, weights, FORMAT, {"about": text, "fingerprint": mark})


@pytest.mark.parametrize(
    "changes",
    [
        {"tensors": lambda weights: weights["hidden"].view(-1)[0].add_(1e-6)},
        {"tensors": lambda weights: weights.pop("hidden_bias")},
        {"tensors": lambda weights: weights["shift"].add_(1)},
        {"about": lambda facts: facts.update(classes=facts["classes"][::-1])},
        {"about": lambda facts: facts.update(activation="tanh")},
        {"about": lambda facts: facts.update(factor=2.0)},
        {"about": lambda facts: facts.update(columns=["weight", "age", "height"])},
    ],
)
def test_a_changed_file_is_refused(tmp_path, changes):
    path = tmp_path / "s.safetensors"
    student().save(path)
    change(path, about=lambda facts: None)
    StudentModel.load(path)  # written anew and unchanged
    change(path, **changes)
    with pytest.raises(InputError, match="was modified after it was saved: export it again"):
        StudentModel.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"tensors": lambda weights: weights.pop("hidden")},
        {"about": lambda facts: facts.pop("scale")},
        {"about": lambda facts: facts.update(classes=[*NAMES])},
        {"about": lambda facts: facts.update(activation="sine")},
        {"about": lambda facts: facts.update(columns=3)},
    ],
)
def test_an_incomplete_file_is_one_line(tmp_path, changes):
    path = tmp_path / "s.safetensors"
    student().save(path)
    change(path, **changes, sealed=True)
    with pytest.raises(InputError, match="is not a complete student") as caught:
        StudentModel.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cut_file_is_one_line(tmp_path):
    path = tmp_path / "s.safetensors"
    student().save(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="cannot be read"):
        StudentModel.load(path)


def test_an_array_with_gaps_is_encoded_by_position():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    X[rng.random((60, 3)) < 0.2] = np.nan
    problem = load((X, rng.integers(0, 2, 60)))
    network = TwoLayer.initialized("he", width=4, inputs=problem.X.shape[1])
    model = StudentModel(network, problem.scaler, problem.classes, encoder=problem.encoder)
    assert problem.X.shape[1] == 6
    np.testing.assert_array_equal(model.logits(X), model.logits(problem.X))
    np.testing.assert_array_equal(model.logits(X), model.logits(problem.table))
    with pytest.raises(InputError, match="a frame with the columns 1, 2, 3, or 6 input columns of encoded numbers"):
        model.logits(X[:, :2])
