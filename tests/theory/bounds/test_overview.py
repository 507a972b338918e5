"""All bounds for one case, as an object, as JSON, as text and as a figure."""

import io
import json

import pytest

from softlabel.theory import bounds


@pytest.fixture(scope="module")
def result() -> bounds.Overview:
    return bounds.overview(0.1, 0.1, 1000, width=100_000)


def test_it_agrees_with_the_single_functions(result):
    for family in bounds.FAMILIES:
        assert result.families[family]["soft"] == bounds.soft(0.1, 0.1, 1000, family=family)
        assert result.families[family]["hard"] == bounds.hard(0.1, 0.1, 1000, family=family)
        assert result.crossovers[family] == bounds.crossover(family, 0.1, 1000)
    assert result.without_n == bounds.soft_without_n(0.1, 0.1)
    assert result.guarantees["tight"]["soft"]["epsilon"] == bounds.guaranteed_error(100_000, 0.1, 1000)
    assert bounds.overview(0.1, 0.1, 1000).guarantees is None


def test_it_is_a_json_document(result):
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(document) == ["inputs", "families", "n_free", "without_projection", "says", "guarantees"]
    soft = document["families"]["tight"]["soft"]
    assert list(soft) == ["width", "step", "iterations", "radius", "probability", "note"]
    assert soft["step"] == bounds.soft(0.1, 0.1, 1000).learning_rate
    assert "guarantees" not in bounds.overview(0.1, 0.1, 1000).to_dict()


def test_numbers_beyond_floating_point_are_none():
    document = json.loads(json.dumps(bounds.overview(1e-200, 0.1, 1000).to_dict(), allow_nan=False))
    assert document["families"]["tight"]["hard"]["width"] is None
    assert "beyond the range" in document["families"]["tight"]["hard"]["note"]


@pytest.mark.parametrize("setting", [{}, {"kappa": 2.0}, {"alpha": 3.0}])
def test_it_can_be_shown(setting):
    result = bounds.overview(0.1, 0.1, 1000, **setting)
    assert repr(result).startswith(f"<Overview: {bounds.soft_width(0.1, 0.1, 1000, **setting):,} neurons suffice")
    assert result._repr_html_().count("<tr>") == 5
    figure = result.plot()
    figure.savefig(io.BytesIO(), format="png")
    assert figure.axes[0].get_xscale() == "log"
