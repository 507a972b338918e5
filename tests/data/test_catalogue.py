import math

import pytest

from softlabel.data.catalogue import CATALOGUE, find
from softlabel.data.rules import binary_rule, class_pair
from softlabel.data.scaling import SCALES
from softlabel.data.sources import PLACERS
from softlabel.errors import InputError


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=list(CATALOGUE))
def test_every_entry_is_complete(entry):
    assert entry.scale in SCALES
    assert all(source.kind in PLACERS for source in entry.sources)
    assert bool(entry.files) == bool(entry.sources)
    assert all(len(file.sha256) == 64 for file in entry.files)
    assert len({file.sha256 for file in entry.files}) == len(entry.files)
    ways = [way for way in (entry.task, entry.pair) if way is not None]
    assert len(ways) == (0 if len(entry.classes) == 2 else 1)


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=list(CATALOGUE))
def test_default_tasks_are_understood(entry):
    if entry.task:
        y = binary_rule(entry.task, list(range(len(entry.classes))), entry.classes)
        assert y.sum() == 0
    elif entry.pair:
        assert class_pair(entry.pair, entry.classes) == (3, 5)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_sizes_follow_from_the_shapes(name):
    entry = CATALOGUE[name]
    pixels, headers = math.prod(entry.image_shape), 2 * (16 + 8) if entry.format == "idx" else 0
    assert entry.size == sum(entry.examples.values()) * (pixels + 1) + headers


def test_no_registry_is_named_by_address():
    packaged = [s for e in CATALOGUE.values() for s in e.sources if s.kind.startswith(("npm", "apt"))]
    assert packaged
    assert all("/" not in source.at for source in packaged)


def test_an_unknown_name_points_at_the_nearest():
    with pytest.raises(InputError, match="unknown data set 'nmist': did you mean 'mnist'"):
        find("nmist")
