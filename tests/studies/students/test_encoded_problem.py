"""A problem with text, dates and missing values as an artifact, and its student as files."""

import numpy as np
import polars as pl
import torch

import softlabel as sl
from softlabel.lab import ArtifactStore
from softlabel.networks.two_layer import TwoLayer
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.teachers.predictions import TeacherPredictions
from tests.export.tables import mixed_frame


def encoded_problem() -> TaughtProblem:
    frame = mixed_frame(200)
    problem = sl.load((frame, np.where(np.arange(200) % 3, "yes", "no")))
    logits = np.random.default_rng(0).normal(size=(200, 2))
    return TaughtProblem.from_predictions(problem, TeacherPredictions(logits, "a file", "logits"))


def test_encoder_and_raw_rows_come_back(tmp_path):
    problem, store = encoded_problem(), ArtifactStore(tmp_path)
    key = store.put(problem.to_arrays())
    read = TaughtProblem.from_arrays(store.arrays(key))
    assert problem.encoder is not None
    assert read.encoder is not None
    assert read.encoder.to_dict() == problem.encoder.to_dict()
    assert isinstance(read.example, pl.DataFrame)
    assert read.example.equals(problem.example)
    assert read.example.schema == problem.example.schema
    assert store.put(read.to_arrays()) == key
    np.testing.assert_array_equal(read.encoder.transform(read.example), problem.encoder.transform(problem.example))


def test_raw_rows_are_the_first_test_rows():
    problem = encoded_problem()
    scaled = problem.scaler.apply(problem.encoder.transform(problem.example))
    np.testing.assert_array_equal(scaled, problem.test.X[: len(scaled)])


def test_a_problem_of_numbers_has_neither_key():
    frame = pl.DataFrame({"a": np.arange(60) % 7 / 3, "b": np.arange(60) % 11 / 5})
    problem = sl.load((frame, np.arange(60) % 2))
    logits = np.zeros((60, 2))
    arrays = TaughtProblem.from_predictions(problem, TeacherPredictions(logits, "a file", "logits")).to_arrays()
    assert b"encoder" not in bytes(arrays["about"])
    assert "example.frame" not in arrays


def test_its_student_takes_raw_rows(tmp_path):
    from softlabel.networks.softening import UNCHANGED
    from softlabel.studies.students.families.two_layer import student_model

    problem = encoded_problem()
    network = TwoLayer(torch.randn(4, problem.train.X.shape[1]), torch.randn(1, 4))
    model = student_model(problem, network, UNCHANGED)
    assert model.columns == problem.encoder.columns
    parity = sl.export_student(model, tmp_path, "s", problem.example).parity
    assert max(parity.values()) < 1e-5
    np.testing.assert_array_equal(model.logits(problem.example), network.logits(problem.test.X[: len(problem.example)]))
