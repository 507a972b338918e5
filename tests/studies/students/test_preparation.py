"""The run directory is locked before the teacher is trained, and no finished piece is trained twice."""

import logging
from pathlib import Path

import numpy as np
import pytest

from softlabel.errors import InputError
from softlabel.lab import Ledger
from softlabel.studies.students import preparation
from softlabel.teachers import automatic
from tests.lab.toys import contents
from tests.studies.students.quick import comparable, plan, verdict
from tests.studies.students.toy import Toy

TOY = Toy(rows=400, sharp=0.8)
QUICK = {"width": 2, "epochs": 2, "batch_size": 128, "seeds": 2}


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """A small teacher, and no theory, which is computed for seconds."""
    for name, value in {"WIDTH": 8, "UPDATES": 30, "ROUNDS": 3}.items():
        monkeypatch.setattr(automatic, name, value)
    monkeypatch.setattr(preparation, "theory_facts", lambda *_: {})
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trained(monkeypatch):
    """Names of the models that were trained; `stop` says after how many the user loses patience."""

    class Log(list):
        stop: int | None = None

        def record(self, name: str) -> None:
            if len(self) == self.stop:
                raise KeyboardInterrupt
            self.append(name)

    log = Log()
    full, fold = automatic._full_piece, automatic._FoldModels.piece
    monkeypatch.setattr(automatic, "_full_piece", lambda *what: (log.record(what[0]), full(*what))[1])
    monkeypatch.setattr(automatic._FoldModels, "piece", lambda *what: (log.record("fold"), fold(*what))[1])
    return log


def ask(**more):
    return verdict(TOY.inputs, TOY.labels, **QUICK, **more)


def interrupt(at) -> None:
    """Interrupt a run as soon as its teacher is there."""
    if at.stage != "teacher":
        raise KeyboardInterrupt


def test_a_verdict_that_is_interrupted_while_its_teacher_is_trained_goes_on(trained, tmp_path):
    uninterrupted = ask(out=tmp_path / "whole")
    assert trained == ["network", "trees", "forest", *["fold"] * 5]
    for stop in (0, 1, 3):  # models that each start trains before it is interrupted
        trained.clear()
        trained.stop = stop
        with pytest.raises(KeyboardInterrupt) as raised:
            ask()
        (run,) = (tmp_path / "runs").iterdir()
        assert raised.value.__notes__ == [
            f"what is finished is kept in '{Path('runs') / run.name}'; the same command goes on from there"
        ]
    trained.clear()
    trained.stop = None
    resumed = ask()
    assert len(trained) == 8 - 4
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [run.name]
    assert comparable(resumed.to_dict()) == comparable(uninterrupted.to_dict())
    assert contents(run) == contents(tmp_path / "whole")
    trained.clear()
    with pytest.raises(KeyboardInterrupt):
        ask(progress=interrupt)
    assert trained == []


def test_two_questions_never_share_a_folder(trained, tmp_path):
    more = np.random.default_rng(5).standard_normal((30, 4)).astype(np.float32)
    trained.stop = 0
    questions = [{}, {"seed": 1}, {"metric": "auc"}, {"transfer": more}, {"transfer": more[:20]},
                 {"y": 1 - TOY.labels}, {"teacher": TOY.truth}, {"teacher": TOY.wrong}]  # fmt: skip
    for question in questions:
        with pytest.raises(KeyboardInterrupt):
            verdict(TOY.inputs, **QUICK, **{"y": TOY.labels, "progress": interrupt, **question})
    assert len(list((tmp_path / "runs").iterdir())) == len(questions)


def test_another_question_is_refused_before_its_teacher_is_trained(trained, tmp_path):
    trained.stop = 0
    with pytest.raises(KeyboardInterrupt):
        ask(out=tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(InputError, match=r"other settings \(.*seed = 0, now 1"):
        ask(out=tmp_path / "run", seed=1)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    with pytest.raises(InputError, match="contains other files"):
        ask(out=tmp_path / "photos")
    assert trained == []
    assert contents(tmp_path / "run") == before
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.png"]


def test_a_run_directory_is_locked_while_the_teacher_is_trained(trained, tmp_path, caplog):
    class Second(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("teacher: growing"):
                with pytest.raises(InputError, match="in use by another driver"):
                    ask(out=tmp_path / "run")
                refused.append(record)

    refused: list[logging.LogRecord] = []
    caplog.set_level("INFO", "softlabel")
    log, handler = logging.getLogger("softlabel"), Second()
    log.addHandler(handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(out=tmp_path / "run", progress=interrupt)
    finally:
        log.removeHandler(handler)
    assert len(refused) == 2  # boosted trees and the forest


def test_nothing_is_called_kept_while_a_teacher_that_is_given_is_asked(tmp_path):
    def impatient(inputs):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        verdict(TOY.inputs, TOY.labels, impatient, **QUICK)
    assert not hasattr(raised.value, "__notes__")
    assert not (tmp_path / "runs").exists()


def test_students_never_learn_from_two_teachers(trained, tmp_path, monkeypatch):
    """The artifacts are gone, and another machine gives other predictions."""

    def stop(at) -> None:
        if at.stage != "teacher" and at.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(out=tmp_path / "run", progress=stop)
    for piece in (tmp_path / "run" / "artifacts").glob("*/*.safetensors"):
        piece.unlink()
    fold = automatic._FoldModels.piece

    def otherwise(*what):
        piece = fold(*what)
        piece.arrays["logits"] += 1e-9
        return piece

    with monkeypatch.context() as patched:
        patched.setattr(automatic._FoldModels, "piece", otherwise)
        with pytest.raises(InputError, match="its predictions differ from those that finished students learned from"):
            ask(out=tmp_path / "run")
    for piece in (tmp_path / "run" / "artifacts").glob("*/*.safetensors"):
        piece.unlink()
    with pytest.raises(KeyboardInterrupt):  # the same predictions once more: it goes on
        ask(out=tmp_path / "run", progress=interrupt)


def test_the_teacher_of_a_plan_is_kept_too(trained, tmp_path):
    settings = {"accuracy": 0.6, "widths": (2, 4), "seeds": 3, "confirm": 0, "bisections": 0, "rival": False,
                "epochs": 2, "batch_size": 128}  # fmt: skip
    trained.stop = 3
    with pytest.raises(KeyboardInterrupt):
        plan(TOY.inputs, TOY.labels, out=tmp_path / "run", **settings)
    with Ledger(tmp_path / "run" / "ledger.sqlite", read_only=True) as ledger:
        assert ledger.meta("study") == "plan"
    trained.stop = None
    trained.clear()
    resumed = plan(TOY.inputs, TOY.labels, out=tmp_path / "run", **settings)
    assert len(trained) == 5
    uninterrupted = plan(TOY.inputs, TOY.labels, out=tmp_path / "whole", **settings)

    assert resumed.to_dict()["arms"] == uninterrupted.to_dict()["arms"]
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_a_plan_after_a_verdict_on_the_same_data_has_the_same_teacher_without_training_it(trained, tmp_path):
    settings = {"accuracy": 0.6, "widths": (2, 4), "seeds": 3, "confirm": 0, "bisections": 0, "rival": False,
                "epochs": 2, "batch_size": 128}  # fmt: skip
    asked = ask()
    assert trained == ["network", "trees", "forest", *["fold"] * 5]
    trained.clear()
    planned = plan(TOY.inputs, TOY.labels, **settings)
    assert trained == []
    assert planned.to_dict()["teacher"]["description"] == asked.to_dict()["teacher"]["description"]
    assert planned.run_dir.parent == asked.run_dir.parent
    plan(TOY.inputs, TOY.labels, **settings, out=tmp_path / "elsewhere" / "run")  # no run with this teacher beside it
    assert trained == ["network", "trees", "forest", *["fold"] * 5]
    trained.clear()
    trained.stop = 0
    with pytest.raises(KeyboardInterrupt):  # another seed has another teacher
        ask(seed=1)
