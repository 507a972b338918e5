import pytest

from softlabel.errors import InputError
from softlabel.networks import Student


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 5}, "width must be even with `init` 'symmetric'.*got 5; use 6, or `init` 'gaussian'"),
        ({"width": 0}, "width must be an integer"),
        ({"width": 4.0}, "width must be an integer"),
        ({"width": 4, "radius": 0.0}, "radius must be a positive number, got 0.0; use `radius` None"),
        ({"width": 4, "radius": -1.0}, "radius must be a positive number"),
        ({"width": 4, "temperature": 0.0}, "temperature must be a positive number, got 0.0"),
        ({"width": 4, "temperature": float("nan")}, "temperature must be"),
        ({"width": 4, "learning_rate": -0.1}, "learning_rate must be a positive number"),
        ({"width": 4, "smoothing": 1.0}, r"smoothing must lie in \[0, 1\)"),
        ({"width": 4, "init": "symetric"}, "did you mean 'symmetric'"),
        ({"width": 4, "activation": "Relu6"}, "did you mean 'relu'"),
        ({"width": 4, "temperature_on": "student"}, "'labels' or 'both'"),
        ({"width": 4, "seed": -1}, "seed must be"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Student(**settings)


def test_an_odd_width_is_fine_with_another_init():
    assert Student(width=5, init="he").width == 5
