"""Artifacts: made once, kept bit by bit under what they were made from, made again where they are damaged."""

import numpy as np
import pytest

from softlabel.lab.artifacts import Artifacts
from softlabel.teachers.pieces import Piece

X = np.random.default_rng(0).standard_normal((5, 3))


class Maker:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> Piece:
        self.made += 1
        return Piece({"logits": X, "few": X[:2].astype(np.float32)}, {"loss": 0.1 + 0.2, "settings": {"step": 0.03}})


def test_a_piece_is_made_once_and_is_the_same_to_the_bit(tmp_path):
    make = Maker()
    first = Artifacts(tmp_path, ["data", 0]).keep("network", make)
    second = Artifacts(tmp_path, ["data", 0]).keep("network", make)
    assert make.made == 1
    assert first.facts == second.facts
    for name in ("logits", "few"):
        assert second.arrays[name].dtype == first.arrays[name].dtype
        assert second.arrays[name].tobytes() == first.arrays[name].tobytes()


def test_other_names_and_other_origins_have_pieces_of_their_own(tmp_path):
    make = Maker()
    for made_from in (["data", 0], ["data", 1]):
        for name in ("network", "fold-1-of-5"):
            Artifacts(tmp_path, made_from).keep(name, make)
    assert make.made == 4


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_damaged_piece_is_made_again_and_that_is_said(tmp_path, caplog, damage):
    make = Maker()
    artifacts = Artifacts(tmp_path, "data")
    artifacts.keep("network", make)
    path = artifacts.folder / "network.safetensors"
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[-3] ^= 1
    if damage == "other":  # the piece of another origin
        Artifacts(tmp_path, "more data").keep("network", Maker())
        content = bytearray((Artifacts(tmp_path, "more data").folder / "network.safetensors").read_bytes())
    path.write_bytes({"cut": content[:-5], "empty": b""}.get(damage, content))
    again = artifacts.keep("network", make)
    assert make.made == 2
    assert "is damaged: it is made again" in caplog.text
    np.testing.assert_array_equal(again.arrays["logits"], X)
    artifacts.keep("network", make)
    assert make.made == 2


def test_an_interrupt_leaves_nothing_of_the_piece_under_way(tmp_path):
    artifacts = Artifacts(tmp_path, "data")

    def interrupted() -> Piece:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        artifacts.keep("network", interrupted)
    assert not (artifacts.folder / "network.safetensors").exists()
