"""Studies of users' data compute theory's facts with little work; `students/test_theory.py` computes them in full."""

import pytest

from softlabel.studies.students import theory


@pytest.fixture(scope="module", autouse=True)
def little_theory(request):
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith("test_theory"):
            for name in ("WORK", "MIN_WORK"):
                patch.setattr(theory, name, 1e8)
        yield
