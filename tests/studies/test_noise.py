"""Figure 1 as a study, small, on scikit-learn's digits; its verdict from invented outcomes."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.data import add_noise
from softlabel.lab import Outcome, Results
from softlabel.studies import running
from softlabel.studies.noise import Judgement
from softlabel.studies.noise.settings import PRESETS, Noise
from softlabel.studies.noise.work import NoiseCell, noisy_parts, work


def small(**changes) -> Noise:
    values = {
        "data": "digits", "classes": "3,8", "families": ("resnet",), "levels": (0.0, 0.5), "width": 0.25, "epochs": 2,
        "runs": 2, "precision": "float32",
    }  # fmt: skip
    return Noise(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("noise") / "run"
    return folder, running.reproduce("figure1", small(), folder, executor="serial", threads=1)


def test_it_is_judged_and_drawn(finished):
    folder, done = finished
    (family,) = done.document["families"]
    assert [level["noise"] for level in family["levels"]] == [0.0, 0.5]
    assert set(family["levels"][0]["arms"]) == {"teacher", "hard", "soft"}
    assert family["verdict"] in ("holds", "does not hold", "open")
    json.dumps(done.document, allow_nan=False)
    assert (folder / "figures" / "figure1.png").exists()
    text = done.page.read_text()
    assert "Do harder data gain more from soft labels?" in text
    assert "fixed before running" in text
    assert running.rebuild(folder).document == done.document


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
    again = noisy_parts(small(), 0.1, 3)
    assert [part.fingerprint for part in again] == [part.fingerprint for part in weak]
    assert float(weak[0].pixels.mean()) == pytest.approx(0, abs=1e-4)
    assert float(strong[0].pixels.std()) == pytest.approx(1, abs=1e-3)
    other = noisy_parts(small(), 0.0, 4)
    assert other[2].fingerprint != clean[2].fingerprint  # another split for another seed


def test_a_cell_measures_what_it_says():
    (outcome,) = work(small(), [NoiseCell(family="resnet", level=0.2, seed=1)], {})
    for arm in ("teacher", "hard", "soft"):
        assert outcome.metrics[f"{arm}: accuracy"] == pytest.approx(outcome.arrays[f"correct: {arm}"].mean())
        assert 1 <= outcome.metrics[f"{arm}: epochs"] <= 2
    assert outcome.metrics["teacher: parameters"] > 3 * outcome.metrics["soft: parameters"]
    assert 0 <= outcome.metrics["soft: agreement"] <= 1
    (again,) = work(small(), [NoiseCell(family="resnet", level=0.2, seed=1)], {})
    assert again.metrics == outcome.metrics


def invented(gaps: np.ndarray) -> Judgement:
    """Outcomes with these gaps (runs, levels) in points, at levels 0, 0.1, 0.2."""
    settings = small(levels=(0.0, 0.1, 0.2), runs=len(gaps))
    results = Results()
    for seed, row in enumerate(gaps):
        for level, gap in zip(settings.levels, row, strict=True):
            accuracies = {"teacher": 0.9, "hard": 0.7, "soft": 0.7 + gap / 100}
            metrics = {f"{arm}: accuracy": value for arm, value in accuracies.items()}
            metrics |= {f"{arm}: parameters": 10 for arm in accuracies}
            results.add("train", NoiseCell(family="resnet", level=level, seed=seed), Outcome(metrics))
    return Judgement(settings, results)


@pytest.mark.parametrize(("slope", "verdict"), [(1.0, "holds"), (-1.0, "does not hold"), (0.0, "open")])
def test_the_slope_is_found_and_judged(slope, verdict):
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
    assert (PRESETS["paper"].width, PRESETS["paper"].runs, PRESETS["paper"].patience) == (1.0, 10, 20)
    for changes in ({"levels": (0.1,)}, {"levels": (0.2, 0.1)}, {"levels": (-0.1, 0.1)}, {"families": ()}):
        with pytest.raises(ValidationError):
            small(**changes)
