"""What the outputs of a student are, in words that people and files use."""

import numpy as np
import pytest

import softlabel as sl
from softlabel.errors import InputError
from softlabel.estimators import ClassifierOptions
from softlabel.networks.softening import UNCHANGED, Softening


@pytest.mark.parametrize(
    ("softening", "meaning", "prefix", "noted"),
    [
        (UNCHANGED, "probabilities", "p_", False),
        (Softening(8.0), "softened (label temperature 8)", "softened_", True),
        (Softening(0.25), "sharpened (label temperature 0.25)", "sharpened_", True),
        (Softening(1.0, 0.1), "softened (label smoothing 0.1)", "softened_", True),
        (Softening(2.0, 0.1), "softened (label temperature 2, label smoothing 0.1)", "softened_", True),
        (Softening(8.0, 0.1, 0.14), "probabilities", "p_", False),  # calibrated
        (Softening(None, calibration=2.0), "probabilities", "p_", False),
        (Softening(None), "probabilities or softened (not recorded in the file)", "p_", True),
    ],
)
def test_words(softening, meaning, prefix, noted):
    assert (softening.meaning, softening.column_prefix, softening.note is not None) == (meaning, prefix, noted)
    assert Softening.from_dict(softening.to_dict()) == softening
    assert (softening.remark("Students", 0.42) != "") == bool(softening.word)
    if softening.word:
        assert "0.420" in softening.remark("Students", 0.42)
        assert f"{softening.word} labels (label" in softening.remark("Students", 0.42)


@pytest.mark.parametrize(
    "bad",
    [{"temperature": 0.0}, {"temperature": np.inf}, {"temperature": "8"}, {"smoothing": 1.0}, {"calibration": 0.0}],
)
def test_numbers_that_no_labels_have_are_refused(bad):
    with pytest.raises(InputError, match=r"(label|calibration) (temperature|smoothing) must"):
        Softening(**bad)


def test_classifiers_know_what_their_labels_were():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 3)), np.arange(60) % 2
    soft = np.where(y, 0.9, 0.1)

    def fitted(**settings):
        labels = settings.pop("soft_labels", None)
        return sl.TwoLayerClassifier(4, epochs=3, **settings).fit(x, y, soft_labels=labels).model_.softening

    assert fitted(temperature=8.0) == UNCHANGED  # hard labels have none
    assert fitted(temperature=8.0, soft_labels=soft) == Softening(8.0)
    both = ClassifierOptions(temperature_on="both")
    assert fitted(temperature=8.0, options=both, soft_labels=soft) == UNCHANGED
    assert fitted(smoothing=0.1) == Softening(1.0, 0.1)
