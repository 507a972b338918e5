"""Artifacts: computed once, stored bit by bit under a hash, computed again if damaged, shared by workers."""

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from softlabel.errors import SoftlabelError
from softlabel.lab import ArtifactStore, Pieces
from softlabel.lab.executors import Local, Task
from softlabel.teachers.pieces import Piece
from tests.lab.toys import Draw, anonymous_memory, measure_memory

X = np.random.default_rng(0).standard_normal((5, 3))


class Maker:
    """Counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Piece:
        self.calls += 1
        return Piece({"logits": X, "few": X[:2].astype(np.float32)}, {"loss": 0.1 + 0.2, "settings": {"epochs": 3}})


@pytest.fixture
def run_dir(tmp_path):
    return tmp_path / "run"


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes({"flip": bytes(content), "cut": path.read_bytes()[:-5], "empty": b""}[how])


def test_a_piece_is_computed_once_and_is_the_same_to_the_bit(run_dir):
    make = Maker()
    first = Pieces(ArtifactStore(run_dir), ["data", 0]).keep("network", make)
    second = Pieces(ArtifactStore(run_dir), ["data", 0]).keep("network", make)
    assert make.calls == 1
    assert first.facts == second.facts
    for name in ("logits", "few"):
        assert second.arrays[name].dtype == first.arrays[name].dtype
        assert second.arrays[name].tobytes() == first.arrays[name].tobytes()


def test_other_names_and_other_origins_have_pieces_of_their_own(run_dir):
    make = Maker()
    for made_from in (["data", 0], ["data", 1]):
        for name in ("network", "fold-1-of-5"):
            Pieces(ArtifactStore(run_dir), made_from).keep(name, make)
    assert make.calls == 4


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "other"])
def test_a_damaged_piece_is_computed_again_with_a_warning(run_dir, caplog, how):
    make = Maker()
    pieces = Pieces(ArtifactStore(run_dir), "data")
    pieces.keep("network", make)
    path = pieces.directory / "network.safetensors"
    if how == "other":  # the piece of another origin
        other = Pieces(ArtifactStore(run_dir), "more data")
        other.keep("network", Maker())
        shutil.copyfile(other.directory / "network.safetensors", path)
    else:
        damage(path, how)
    piece = pieces.keep("network", make)
    assert make.calls == 2
    assert f"'{path}' is damaged: it is computed again" in caplog.text
    np.testing.assert_array_equal(piece.arrays["logits"], X)
    pieces.keep("network", make)
    assert make.calls == 2


def test_an_interrupt_leaves_nothing_of_the_piece_under_way(run_dir):
    pieces = Pieces(ArtifactStore(run_dir), "data")

    def interrupted() -> Piece:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pieces.keep("network", interrupted)
    assert not (pieces.directory / "network.safetensors").exists()


def test_a_piece_of_a_run_directory_beside_this_one_is_used(tmp_path):
    make = Maker()
    Pieces(ArtifactStore(tmp_path / "verdict"), "data").keep("network", make)
    pieces = Pieces(ArtifactStore(tmp_path / "plan"), "data")
    piece = pieces.keep("network", make)
    assert make.calls == 1
    assert piece.facts == make().facts
    assert piece.arrays["logits"].tobytes() == X.tobytes()
    shutil.rmtree(tmp_path / "verdict")  # the piece was copied
    Pieces(ArtifactStore(tmp_path / "plan"), "data").keep("network", make)
    assert make.calls == 2


def test_a_damaged_piece_beside_this_run_is_not_used(tmp_path, caplog):
    make = Maker()
    for name in ("a", "b"):
        pieces = Pieces(ArtifactStore(tmp_path / name), "data")
        pieces.keep("network", make)
        damage(pieces.directory / "network.safetensors", "flip")
    piece = Pieces(ArtifactStore(tmp_path / "c"), "data").keep("network", make)
    assert make.calls == 3
    np.testing.assert_array_equal(piece.arrays["logits"], X)
    assert caplog.text == ""  # the files of another run are not this one's business


def test_a_piece_in_a_directory_further_away_is_not_used(tmp_path):
    make = Maker()
    Pieces(ArtifactStore(tmp_path / "project" / "verdict"), "data").keep("network", make)
    Pieces(ArtifactStore(tmp_path / "plan"), "data").keep("network", make)
    assert make.calls == 2


ARRAYS = {
    "float64": X, "float32": X.astype(np.float32), "int64": np.arange(4), "uint8": np.arange(4, dtype=np.uint8),
    "bool": X > 0, "columns": np.asfortranarray(X), "slice": X[::2, 1:], "scalar": np.array(3.5), "empty": X[:0],
    "read only": np.frombuffer(b"text", dtype=np.uint8), "not finite": np.array([np.nan, np.inf, -0.0]),
}  # fmt: skip


def test_every_kind_of_array_is_stored_to_the_bit(run_dir):
    key = ArtifactStore(run_dir).put(ARRAYS)
    stored = ArtifactStore(run_dir).arrays(key)
    assert set(stored) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert stored[name].dtype == array.dtype
        assert stored[name].shape == array.shape
        assert stored[name].tobytes() == array.tobytes()


def test_equal_arrays_have_one_artifact_and_others_another(run_dir):
    store = ArtifactStore(run_dir)
    keys = [store.put(arrays) for arrays in (
        {"x": X}, {"x": X.copy()}, {"x": np.asfortranarray(X)}, {"y": X}, {"x": X + 1e-15}, {"x": X.ravel()},
        {"x": X.astype(np.float32)}, {"x": X, "y": X},
    )]  # fmt: skip
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys)) == 6
    assert len(list((run_dir / "artifacts").iterdir())) == 6


def test_an_intact_artifact_is_not_written_again(run_dir):
    key = ArtifactStore(run_dir).put({"x": X})
    path = ArtifactStore(run_dir).path(key)
    before = path.stat()
    ArtifactStore(run_dir).put({"x": X})
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("how", ["flip", "cut", "empty"])
def test_a_damaged_artifact_is_written_again(run_dir, caplog, how):
    store = ArtifactStore(run_dir)
    key = store.put({"x": X})
    damage(store.path(key), how)
    assert ArtifactStore(run_dir).put({"x": X}) == key
    assert "is damaged" in caplog.text
    caplog.clear()
    assert ArtifactStore(run_dir).put({"x": X}) == key
    assert caplog.text == ""  # the new file is intact
    assert ArtifactStore(run_dir).arrays(key)["x"].tobytes() == X.tobytes()


def test_a_missing_artifact_names_the_remedy(run_dir):
    with pytest.raises(SoftlabelError, match=r"artifact '.*' cannot be read: .*; rerun the original command"):
        ArtifactStore(run_dir).arrays("0" * 20)


@pytest.mark.skipif(anonymous_memory() is None, reason="the system does not tell how much memory a process uses")
def test_workers_map_artifacts_into_memory(run_dir):
    """Reading one must not cost a worker memory of its own: all workers of a machine share the pages of the file."""
    size = 128 * 2**20
    store = ArtifactStore(run_dir)
    key = store.put({"x": np.ones(size // 8)})
    tasks = [Task(name, measure_memory, None, [Draw(stage="first", seed=0)], {}, artifacts, 1)
             for name, artifacts in (("before", {}), ("after", {"large": key}))]  # fmt: skip
    with closing(Local(1)) as executor:
        results = {result.key: result for result in executor.run(tasks, store)}
    before, after = ((results[name].cells or [])[0].metrics for name in ("before", "after"))
    assert after["sum"] == size // 8  # it was read
    assert after["anonymous"] - before["anonymous"] < size / 8
