import numpy as np
import pytest

from softlabel.data.loading import load_raw
from softlabel.errors import InputError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,kind\n1,2,x\n2,1,y\n3,5,z\n4,4,x\n")
    return path


def test_digits():
    data = load_raw("digits")
    assert data.inputs.shape == (1797, 64)
    assert data.inputs.dtype == np.float32
    assert (data.inputs.min(), data.inputs.max()) == (0, 1)
    assert dict(data.parts) == {"train": slice(0, 1797)}
    assert data.image_shape == (8, 8)
    inputs, labels = data.part("train")
    assert len(inputs) == len(labels) == len(data)
    with pytest.raises(InputError, match="unknown part of digits 'test'"):
        data.part("test")


def test_some_classes_of_a_named_set():
    pair = load_raw("digits", classes="3,8")
    assert set(pair.labels.tolist()) == {3, 8}
    assert set(load_raw("digits", leave_out="1,7,4,9").labels.tolist()) == {0, 2, 3, 5, 6, 8}
    everything = load_raw("digits")
    np.testing.assert_array_equal(pair.inputs, everything.inputs[np.isin(everything.labels, [3, 8])])


def test_some_classes_of_a_table(table):
    data = load_raw(table, "kind", classes="z,x")
    assert data.classes == ("x", "y", "z")
    assert data.labels.tolist() == [0, 2, 0]
    assert dict(data.parts) == {"train": slice(0, 3)}
    assert load_raw(str(table), "kind", leave_out="z").labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "nmist"}, "unknown data set 'nmist': did you mean 'mnist'"),
        ({"data": "none.csv"}, r"there is no file 'none\.csv'"),
        ({"data": "digits", "label": "y"}, "'digits' has its own labels"),
        ({"data": "digits", "drop": ["a"]}, "leave out `label` and `drop`"),
        ({"data": "digits", "classes": "3,8", "leave_out": "1"}, "exclude each other"),
        ({"data": "digits", "classes": "3,x"}, "unknown class 'x'"),
    ],
)
def test_what_cannot_be_loaded(arguments, message):
    with pytest.raises(InputError, match=message):
        load_raw(**arguments)
