"""Reports about students of softened labels say that their outputs are not probabilities, and how far off they are."""

from importlib import import_module

import numpy as np
import pytest

import softlabel as sl
from softlabel.studies.students.recipe import recipe_for
from tests.studies.students.quick import plan, verdict
from tests.studies.students.toy import Toy

TOY = Toy(rows=400, sharp=4.0)
QUICK = {"epochs": 10, "batch_size": 128, "seeds": 3}


@pytest.fixture(params=[8.0, 1.0])
def temperature(request, monkeypatch):
    """The one temperature that soft arms may choose."""

    def only(*words):
        return recipe_for(*words).model_copy(update={"temperatures": (request.param,)})

    for module in ("verdict.verdict", "plan.plan"):
        monkeypatch.setattr(import_module(f"softlabel.studies.{module}"), "recipe_for", only)
    return request.param


def test_verdict_and_plan_say_what_the_outputs_of_each_arm_are(tmp_path, temperature):
    meaning = "softened (label temperature 8)" if temperature == 8 else "probabilities"
    found = verdict(TOY.inputs, TOY.labels, TOY.truth, width=8, out=tmp_path / "v", **QUICK)
    arms = found.to_dict()["arms"]
    assert arms["soft"]["chosen"]["temperature"] == temperature
    assert arms["soft"]["probabilities_are"] == meaning
    assert arms["hard"]["probabilities_are"] == "probabilities"
    sentence = "Students of the arm 'soft labels' were trained to imitate softened labels (label temperature 8), so"
    assert (sentence in str(found)) == (temperature == 8)
    error = f"differ from the observed frequencies by {arms['soft']['calibration_error']:.3f} on average"
    assert (error in str(found)) == (temperature == 8)
    page = " ".join(found.report.read_text().split()).replace("&#39;", "'")
    assert page.count(sentence) == (2 if temperature == 8 else 0)  # the answer, and under the table

    settings = QUICK | {"widths": [2, 4], "confirm": 0, "rival": False, "epochs": 40, "seeds": 5}
    planned = plan(TOY.inputs, TOY.labels, TOY.truth, accuracy=0.6, out=tmp_path / "p", **settings)
    arms = planned.to_dict()["arms"]
    assert (arms["soft"]["probabilities_are"], arms["hard"]["probabilities_are"]) == (meaning, "probabilities")
    assert ("Students on soft labels were trained to imitate softened labels" in str(planned)) == (temperature == 8)
    soft = next(path for path in planned.to_dict()["exported"] if "soft" in path and path.endswith(".safetensors"))
    assert sl.load_model(soft).softening.temperature == temperature
    if temperature == 8:
        p = sl.load_model(soft).probabilities(TOY.inputs)
        assert np.abs(p - 0.5).mean() < 0.3 < np.abs(TOY.truth(TOY.inputs) - 0.5).mean()  # softened indeed
        assert arms["soft"]["calibration_error"] > arms["hard"]["calibration_error"]
