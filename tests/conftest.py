"""Settings shared by all tests: one thread each, since the tests themselves run in parallel, and one test part."""

import pytest
import torch

from softlabel.studies.students import folds

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def one_test_part(request, monkeypatch):
    """Small data have one test part unless a test asks for folds, or for the default (`default_folds`)."""
    if "default_folds" not in request.fixturenames:
        monkeypatch.setattr(folds, "FEW_ROWS", 0)


@pytest.fixture
def default_folds():
    """Small data are tested in folds, as they are for users."""
