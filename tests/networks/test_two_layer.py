import math

import numpy as np
import pytest
import safetensors.torch
import torch

from softlabel.errors import InputError
from softlabel.networks import TwoLayer


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("biases", [False, True])
def test_logits_are_the_formula(outputs, biases):
    network = TwoLayer.initialized("gaussian", width=5, inputs=4, outputs=outputs, biases=biases, seed=1)
    if network.hidden_bias is not None and network.output_bias is not None:
        network.hidden_bias.copy_(network.hidden[:, 0])
        network.output_bias.fill_(0.3)
    x = np.random.default_rng(0).standard_normal((7, 4))
    f = np.zeros((7, outputs))
    for i in range(7):
        for j in range(5):
            z = float(network.hidden[j].numpy() @ x[i]) + (float(network.hidden[j, 0]) if biases else 0)
            f[i] += network.output[:, j].numpy() * max(0.0, z) / math.sqrt(5)
    f += 0.3 * biases
    np.testing.assert_allclose(network.logits(x), f[:, 0] if outputs == 1 else f)


def test_parameters_count_every_stored_number():
    assert TwoLayer.initialized("gaussian", width=5, inputs=4).parameters == 25
    assert TwoLayer.initialized("gaussian", width=5, inputs=4, outputs=3, biases=True).parameters == 20 + 15 + 5 + 3


def test_wrong_number_of_columns():
    with pytest.raises(InputError, match=r"inputs must have 4 columns as in training, got shape \(2, 3\)"):
        TwoLayer.initialized("gaussian", width=5, inputs=4).logits(np.zeros((2, 3)))


@pytest.mark.parametrize("biases", [False, True])
def test_saved_and_loaded_networks_are_the_same(biases, tmp_path):
    network = TwoLayer.initialized("he", width=5, inputs=4, outputs=3, biases=biases, activation="tanh")
    network.save(tmp_path / "deep" / "net.safetensors")
    back = TwoLayer.load(tmp_path / "deep" / "net.safetensors")
    x = np.random.default_rng(0).standard_normal((6, 4))
    np.testing.assert_array_equal(network.logits(x), back.logits(x))


def test_files_that_are_no_students(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        TwoLayer.load(tmp_path / "missing.safetensors")
    (tmp_path / "cut.safetensors").write_bytes(b"\x10\x00")
    with pytest.raises(InputError, match="cannot be read"):
        TwoLayer.load(tmp_path / "cut.safetensors")
    safetensors.torch.save_file({"hidden": torch.zeros(2, 2)}, tmp_path / "other.safetensors")
    with pytest.raises(InputError, match="not one of a two-layer student"):
        TwoLayer.load(tmp_path / "other.safetensors")
