"""The study of widths: data with a dialed margin, widths that suffice, and exponents from invented results."""

import json
import math

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.lab import CellResult, StageResults
from softlabel.studies.run import Execution, run_in
from softlabel.studies.width_scaling import PRESETS, WidthScalingResult, WidthScalingSettings, WidthScalingStudy
from softlabel.studies.width_scaling.bound_slopes import PRINTED, slope_of_bound
from softlabel.studies.width_scaling.comparison import WidthRatio, width_ratio
from softlabel.studies.width_scaling.data import angled_pairs, full_xor, mixed_images
from softlabel.studies.width_scaling.result import SOFT
from softlabel.studies.width_scaling.settings import ARMS, Level, powers
from softlabel.studies.width_scaling.training import WidthCell, iterations, widths_of
from softlabel.theory.margin import margin


def small(**changes) -> WidthScalingSettings:
    values = {
        "data": "digits", "angles": (1.4, 0.9, 0.5), "dimensions": (3,), "widths": (2, 4, 8), "narrow": 8, "rows": 16,
        "most_iterations": 60, "samples": 10, "work_limit": 1e8, "runs": 2,
    }  # fmt: skip
    return WidthScalingSettings(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("widths") / "run"
    return run_dir, run_in(run_dir, WidthScalingStudy(small()), Execution(threads=1, progress=False))


def test_it_is_judged_and_drawn(finished):
    run_dir, result = finished
    document = result.to_dict()
    json.dumps(document, allow_nan=False)
    assert {one["arm"] for one in document["exponents"]} == set(ARMS)
    assert all(one["exponent"] is None for one in document["exponents"])  # margins are certified loosely
    assert all(0 < one["lower"] <= one["upper"] for one in document["margins"])
    assert {path.stem for path in (run_dir / "figures").iterdir()} == {"widths-pairs", "widths-xor"}
    assert "Written down before the run: Question:" in result.report.read_text()


def test_the_margin_of_xor_is_the_known_one():
    """MATH: 1/6 for d = 3, .0636 for d = 6."""
    for dimension, known in ((3, 0.1667), (6, 0.0636)):
        data = full_xor(dimension)
        assert len(data.y) == 2**dimension
        assert len(np.unique(data.X, axis=0)) == 2**dimension
        assert np.linalg.norm(data.X, axis=1) == pytest.approx(np.ones(2**dimension))
        result = margin(data.X, data.y, work_limit=1e10)
        assert result.lower <= known * 1.001
        assert result.upper >= known * 0.999


def test_the_angle_dials_the_margin():
    uppers = []
    for angle in (1.0, 0.1):
        data = angled_pairs(pairs=3, dimension=6, rows=12, angle=angle, seed=0)
        assert np.linalg.norm(data.X, axis=1) == pytest.approx(np.ones(12))
        for pair in range(3):  # rows k, k + 3, … belong to one pair
            x, y = data.X[pair::3], data.y[pair::3]
            assert np.arccos((x[y > 0] @ x[y < 0].T).max()) >= 0.999 * angle
        uppers.append(margin(data.X, data.y, work_limit=1e8).upper)
    assert uppers[1] < uppers[0] / 4


def test_mixing_images_makes_the_margin_smaller():
    plain, mixed = (mixed_images("digits", "label>4", 20, mix, seed=0) for mix in (0.0, 0.4))
    np.testing.assert_array_equal(plain.y, mixed.y)
    assert np.linalg.norm(mixed.X, axis=1) == pytest.approx(np.ones(20))
    smaller, larger = (margin(data.X, data.y, work_limit=1e9).upper for data in (mixed, plain))
    assert smaller < 0.5 * larger


def test_iterations_and_affordable_widths():
    settings = small(widths=(2, 4, 8, 16, 32), narrow=8, most_iterations=1000, most_work=16_000)
    assert iterations(settings, 0.25) == 200
    assert iterations(settings, 0.01) == 1000
    assert widths_of(settings, "soft, theorem", 1000) == [2, 4, 8, 16]
    assert widths_of(settings, "hard", 1000) == [2, 4, 8]


def invented(exponents: dict[str, float], gammas=(0.2, 0.1, 0.05, 0.025), runs=6) -> WidthScalingResult:
    """Students that succeed from a width of 4·(0.2/γ)^p on."""
    widths = powers(2, 4096)
    settings = small(angles=tuple(gammas), dimensions=(), widths=widths, narrow=4096, runs=runs)
    results = StageResults()
    for level in settings.levels:
        for seed in settings.seeds:
            shift = 2 ** np.random.default_rng([seed, 3]).normal(0, 0.2)
            arms = [k for k in range(len(ARMS)) for _ in widths]
            good = [w >= 3.9 * shift * (0.2 / level.dial) ** exponents.get(ARMS[k], 0.0) for k, w in
                    zip(arms, widths * len(ARMS), strict=True)]  # fmt: skip
            errors = np.where(good, 0.01, 0.4)
            arrays = {"arm": np.array(arms), "width": np.array(widths * len(ARMS)), "train": errors, "test": errors}
            metrics = {"lower": 0.95 * level.dial, "upper": level.dial, "iterations": 10}
            results.add("train", WidthCell(level=level, seed=seed), CellResult(metrics, arrays))
    return WidthScalingResult(settings, results)


def stages_of(result: WidthScalingResult) -> StageResults:
    stages = StageResults()
    for (level, seed), found in result._results.items():
        stages.add("train", WidthCell(level=level, seed=seed), found)
    return stages


def test_exponents_are_found_in_the_range_that_was_measured():
    result = invented({"soft, theorem": 2.0, "hard": 1.0, "soft, tempered": 5.0})
    soft, hard, steep = (result.exponent("pairs", arm, "train") for arm in ("soft, theorem", "hard", "soft, tempered"))
    assert soft.interval.mean == pytest.approx(2.0, abs=0.3)
    assert hard.interval.mean == pytest.approx(1.0, abs=0.2)
    assert soft.levels == 4
    assert soft.high_gamma / soft.low_gamma == pytest.approx(8)
    assert steep.levels < 4  # at the smallest margin no width that was tried suffices
    assert result.needed_at(Level(source="pairs", dial=0.025), "soft, tempered", "train", 0.1).suffices == math.inf
    assert "for soft labels p = 2.00" in result.summary[0]
    assert "not told apart from the bound's 2 (γ from 0.024 to 0.19)" in result.summary[0]
    assert "less than the bound's 4" in result.summary[0]
    assert result.summary[0].startswith("The number of neurons")
    flat = invented({"soft, theorem": 0.5, "hard": 1.0}).summary[0]
    assert flat.startswith("The exponents of the bounds are not seen: the number of neurons")
    assert "At the smallest margin, γ = 0.024, 256 and 32 neurons suffice" in result.summary[1]


def test_a_width_beyond_those_that_were_tried_counts_as_more_than_all_of_them():
    result = invented({})
    level = Level(source="pairs", dial=0.2)
    arrays = result._results[level, 0].arrays
    arrays["train"][arrays["arm"] == ARMS.index("hard")] = 0.4
    again = WidthScalingResult(result.settings, stages_of(result))
    assert again.needed_at(level, "hard", "train", 0.1).values[0] == math.inf
    assert again._bounded(level, "hard", "train")[0] == 2 * 4096


def test_soft_and_hard_labels_are_compared_at_every_margin():
    result = invented(
        {"soft, theorem": 3.0, "hard": 1.0, "hard, free": 1.0, "hard, scaled": 3.0, "soft, tempered": -1.0}
    )
    theorem, tempered = ([result.ratios[level, arm, 0.1] for level in result.settings.levels] for arm in SOFT)
    assert [one.word for one in theorem] == ["not told apart", "more", "more", "more"]
    assert theorem[1].interval.mean == pytest.approx(4.0)
    assert theorem[3].interval.mean == pytest.approx(64.0, rel=0.3)
    assert [one.word for one in tempered][-1] == "fewer"
    assert "more at 3 for ε = 0.1" in result.summary[2]
    assert "soft labels would need fewer at every margin for ε = 0.3" in result.summary[2]
    assert "below γ = 0.32 for ε = 0.03" in result.summary[2]
    assert result.variants["hard, free"].interval.mean == pytest.approx(1.0)
    assert result.summary[4].startswith(
        "Hard labels without projection are not shown to need fewer or more neurons, 1.00"
    )
    assert result.summary[5].startswith("Hard labels with logits multiplied by α = 8 need more neurons")
    rows = result.page().tables[1].rows
    assert len(rows) == 2 * 4 + 1
    document = result.to_dict()
    assert len(document["ratios"]) == 4 * 2 * 3
    assert [one["epsilon"] for one in document["crossovers"]] == [0.3, 0.1, 0.03]


def test_widths_beyond_those_that_were_tried_decide_only_what_they_can():
    """Twice the largest width is a lower bound: the arm beyond it may need more, never fewer."""
    few, many, beyond = (np.full((1, 6), value) for value in (4.0, 512.0, math.inf))
    tried = np.full((1, 6), 8.0)
    for first, second, word in ((many, beyond, "not told apart"), (beyond, many, "not told apart"),
                                (beyond, few, "more"), (few, beyond, "fewer"),
                                (many, few, "more"), (few, many, "fewer"), (few, few, "not told apart")):  # fmt: skip
        assert width_ratio((first, second), (tried, tried), 2.0, 0.95).word == word
    wide = np.full((1, 6), 1024.0)
    assert width_ratio((beyond, few), (wide, tried), 2.0, 0.95) == WidthRatio(None, "more")
    assert width_ratio((few, beyond), (tried, wide), 2.0, 0.95) == WidthRatio(None, "fewer")
    assert width_ratio((few, few), (tried, tried), 2.0, 0.95).interval.mean == pytest.approx(1.0)


def test_intervals_are_at_least_as_wide_as_the_steps_between_widths_make_them():
    interval = invented({"hard": 1.0}).exponent("pairs", "hard", "train").interval
    assert interval.high - interval.low > 0.5  # ln 2/√12 on ln γ from 0.2 to 0.025, adjusted for 10 fits


def test_levels_with_a_loose_certificate_are_left_out():
    result = invented({"hard": 1.0})
    for (level, _), found in result._results.items():
        if level.dial == 0.025:
            found.metrics["lower"] = 0.5 * found.metrics["upper"]
    assert WidthScalingResult(result.settings, stages_of(result)).exponent("pairs", "hard", "train").levels == 3


def test_a_width_suffices_only_if_larger_ones_do():
    result = invented({})
    arrays = result._results[Level(source="pairs", dial=0.2), 0].arrays
    own = (arrays["arm"] == ARMS.index("hard")) & (arrays["width"] == 64)
    arrays["train"][own] = 0.4  # one failure in the middle
    assert result._widths(Level(source="pairs", dial=0.2), 0, "hard", "train", 0.1) == (128.0, 64.0)


def test_presets_cover_a_decade_and_a_half_and_bad_settings_are_refused():
    angles = PRESETS["standard"].angles
    assert math.log10(angles[0] / angles[-1]) > 1.5
    for changes in ({"widths": ()}, {"widths": (4, 2)}, {"widths": (3, 4)}, {"mixes": (0.5,)},
                    {"angles": (2.0, 1.0, 0.5)},
                    {"angles": (1.0, 0.5)}, {"angles": (1.0, 0.5, 0.5)}, {"dimensions": (3, 3)},
                    {"epsilon": 0.2}, {"narrow": 2}, {"dimensions": (2,)}, {"dimensions": (30,)}, {"runs": 1},
                    {"output_scale": 1.0}, {"learning_rate": 4.0}):  # fmt: skip
        with pytest.raises(ValidationError):
            small(**changes)


def test_exponents_of_the_bounds_over_the_margins_of_a_run():
    """Without temperature and output scale 2 and nearly 4; with them between 2 and 4, and 4 as γ → 0."""
    slopes = {arm: slope_of_bound(PRESETS["standard"], arm, (0.005, 0.2)) for arm in ARMS}
    assert slopes["soft, theorem"] == pytest.approx(2, abs=0.01)
    assert slopes["hard"] == pytest.approx(3.9, abs=0.1)
    assert slopes["hard, free"] is None
    for arm in ("soft, tempered", "hard, scaled"):
        assert 3 < slopes[arm] < 3.9
        assert slope_of_bound(PRESETS["standard"], arm, (2e-6, 4e-6)) == pytest.approx(PRINTED[arm], abs=0.01)
    large = PRESETS["standard"].model_copy(update={"output_scale": 1e6})
    assert slope_of_bound(large, "hard, scaled", (0.005, 0.2)) == pytest.approx(2, abs=0.02)
