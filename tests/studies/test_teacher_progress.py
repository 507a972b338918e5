"""Progress while a teacher is trained."""

import numpy as np

from softlabel.lab import ArtifactStore, Pieces, Progress
from softlabel.studies.run import Execution
from softlabel.teachers.pieces import Piece
from tests.lab.toys import toy


def piece(value: int) -> Piece:
    return Piece({"logits": np.full(3, value)}, {"seconds": 0.0})


def names() -> list[str]:
    return ["network", "trees", *(f"fold-{k}-of-4" for k in range(1, 5))]


def train(folder, seen: list[Progress], study=None) -> None:
    pieces = Pieces(ArtifactStore(folder), [str(folder)])  # neighboring runs share equal pieces
    with Execution(progress=seen.append).teacher_progress(study or toy(), pieces) as counted:
        assert counted.directory == pieces.directory
        for k, name in enumerate(names()):
            assert (counted.keep(name, lambda k=k: piece(k)).arrays["logits"] == k).all()


def test_every_model_is_counted_and_the_folds_tell_how_many_there_are(tmp_path):
    seen: list[Progress] = []
    train(tmp_path, seen)
    assert {at.stage for at in seen} == {"teacher"}
    assert [at.done for at in seen] == list(range(7))
    assert [at.bundles for at in seen[3:]] == [6, 6, 6, 6]


def test_the_students_count_in_the_time_left_where_their_pace_is_guessed(tmp_path):
    study = toy()
    study.pace = 1000.0
    study.expected_costs = lambda results: {"first": 3.0}  # type: ignore[method-assign]
    seen: list[Progress] = []
    train(tmp_path, seen, study)
    assert seen[0].seconds_left is None
    assert all(at.seconds_left >= 3000 for at in seen[1:])
    assert all(at.at_most for at in seen)
    assert seen[-1].share < 0.5


def test_stored_models_are_counted_but_not_timed(tmp_path):
    train(tmp_path, [])
    seen: list[Progress] = []
    train(tmp_path, seen)
    assert seen[-1].done == 6
    assert seen[-1].cells == 0
    assert seen[-1].seconds_left is None


def test_a_teacher_that_is_only_queried_is_one_step():
    seen: list[Progress] = []
    with Execution(progress=seen.append).teacher_progress() as pieces:
        assert pieces is None
    assert [(at.stage, at.done, at.bundles) for at in seen] == [("teacher", 0, 1)]


def test_workers_share_the_cpus(monkeypatch):
    from softlabel.studies import run

    monkeypatch.setattr(run, "cores", lambda: 8)
    assert Execution().shared(8) == 8
    assert Execution().shared(1) == 1
    assert Execution("local", workers=2).shared(8) == 4
    assert Execution("local", workers=3).shared(8) == 2
    assert Execution("local").shared(8) == 1
