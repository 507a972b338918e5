"""Sentences for what users can do nothing wrong about."""

import numpy as np
import pytest
import torch

from softlabel.errors import counted, out_of_memory


def test_numbers_agree_with_their_nouns():
    assert [counted(count, "row") for count in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
    assert [counted(count, "entry", "entries") for count in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize(
    "ask",
    [lambda: np.zeros(2**50), lambda: torch.zeros(2**50), lambda: bytearray(2**60)],
    ids=["numpy", "torch", "python"],
)
def test_failed_allocations_are_one_sentence(ask):
    with pytest.raises((MemoryError, RuntimeError)) as caught:
        ask()
    sentence = out_of_memory(caught.value)
    assert sentence is not None
    assert sentence.startswith("there is not enough memory")
    assert "\n" not in sentence


def test_other_errors_are_none_of_them():
    assert out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None
    assert out_of_memory(ValueError("can't allocate memory")) is None
