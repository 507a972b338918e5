from pathlib import Path

import pytest
from matplotlib.image import imread

from softlabel.errors import InputError
from softlabel.report.bounds_figure import _power, draw_bounds
from softlabel.theory.bounds import Setting


@pytest.mark.parametrize(
    ("gamma", "setting"),
    [
        (0.05, Setting(n=1000)),
        (0.3, Setting(n=10, kappa=0.5)),  # the paper's families are silent about soft labels
        (0.5, Setting(n=10, alpha=1e100)),  # hard labels always need fewer
        (1e-200, Setting(n=1000, c=1e-200)),  # widths beyond floating point
    ],
)
def test_every_case_is_drawn(tmp_path: Path, gamma, setting):
    path = tmp_path / "widths.png"
    draw_bounds(path, gamma, 0.1, setting)
    pixels = imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 800
    assert 0.02 < (pixels.min(axis=2) < 0.9).mean() < 0.9  # neither blank nor full


def test_numbers_for_the_eye():
    assert [_power(value) for value in (3239.2, 5.84e5, 2e20, float("inf"))] == [
        "3,240", "5.8·10⁵", "2.0·10²⁰", "beyond floating point",
    ]  # fmt: skip


def test_wrong_inputs_are_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"figure must end in \.png or \.svg"):
        draw_bounds(tmp_path / "widths.pdf", 0.1, 0.1, Setting(n=10))
    with pytest.raises(InputError, match="`gamma` must satisfy"):
        draw_bounds(tmp_path / "widths.png", 0.9, 0.1, Setting(n=10))
