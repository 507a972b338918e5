"""Torch modules and Keras models as teachers: called as they should be, and left as they were."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from softlabel.data import load
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.deep_models import is_keras, is_torch
from softlabel.teachers.sources import query_teacher


def table(rows=90, classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4)).astype(np.float32)
    return X, X[:, :classes].argmax(axis=1)


class Picks(nn.Module):
    """The first columns as logits; `seen` are the shapes, modes and types it was called with."""

    def __init__(self, classes=3, form=lambda z: z):
        super().__init__()
        self.scale, self.drop, self.classes, self.form = nn.Parameter(torch.ones(1)), nn.Dropout(0.5), classes, form
        self.seen = []

    def forward(self, x):
        self.seen.append((tuple(x.shape), self.training, x.dtype, torch.is_grad_enabled()))
        return self.form(self.drop(self.scale * x[:, : self.classes]))


def test_a_module_is_called_in_evaluation_mode_and_left_as_it_was():
    X, y = table()
    module = Picks().train()
    module.drop.eval()
    predictions = query_teacher(Problem.from_arrays(X, y), module)
    assert predictions.logits == pytest.approx(X[:, :3])
    assert predictions.kind == "logits"
    assert predictions.description == "network Picks"
    assert predictions.parameters == 1
    assert all(not training and kind == torch.float32 and not grad for _, training, kind, grad in module.seen)
    assert module.training
    assert not module.drop.training


def test_many_rows_are_predicted_in_batches():
    X, y = table(1300)
    module = Picks()
    predictions = query_teacher(Problem.from_arrays(X, y), module, transfer=X[:700])
    assert predictions.logits == pytest.approx(X[:, :3])
    assert predictions.transfer == pytest.approx(X[:700, :3])
    assert max(shape[0] for shape, *_ in module.seen) <= 512


@pytest.mark.parametrize(
    "form",
    [lambda z: {"loss": z[0], "logits": z}, lambda z: SimpleNamespace(logits=z), lambda z: (z, z + 1), torch.clone],
)
def test_logits_among_several_outputs(form):
    X, y = table()
    assert query_teacher(Problem.from_arrays(X, y), Picks(form=form)).logits == pytest.approx(X[:, :3])


def test_probabilities_and_one_column_of_a_module():
    X, y = table()
    soft = query_teacher(Problem.from_arrays(X, y), Picks(form=lambda z: z.softmax(1)))
    assert soft.kind == "probabilities"
    assert soft.probabilities == pytest.approx(torch.from_numpy(X[:, :3]).softmax(1).numpy(), abs=1e-5)
    two = Problem.from_arrays(X, X[:, 0] > 0)
    assert query_teacher(two, Picks(1, lambda z: z[:, 0])).logits[:, 1] == pytest.approx(X[:, 0])


def test_a_double_module_gets_doubles():
    X, y = table()
    module = Picks().double()
    query_teacher(Problem.from_arrays(X, y), module)
    assert module.seen[0][2] == torch.float64


def test_images_are_passed_as_images_or_flat():
    problem = load("digits")
    torch.manual_seed(0)
    weights = torch.zeros(10, 64)
    flat = nn.Linear(64, 10)
    flat.weight.data = weights
    image = nn.Sequential(nn.Conv2d(1, 1, 1), nn.Flatten(), nn.Linear(64, 10))
    image[2].weight.data = weights.clone()
    with torch.no_grad():
        expected = image(torch.from_numpy(problem.as_images(problem.X).copy())).numpy()
    assert query_teacher(problem, image).logits == pytest.approx(expected, abs=1e-5)
    assert query_teacher(problem, flat).logits == pytest.approx(np.tile(flat.bias.detach().numpy(), (len(problem), 1)))


def test_a_module_for_other_inputs_is_one_line():
    X, y = table()
    with pytest.raises(
        InputError, match="teacher Linear fails on the data: RuntimeError: mat1 and mat2 shapes"
    ) as caught:
        query_teacher(Problem.from_arrays(X, y), nn.Linear(7, 3))
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="predictions have 2 columns, the data have 3 classes"):
        query_teacher(Problem.from_arrays(X, y), Picks(2))


def keras(predict, **more):
    """A stand-in for a Keras model: its class is in a module of that name, and it has predict alone."""
    body = {"predict": lambda self, x, verbose="auto": predict(x, verbose), "__module__": "keras.src.models.sequential"}
    return type("Sequential", (), body | more)()


def test_a_keras_model_predicts_quietly():
    X, y = table()
    seen = []

    def predict(x, verbose):
        seen.append((verbose, x.dtype))
        return np.exp(x[:, :3]) / np.exp(x[:, :3]).sum(axis=1, keepdims=True)

    model = keras(predict, count_params=lambda self: 12)
    assert is_keras(model)
    assert not is_torch(model)
    predictions = query_teacher(Problem.from_arrays(X, y), model)
    assert predictions.kind == "probabilities"
    assert predictions.parameters == 12
    assert predictions.probabilities == pytest.approx(predict(X, 0), abs=1e-5)
    assert set(seen) == {(0, np.dtype("float32"))}
    assert query_teacher(Problem.from_arrays(X, y), keras(predict)).parameters is None


def test_a_keras_model_of_images_has_channels_last():
    problem = load("digits")

    def predict(x, verbose):
        assert x.shape[1:] == (8, 8, 1)
        return np.zeros((len(x), 10)) + np.arange(10.0)

    predictions = query_teacher(problem, keras(predict, input_shape=(None, 8, 8, 1)))
    assert predictions.logits[0] == pytest.approx(np.arange(10))


def test_predict_alone_is_not_enough_for_other_libraries():
    X, y = table()
    booster = type("Booster", (), {"predict": lambda self, x: x})()
    assert not is_keras(booster)
    with pytest.raises(InputError, match=r"Booster has no predict_proba: .* pass that function \(teacher.predict\)"):
        query_teacher(Problem.from_arrays(X, y), booster)
    assert query_teacher(Problem.from_arrays(X, y), lambda x: x[:, :3]).kind == "logits"
