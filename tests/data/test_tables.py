import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from softlabel.data import tables
from softlabel.data.tables import contradictions, load_table
from softlabel.errors import InputError


@pytest.fixture
def csv(tmp_path):
    def save(content: str):
        path = tmp_path / "t.csv"
        path.write_text(content)
        return path

    return save


def complaint(path, label="y", **options) -> str:
    with pytest.raises(InputError) as caught:
        load_table(path, label, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plain_table(csv):
    data = load_table(csv("a,y,b\n1,no,2\n3,yes,5\n4,no,6\n"), "y")
    assert data.name == "t.csv"
    assert data.columns == ("a", "b")
    assert data.classes == ("no", "yes")
    assert data.labels.tolist() == [0, 1, 0]
    assert data.labels.dtype == np.int64
    assert data.inputs.dtype == np.float32
    assert dict(data.parts) == {"train": slice(0, 3)}
    assert data.notes == ()


@pytest.mark.parametrize(
    ("written", "classes"),
    [
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["1.0", "0.0", "1.0"], ("0", "1")),
        (["0.5", "1", "0.5"], ("0.5", "1")),
        (["b", "a", "c"], ("a", "b", "c")),
        (["true", "false", "true"], ("false", "true")),
    ],
)
def test_classes_are_sorted_by_value_or_by_alphabet(csv, written, classes):
    data = load_table(csv("a,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(written))), "y")
    assert data.classes == classes


def test_a_table_with_gaps_has_columns_for_an_encoder(csv):
    data = load_table(csv("a,b,y\n1,2,0\n,3,1\n,NA,1\n"), "y")
    assert not data.is_plain
    assert data.frame["a"].to_list() == [1, None, None]
    assert [(plan.name, plan.kind) for plan in data.plans] == [("a", "number"), ("b", "number")]


@pytest.mark.parametrize("written", ["p,,q", "1,,0"])
def test_missing_labels(csv, written):
    content = "a,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(written.split(",")))
    assert "label 'y' has 1 missing value (first in row 2): fill them in or remove" in complaint(csv(content))
    data = load_table(csv(content), "y", labeled_only=True)
    assert data.inputs.tolist() == [[0], [2]]


def test_missing_and_infinite_values_in_arrays(tmp_path):
    inputs = np.ones((5000, 3))
    inputs[4500, 1], inputs[4600, 1] = np.inf, 1e300
    np.savez(tmp_path / "t.npz", X=inputs, y=np.arange(5000) % 2)
    assert "beyond float32, in column '1' (2, first in row 4501)" in complaint(tmp_path / "t.npz")
    inputs[4500, 1], inputs[4600, 1], inputs[7, 2] = 0, 0, np.nan
    np.savez(tmp_path / "t.npz", X=inputs, y=np.arange(5000) % 2)
    assert np.isnan(load_table(tmp_path / "t.npz").frame["2"][7])
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2)), y=[np.nan, 1])
    assert "label 'y' has 1 missing value (first in row 1)" in complaint(tmp_path / "t.npz")


def test_one_class_only(csv):
    assert "label 'y' has one class only ('7'): two are needed" in complaint(csv("a,y\n1,7\n2,7\n"))


def test_a_label_that_names_no_classes(csv):
    rows = "".join(f"{i},{i / 7}\n" for i in range(60))
    message = complaint(csv("a,y\n" + rows))
    assert "60 different values in 60 rows, so it does not name classes: choose another label" in message


def test_equal_inputs_with_different_labels_are_noted(csv):
    data = load_table(csv("a,b,y\n1,2,0\n3,4,1\n1,2,1\n3,4,1\n-0.0,1,0\n0.0,1,1\n"), "y")
    assert len(data.notes) == 1
    assert "2 rows repeat an earlier input with a different label (rows 1 and 3; rows 5 and 6)" in data.notes[0]
    assert "the margin γ is 0" in data.notes[0]


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.sampled_from([0, -0.0, 1, 2])),
    st.data(),
)
def test_contradictions_against_a_double_loop(inputs, data):
    labels = data.draw(hnp.arrays(np.int64, len(inputs), elements=st.integers(0, 2)))
    truth = []
    for row in range(len(inputs)):
        origin = next(i for i in range(row + 1) if np.array_equal(inputs[i], inputs[row]))
        if labels[origin] != labels[row]:
            truth.append((origin, row))
    assert contradictions(inputs, labels) == sorted(truth)


def test_a_hash_that_collides_is_checked_value_by_value(monkeypatch):
    class Zero:
        def __init__(self, seed):
            pass

        def random_raw(self, n):
            return np.zeros(n, np.uint64)

    monkeypatch.setattr(np.random, "PCG64", Zero)
    inputs = np.array([[1, 2], [2, 1], [1, 2], [2, 1]], np.float32)
    bits = inputs.view(np.uint32)
    assert len(set(bits.sum(axis=1).tolist())) == 1
    assert contradictions(inputs, np.array([0, 1, 1, 0])) == [(0, 2), (1, 3)]


def test_rows_of_different_blocks_are_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_BLOCK", 7)
    array = np.random.default_rng(0).random((30, 4)).astype(np.float32)
    array[:, 3] = np.arange(30) % 2
    array[29, :3] = array[2, :3]
    np.save(tmp_path / "t.npy", array)
    assert "rows 3 and 30" in load_table(tmp_path / "t.npy", "last").notes[0]


def test_rows_of_infinite_values_are_those_of_the_file(tmp_path):
    """Beside words, too, where an encoder reads the training rows alone."""
    path = tmp_path / "t.csv"
    path.write_text(
        "a,word,y\n" + "".join(f"{'inf' if k == 37 else k / 7},{'xyz'[k % 3]},{k % 2}\n" for k in range(60))
    )
    with pytest.raises(InputError, match="column 'a' has an infinite value in row 38: correct or empty it"):
        load_table(path, "y")


def test_columns_left_out_beside_words_are_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "a,word,y\n" + "".join(f"{'abc' if k == 37 else k / 7},{'xyz'[k % 3]},{k % 2}\n" for k in range(60))
    )
    (note,) = load_table(path, "y").notes
    assert note == "columns left out: 'a' (nearly every row has another value, so it only identifies rows)"
