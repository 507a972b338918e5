import numpy as np
import pytest

from softlabel.data import CATALOGUE, fetch, load_task
from softlabel.data.scaling import norms
from softlabel.errors import InputError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "heart.csv"
    path.write_text("a,b,sick\n3,4,no\n0,1,yes\n2,2,no\n1,0,yes\n")
    return path


def test_the_default_task_of_digits():
    task = load_task("digits")
    assert str(task) == "digits: digits 0-9, label>4, inputs brought to unit norm"
    assert task.test is None
    assert len(task.train) == 1797
    np.testing.assert_array_equal(task.train.y, np.where(task.train.labels > 4, 1, -1))
    np.testing.assert_allclose(norms(task.train.inputs), 1, atol=1e-6)


def test_what_the_caller_says_goes_before_the_default():
    task = load_task("digits", classes="3,8", scale="max")
    assert str(task).startswith("digits: digits 0-9, 3 (−1) against 8 (+1), inputs divided by the largest norm (")
    np.testing.assert_array_equal(task.train.y, np.where(task.train.labels == 8, 1, -1))
    assert norms(task.train.inputs).max() == pytest.approx(1)
    left = load_task("digits", leave_out="1,7,4,9", task="label in 0,2", scale="none")
    assert str(left) == "digits: digits 0-9 without 1, 7, 4, 9, label in 0,2, inputs as they are"
    assert set(left.train.labels.tolist()) == {0, 2, 3, 5, 6, 8}


def test_several_classes():
    task = load_task("digits", several_classes=True)
    assert task.train.y is None
    assert str(task) == "digits: digits 0-9, 10 classes, inputs brought to unit norm"


def test_a_table_of_two_classes(table):
    task = load_task(table, label="sick")
    assert task.train.y.tolist() == [-1, 1, -1, 1]
    assert str(task) == (
        "heart.csv: 4 examples, 2 inputs, no (−1) against yes (+1), inputs divided by the largest norm (5)"
    )
    assert load_task(table, label="sick", classes="yes,no").train.y.tolist() == [1, -1, 1, -1]
    assert load_task(table, label="sick", task="label==no").train.y.tolist() == [1, -1, 1, -1]
    assert task.columns == ("a", "b")


def test_a_table_of_three_classes_asks_for_a_task(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,kind\n1,2,x\n2,1,y\n3,5,z\n4,4,x\n")
    with pytest.raises(InputError, match=r"3 classes \(x, y, z\): make it .* --classes x,y"):
        load_task(path, label="kind")
    assert load_task(path, label="kind", several_classes=True).train.labels.tolist() == [0, 1, 2, 0]
    assert load_task(path, label="kind", leave_out="y").train.y.tolist() == [-1, 1, -1]


def test_what_is_no_task(table):
    with pytest.raises(InputError, match="both given: give --task or --classes"):
        load_task("digits", task="label>4", classes="3,8")
    with pytest.raises(InputError, match="unknown scale 'huge'"):
        load_task(table, label="sick", scale="huge")
    with pytest.raises(InputError, match="one side"):
        load_task("digits", task="label>9")


def test_the_test_part_is_scaled_by_the_training_part(named_cifar):
    task = load_task("tiny-cifar", scale="max", classes="cat,dog")
    assert len(task.train) == 4
    assert len(task.test) == 2
    assert task.train.y.tolist() == [-1, 1, -1, 1]
    assert norms(task.train.inputs).max() == pytest.approx(1)
    raw = named_cifar["test"][[3, 5]].reshape(2, -1) / 255
    np.testing.assert_allclose(task.test.inputs, raw / task.scaler.factor, rtol=1e-5)


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.files])
def test_the_default_task_of_the_real_sets(name, real):
    real(name)
    task = load_task(name)
    assert task.test is not None
    assert norms(task.train.inputs).max() <= 1 + 1e-5
    assert abs(float(task.train.y.mean())) < 0.02
    assert fetch(name).source is None
