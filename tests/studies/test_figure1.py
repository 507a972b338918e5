"""Figure 1 as a study, small, on scikit-learn's digits; its verdict from invented results."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.data import add_noise
from softlabel.lab import CellResult, StageResults
from softlabel.studies.figure1 import PRESETS, Figure1Result, Figure1Settings, Figure1Study
from softlabel.studies.figure1.training import Figure1Cell, noisy_parts, train
from softlabel.studies.rebuild import read_run
from softlabel.studies.run import Execution, run_in


def small(**changes) -> Figure1Settings:
    values = {
        "data": "digits", "classes": "3,8", "families": ("resnet",), "levels": (0.0, 0.5), "width_multiplier": 0.25,
        "epochs": 2, "runs": 2, "precision": "float32",
    }  # fmt: skip
    return Figure1Settings(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("figure1") / "run"
    return run_dir, run_in(run_dir, Figure1Study(small()), Execution(threads=1, progress=False))


def test_it_is_judged_and_drawn(finished):
    run_dir, result = finished
    document = result.to_dict()
    (family,) = document["families"]
    assert [level["noise"] for level in family["levels"]] == [0.0, 0.5]
    assert set(family["levels"][0]["arms"]) == {"teacher", "hard", "soft"}
    assert family["verdict"] in ("holds", "does not hold", "open")
    json.dumps(document, allow_nan=False)
    assert (run_dir / "figures" / "figure1.png").exists()
    text = result.report.read_text()
    assert "Do harder data gain more from soft labels?" in text
    assert "fixed before running" in text
    assert read_run(run_dir).to_dict() == document
    assert repr(result).startswith("<Figure1Result: ResNet-20 → ResNet-8: ")
    assert len(result.plot().axes) == 2
    assert "data:image/svg+xml" in result._repr_html_()


def test_noise_is_added_once_and_is_the_same_at_every_level():
    clean, weak, strong = (noisy_parts(small(), level, 3) for level in (0.0, 0.1, 0.2))
    sizes = [len(part) for part in clean]
    assert sum(sizes) == 357
    assert sizes[0] == pytest.approx(0.8 * 357, abs=1)
    for part in range(3):
        assert clean[part].labels.tolist() == weak[part].labels.tolist()
    clear, dim, loud = (add_noise(np.zeros((4, 9), np.float32), level, 3) for level in (0.0, 0.1, 0.2))
    assert not clear.any()
    assert loud == pytest.approx(2 * dim, rel=1e-5)
    repeated = noisy_parts(small(), 0.1, 3)
    assert [part.fingerprint for part in repeated] == [part.fingerprint for part in weak]
    assert float(weak[0].pixels.mean()) == pytest.approx(0, abs=1e-4)
    assert float(strong[0].pixels.std()) == pytest.approx(1, abs=1e-3)
    other = noisy_parts(small(), 0.0, 4)
    assert other[2].fingerprint != clean[2].fingerprint  # another split for another seed


def test_a_cell_measures_what_it_says():
    (result,) = train(small(), [Figure1Cell(family="resnet", level=0.2, seed=1)], {})
    for arm in ("teacher", "hard", "soft"):
        assert result.metrics[f"{arm}: accuracy"] == pytest.approx(result.arrays[f"correct: {arm}"].mean())
        assert 1 <= result.metrics[f"{arm}: epochs"] <= 2
    assert result.metrics["teacher: parameters"] > 3 * result.metrics["soft: parameters"]
    assert 0 <= result.metrics["soft: agreement"] <= 1
    (repeated,) = train(small(), [Figure1Cell(family="resnet", level=0.2, seed=1)], {})
    assert repeated.metrics == result.metrics


def invented(gaps: np.ndarray) -> Figure1Result:
    """Results with these gaps (runs, levels) in points, at levels 0, 0.1, 0.2."""
    settings = small(levels=(0.0, 0.1, 0.2), runs=len(gaps))
    results = StageResults()
    for seed, row in enumerate(gaps):
        for level, gap in zip(settings.levels, row, strict=True):
            accuracies = {"teacher": 0.9, "hard": 0.7, "soft": 0.7 + gap / 100}
            metrics = {f"{arm}: accuracy": value for arm, value in accuracies.items()}
            metrics |= {f"{arm}: parameters": 10 for arm in accuracies}
            results.add("train", Figure1Cell(family="resnet", level=level, seed=seed), CellResult(metrics))
    return Figure1Result(settings, results)


@pytest.mark.parametrize(("slope", "verdict"), [(1.0, "holds"), (-1.0, "does not hold"), (0.0, "open")])
def test_the_slope_is_estimated_and_judged(slope, verdict):
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, (6, 3))
    gaps = 2 + slope * np.arange(3) + noise - (noise.mean(0) if slope == 0 else 0)
    (family,) = invented(gaps).families
    assert family.slope.mean == pytest.approx(slope, abs=0.15)
    assert family.verdict == verdict
    assert family.levels[1].gap.mean == pytest.approx(gaps[:, 1].mean())
    by_hand = np.polyfit([0, 1, 2], gaps.T, 1)[0]
    assert family.slope.mean == pytest.approx(by_hand.mean())


def test_presets_and_bad_settings():
    assert set(PRESETS) == {"quick", "standard", "paper"}
    assert len(PRESETS["standard"].levels) >= 4
    assert PRESETS["standard"].runs >= 5
    assert (PRESETS["paper"].width_multiplier, PRESETS["paper"].runs, PRESETS["paper"].patience) == (1.0, 10, 20)
    for changes in ({"levels": (0.1,)}, {"levels": (0.2, 0.1)}, {"levels": (-0.1, 0.1)}, {"families": ()}):
        with pytest.raises(ValidationError):
            small(**changes)
