"""`softlabel.studies.train`: students see the rows of `verdict`, and the result holds what was measured."""

import numpy as np
import pytest

from softlabel.data import load
from softlabel.errors import InputError
from softlabel.networks import Student
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.studies.train import train


def table(rows=120):
    X = np.random.default_rng(0).normal(size=(rows, 3))
    return X, np.where(X[:, 0] > 0, "yes", "no")


def test_errors_are_those_of_the_networks_on_the_problem():
    problem = load(table())
    result = train(problem, width=[4, 6], seeds=2, epochs=10)
    assert [(one.width, one.seed) for one in result.students] == [(4, 0), (4, 1), (6, 0), (6, 1)]
    for network, one in zip(result.networks, result.students, strict=True):
        assert one.test_error == (network.logits(problem.test.scaled) * problem.test.signs <= 0).mean()
        assert one.train_error == (network.logits(problem.train.scaled) * problem.train.signs <= 0).mean()
    assert result.to_dict()["students"][0]["parameters"] == result.networks[0].parameters


def test_the_settings_of_a_student_are_used():
    student = Student(width=6, activation="tanh", init="gaussian")
    result = train(*table(), seeds=1, epochs=1, student=student)
    assert (result.networks[0].width, result.networks[0].activation) == (6, "tanh")


def test_soft_labels_as_an_array_or_a_file(tmp_path):
    X, y = table()
    probabilities = np.where(y == "yes", 0.9, 0.1)
    np.save(tmp_path / "p.npy", probabilities)
    arguments = {"seeds": 1, "epochs": 3, "batch_size": None}
    results = [train(X, y, soft_labels=labels, **arguments) for labels in (probabilities, str(tmp_path / "p.npy"))]
    assert results[0].students == results[1].students
    assert results[0].labels == "soft"
    pairs = np.stack([1 - probabilities, probabilities], axis=1)
    assert train(X, y, soft_labels=pairs, **arguments).students == results[0].students
    with pytest.raises(InputError, match="soft_labels must have one row for each of the 120 rows"):
        train(X, y, soft_labels=probabilities[:100])


def test_what_a_notebook_shows():
    result = train(*table(), width=4, seeds=2, epochs=2)
    assert repr(result).startswith("<TrainedStudents: 2 students of width 4 on hard labels: mean test error ")
    assert "<table" in result._repr_html_()
    axes = result.plot().axes[0]
    assert axes.get_ylabel() == "error, %"
    assert axes.get_xlim() == (-0.5, 0.5), "points stand close to their only tick"


@pytest.mark.parametrize(("place", "temperature"), [("labels", 4.0), ("both", 1.0)])
def test_saved_students_record_the_temperature_of_their_labels(tmp_path, place, temperature):
    X, y = table()
    student = Student(width=4, temperature=4.0, temperature_on=place, smoothing=0.1)
    result = train(X, y, soft_labels=np.where(y == "yes", 0.9, 0.1), student=student, seeds=1, epochs=1, out=tmp_path)
    model = StudentModel.load(tmp_path / "students" / "width4-seed0.safetensors")
    assert model.softening == Softening(temperature, 0.1)
    assert np.array_equal(model.network.hidden, result.networks[0].hidden)


def test_students_no_better_than_the_most_frequent_class(caplog):
    bad = train(*table(), width=4, seeds=1, epochs=1, student=Student(width=4, learning_rate=1e-6))
    (warning,) = bad.warnings
    assert warning in caplog.text
    assert bad.summary[-1] == f"Warning: {warning}."
    assert not train(*table(), width=4, seeds=1, epochs=20).warnings
