"""What every study of the papers has in common."""

import pytest

from softlabel.lab.cells import StageResults
from softlabel.studies.registry import PAPER_STUDIES, find_study


@pytest.mark.parametrize("preset", ["quick", "standard", "paper"])
@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_the_first_stage_of_every_preset_has_bundles(name, preset):
    study = find_study(name, PAPER_STUDIES)
    stage = study(study.presets[preset]).stages[0]
    bundles = stage.bundles(study.presets[preset], StageResults())
    names = [bundle.name for bundle in bundles]
    assert len(names) == len(set(names))
    assert all(bundle.cost > 0 and bundle.cells for bundle in bundles)
    keys = [cell.key for bundle in bundles for cell in bundle.cells]
    assert len(keys) == len(set(keys))
    assert bundles or name == "figure1"  # with one way to train teachers there is nothing to choose
