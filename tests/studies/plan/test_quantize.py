import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.networks import TwoLayer
from softlabel.studies.plan.quantize import float_bytes, quantized, quantized_bytes, quantized_width


@given(st.integers(1, 20), st.integers(1, 9), st.sampled_from([1, 3]), st.integers(0, 99))
@settings(deadline=None)
def test_every_weight_is_within_half_a_step_and_takes_255_values(width, inputs, outputs, seed):
    network = TwoLayer.initialized("he", width=width, inputs=inputs, outputs=outputs, seed=seed, biases=True)
    small = quantized(network)
    for before, after in ((network.hidden, small.hidden), (network.output, small.output)):
        scale = before.abs().amax(1, keepdim=True) / 127
        assert ((before - after).abs() <= scale / 2 + 1e-12).all()
        levels = torch.where(scale > 0, after / scale, torch.zeros_like(after))
        assert torch.allclose(levels, levels.round(), atol=1e-6)
    assert small.hidden_bias is network.hidden_bias


def test_a_silent_neuron_stays_silent():
    network = TwoLayer(torch.zeros(2, 3), torch.ones(1, 2))
    assert quantized(network).logits(np.ones((1, 3))).tolist() == [0.0]


@given(st.integers(2, 600), st.integers(2, 800), st.sampled_from([1, 3, 10]))
def test_the_rival_is_as_large_as_it_may_be_and_no_larger(width, inputs, outputs):
    budget = float_bytes(width, inputs, outputs)
    rival = quantized_width(budget, inputs, outputs)
    assert rival % 2 == 0
    assert rival == 2 or quantized_bytes(rival, inputs, outputs) <= budget
    assert quantized_bytes(rival + 2, inputs, outputs) > budget
