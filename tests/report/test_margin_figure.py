import pytest
from matplotlib.image import imread

from softlabel.report.margin_figure import draw_init_margins


@pytest.mark.parametrize("widths", [(64,), (4, 64, 1024)])
@pytest.mark.parametrize(("lower", "upper"), [(0.03, 0.035), (0.0, 0.0)])
def test_every_case_is_drawn(tmp_path, widths, lower, upper):
    rows = [{"width": m, "seed": seed, "gamma": 0.03 * (1 - 2 / m) + 0.001 * seed} for m in widths for seed in range(3)]
    path = tmp_path / "figures" / "init.png"
    draw_init_margins(rows, lower, upper, path)
    pixels = imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 400
    assert 0.01 < (pixels.min(axis=2) < 0.9).mean() < 0.9  # neither blank nor full
