"""Settings in addresses: there and back, and values that cannot be."""

from urllib.parse import parse_qsl

from hypothesis import given as for_all
from hypothesis import strategies as some
from pydantic import Field

from softlabel.app.links import LinkSettings, query_of, settings_from


class Sample(LinkSettings):
    width: int = Field(8, ge=1, le=512)
    radius: float | None = Field(1.0, gt=0, allow_inf_nan=False)
    data: str = Field("moons", max_length=20)


def back(query):
    return settings_from(Sample, dict(parse_qsl(query)))


@for_all(some.integers(1, 512), some.floats(1e-6, 1e6), some.text("abcß<&=# ", max_size=20))
def test_there_and_back(width, radius, data):
    settings = Sample(width=width, radius=radius, data=data)
    query = dict(parse_qsl(query_of(settings), keep_blank_values=True))
    assert settings_from(Sample, query) == (settings, [])


def test_defaults_are_not_in_the_address():
    assert query_of(Sample()) == ""
    assert query_of(Sample(width=16)) == "width=16"


def test_wrong_values_fall_back_one_by_one():
    settings, problems = back("width=1000&radius=abc&data=xor&other=1")
    assert settings == Sample(data="xor")
    assert len(problems) == 2
    assert "“width=1000” in the address is not possible" in problems[1]


@for_all(some.dictionaries(some.sampled_from(["width", "radius", "data", "x"]), some.text(max_size=30)))
def test_no_query_is_an_error(query):
    settings, problems = settings_from(Sample, query)
    assert isinstance(settings, Sample)
    assert len(problems) <= len(query)
