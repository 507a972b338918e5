"""Settings shared by all tests: one thread each, since the tests themselves run in parallel, and one test part."""

import pytest
import torch

from softlabel.studies.students import folds

FEW_ROWS = folds.FEW_ROWS
torch.set_num_threads(1)
folds.FEW_ROWS = 0  # small data have one test part unless a test asks for folds


@pytest.fixture
def default_folds(monkeypatch):
    """Small data are tested in folds, as they are for users."""
    monkeypatch.setattr(folds, "FEW_ROWS", FEW_ROWS)
