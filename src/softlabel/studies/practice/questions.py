"""The run of a question about a user's data: its folder is claimed, its teacher asked, and all of it kept there.

A teacher that is trained here is known by what it is trained from, so the run's folder has its name before the
training begins, and every finished piece of the training is an artifact of that folder. A teacher that is given (a
file, an object) is known by its answers, and is asked first.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.lab import Ledger, Settings, identity, open_run
from softlabel.lab.artifacts import Artifacts
from softlabel.lab.executors.tasks import exactly
from softlabel.studies.practice.consulting import Consulted, consult
from softlabel.studies.practice.held import holding
from softlabel.studies.running import run_folder, study_module
from softlabel.teachers.answers import TeacherAnswers


@dataclass(frozen=True, eq=False)
class TeacherSource:
    """Where a teacher's answers come from.

    ask             gives them; its argument holds the pieces of a training (None: they are not kept)
    specification   everything beside the problem that a teacher trained here depends on; None: it is given
    """

    ask: Callable[[Artifacts | None], TeacherAnswers]
    specification: dict[str, Any] | None


@dataclass(frozen=True, eq=False)
class QuestionRun:
    """An open run: its ledger, its folder, its settings, and the problem with its teacher's answers."""

    ledger: Ledger
    folder: Path
    settings: Any
    consulted: Consulted


@contextmanager
def question_run(
    name: str,
    problem: Problem,
    teacher: TeacherSource,
    settings_of: Callable[[str, str], Settings],
    threads_of: Callable[[Any], int],
    folder: Path | str | None,
    say: Callable[[str], None],
    unlabelled: np.ndarray | None = None,
) -> Iterator[QuestionRun]:
    """The run of the question `name`, for this process alone, with its teacher asked.

    settings_of     the question's settings, from the identity of data and teacher and a name of the teacher
    threads_of      threads that training students with these settings is worth
    folder          of the run; None: one that the same question finds again
    """
    specification, rows = teacher.specification, _fingerprint(unlabelled)
    consulted = None
    if specification is None:
        consulted = consult(problem, lambda: teacher.ask(None), say, unlabelled)
        key, called = consulted.held.key, consulted.held.answers.description
    else:
        key, called = identity([problem.fingerprint, specification, rows]), str(specification["teacher"])
    settings = settings_of(key, called)
    place = run_folder(name, problem.name, settings.key, folder)
    study = study_module(name).study(settings)
    with open_run(place, study, default_threads=threads_of(settings)) as ledger:
        if consulted is None:
            artifacts = Artifacts(place, [problem.fingerprint, specification, rows])
            with exactly(_teacher_threads(ledger)):
                consulted = consult(problem, lambda: teacher.ask(artifacts), say, unlabelled)
            _check_predictions(ledger, consulted.held.answers)
        with holding(consulted.held, key):
            yield QuestionRun(ledger, place, settings, consulted)


def _fingerprint(rows: np.ndarray | None) -> str | None:
    return None if rows is None else hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()


def _teacher_threads(ledger: Ledger) -> int:
    """Threads that the teacher is trained with: always those of its first piece, since sums round differently."""
    threads = ledger.meta("teacher_threads")
    if threads is None:
        threads = torch.get_num_threads()
        ledger.note(teacher_threads=threads)
    return threads


def _check_predictions(ledger: Ledger, answers: TeacherAnswers) -> None:
    """Note what the students learn from; finished bundles must not have learned from another teacher."""
    before = ledger.meta("predictions")
    if before != answers.fingerprint and before is not None and ledger.finished():
        raise InputError(
            f"the teacher trained for '{ledger.path.parent}' was trained again (its artifacts are gone) and predicts "
            "otherwise than the one that finished students learned from, as another machine or library may have it; "
            "choose another folder to begin anew"
        )
    if before != answers.fingerprint:
        ledger.note(predictions=answers.fingerprint)
