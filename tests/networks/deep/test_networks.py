"""VGG c+3 and residual networks: their layers, sizes, starts; what they refuse."""

import pytest
import torch
from torch import nn

from softlabel.errors import InputError
from softlabel.networks.deep import build_network, parameter_count
from softlabel.networks.deep.vgg import VGG, stage_counts


@pytest.mark.parametrize(
    ("convolutions", "counts"),
    [(1, [1]), (2, [1, 1]), (4, [1, 1, 2]), (8, [1, 1, 2, 2, 2]), (10, [1, 1, 2, 3, 3]), (13, [2, 2, 3, 3, 3])],
)
def test_stages_fill_as_in_the_paper(convolutions, counts):
    assert stage_counts(convolutions) == counts


def test_configuration_a_has_its_channels():
    convolutions = [m for m in build_network("vgg8+3", 10).modules() if isinstance(m, nn.Conv2d)]
    assert [m.out_channels for m in convolutions] == [64, 128, 256, 256, 512, 512, 512, 512]
    assert [m.out_features for m in build_network("vgg8+3", 10).modules() if isinstance(m, nn.Linear)] == [512, 512, 10]


@pytest.mark.parametrize(("depth", "parameters"), [(20, 269_722), (32, 464_154), (8, 75_290)])
def test_residual_networks_have_the_parameters_of_the_paper(depth, parameters):
    """He and others: .27 million for 20 layers, .46 million for 32."""
    assert parameter_count(build_network(f"resnet{depth}", 10)) == parameters


@pytest.mark.parametrize("name", ["vgg1+3", "vgg2+3", "vgg8+3", "vgg13+3", "resnet8", "resnet14"])
@pytest.mark.parametrize(("classes", "image"), [(2, (3, 32, 32)), (7, (1, 40, 36))])
def test_any_size_and_number_of_classes(name, classes, image):
    network = build_network(name, classes, image, width_multiplier=0.1)
    assert network(torch.randn(3, *image)).shape == (3, classes)


def test_pooling_before_relu_is_the_same_function():
    vgg = VGG(2, 2, (1, 8, 8), 0.1).eval()
    x = torch.randn(5, 1, 8, 8)
    first, pool, relu = vgg.features[0], vgg.features[1], vgg.features[2]
    assert torch.equal(relu(pool(first(x))), pool(torch.relu(first(x))))


def test_initializations_keep_the_size_of_activations_and_follow_the_seed():
    torch.manual_seed(0)
    network = build_network("vgg8+3", 2, seed=3).eval()
    spread = network(torch.randn(64, 3, 32, 32)).std().item()
    assert 0.1 < spread < 10
    again, other = build_network("vgg8+3", 2, seed=3), build_network("vgg8+3", 2, seed=4)
    weights = [n.state_dict()["features.0.weight"] for n in (network, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_initialization_does_not_disturb_the_users_generator():
    torch.manual_seed(5)
    first = torch.rand(1)
    torch.manual_seed(5)
    build_network("resnet8", 2)
    assert torch.equal(torch.rand(1), first)


def test_the_width_multiplier_multiplies():
    small, large = (parameter_count(build_network("resnet20", 2, width_multiplier=w)) for w in (0.25, 0.5))
    assert 3 < large / small < 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build_network("vgg8+3", 2, (3, 16, 16)), "needs at least 32 × 32 pixels, got 16 × 16"),
        (lambda: build_network("vgg0+3", 2), "1 to 19 convolutions"),
        (lambda: build_network("resnet9", 2), "8, 14, 20"),
        (lambda: build_network("resnet8", 2, (3, 2, 8)), "4 × 4 pixels"),
        (lambda: build_network("alexnet", 2), "unknown network 'alexnet'"),
        (lambda: build_network("resnet8", 1), "at least 2"),
        (lambda: build_network("resnet8", 2, width_multiplier=0), "width_multiplier must be a positive number"),
        (lambda: build_network("resnet8", 2, (32, 32)), r"\(channels, height, width\)"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(InputError, match=message):
        call()
