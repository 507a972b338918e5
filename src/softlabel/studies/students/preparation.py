"""The run of a question about a user's data: its directory is locked, its teacher queried, and both are stored there.

A teacher that is trained here is identified by what it is trained from, so its run directory is known before the
training begins, and every finished part of the training is an artifact of it. Another teacher (a file, an object) is
identified by its predictions, and is queried first. The problem with the teacher's predictions is an artifact, too.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.lab import ArtifactStore, Ledger, Pieces, Settings, Study, identity, open_run
from softlabel.lab.executors.tasks import exactly
from softlabel.numerics.threads import usable_threads
from softlabel.studies.run import Execution, default_run_dir
from softlabel.studies.students.costs import student_pace
from softlabel.studies.students.taught_problem import TaughtProblem, artifact_name
from softlabel.studies.students.theory import theory_facts
from softlabel.teachers.audit import TeacherAudit, audit_teacher
from softlabel.teachers.predictions import TeacherPredictions

log = logging.getLogger("softlabel")
S = TypeVar("S", bound=Study[Any, Any])


@dataclass(frozen=True, eq=False)
class TeacherSource:
    """Where a teacher's predictions come from.

    predict         returns them; its argument stores parts of a training (None: they are not stored)
    specification   everything beside the problem that a teacher trained here depends on; None: it is not trained here
    """

    predict: Callable[[Pieces | None], TeacherPredictions]
    specification: dict[str, Any] | None


@dataclass(frozen=True, eq=False)
class ProblemSource:
    """A problem, its teacher, and rows that only the teacher labels; of several folds each has its own."""

    problem: Problem
    teacher: TeacherSource
    unlabeled: np.ndarray | None = None

    def identity(self, teacher: Any) -> list[Any]:
        """What a run about it depends on; `teacher` identifies its teacher."""
        rows = self.unlabeled
        unlabeled = None if rows is None else hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()
        return [self.problem.fingerprint, teacher, unlabeled]


@dataclass(frozen=True, eq=False)
class AuditedTeacher:
    """A teacher's predictions, their audit, and the seconds it took to train and query it."""

    predictions: TeacherPredictions
    audit: TeacherAudit
    seconds: float

    def facts(self, problem: Problem, error: float, seed: int) -> dict[str, Any]:
        """What a document says beside its results; `error` is the one that theory's widths are for."""
        predictions = self.predictions
        return {
            "audit": self.audit.to_dict(),
            "teacher": {
                "description": predictions.description,
                "seconds": self.seconds,
                "milliseconds": predictions.milliseconds,
                "parameters": predictions.parameters,
                "out_of_fold": predictions.out_of_fold,
                "notes": list(predictions.notes),
            },
            "theory": theory_facts(problem, error, seed),
            "columns": problem.treatment,
            "warnings": [*problem.warnings, *self.audit.warnings],
        }


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """An open run: its study, its ledger, and the teacher of each fold."""

    study: Any
    ledger: Ledger
    teachers: tuple[AuditedTeacher, ...]

    @property
    def teacher(self) -> AuditedTeacher:
        """The first fold's teacher, with the seconds of all."""
        return replace(self.teachers[0], seconds=sum(one.seconds for one in self.teachers))


def audited_teacher(problem: Problem, predict: Callable[[], TeacherPredictions], quiet: bool = False) -> AuditedTeacher:
    """Query the teacher and audit it; what a user should know of it, and of the problem, is logged unless `quiet`."""
    say = (lambda *_: None) if quiet else log.info
    warn = (lambda *_: None) if quiet else log.warning
    for warning in problem.warnings:
        warn("%s", warning)
    began = time.perf_counter()
    predictions = predict()
    seconds = max(time.perf_counter() - began, predictions.seconds)  # the parts of an interrupted training count too
    say("teacher: %s", predictions.description)
    for remark in predictions.notes:
        say("note: %s", remark)
    audit = audit_teacher(problem, predictions)
    for warning in audit.warnings:
        warn("%s", warning)
    return AuditedTeacher(predictions, audit, seconds)


@contextmanager
def prepared_run(
    study_type: type[S],
    folds: Sequence[ProblemSource],
    settings_of: Callable[[str, str], Settings],
    threads_of: Callable[[Any], int],
    *,
    out: Path | str | None,
    execution: Execution,
    audited: Problem | None = None,
) -> Iterator[PreparedRun]:
    """The run of a study about a problem (or its folds), locked for this process, with its teachers queried.

    settings_of     the settings of the study, from the identity of problem and teacher and a name of the teacher
    threads_of      number of threads that training students with these settings is worth
    audited         the problem with the split by which a teacher not trained here is audited; default: the first
    """
    problem, specification = folds[0].problem, folds[0].teacher.specification
    teachers: list[AuditedTeacher] = []
    if specification is None:
        with execution.teacher_progress():
            teachers = _queried(folds, problem if audited is None else audited)
        made_from = [fold.identity(one.predictions.fingerprint) for fold, one in zip(folds, teachers, strict=True)]
        title = teachers[0].predictions.description
    else:
        made_from, title = [fold.identity(specification) for fold in folds], str(specification["teacher"])
    settings = settings_of(identity(made_from[0] if len(folds) == 1 else made_from), title)
    run_dir = default_run_dir(study_type.name, problem.name, settings.key, out)
    study = study_type(settings)
    study.pace = student_pace(problem, settings)
    threads = execution.threads
    with open_run(run_dir, study, threads=threads, default_threads=execution.shared(threads_of(settings))) as ledger:
        store = ArtifactStore(run_dir)
        if not teachers:
            pieces = [Pieces(store, each) for each in made_from]
            with exactly(_teacher_threads(ledger)), execution.teacher_progress(study, pieces[0], len(folds)) as counted:
                assert counted is not None
                for k, fold in enumerate(folds):
                    if len(folds) > 1:
                        log.info("teacher of fold %d of %d", k + 1, len(folds))
                    predict = partial(fold.teacher.predict, counted.of(pieces[k]))
                    teachers.append(audited_teacher(fold.problem, predict, quiet=k > 0))
        _check_predictions(ledger, [one.predictions for one in teachers])
        study.artifacts = {
            artifact_name(k, len(folds)): store.put(
                TaughtProblem.from_predictions(fold.problem, one.predictions, fold.unlabeled).to_arrays()
            )
            for k, (fold, one) in enumerate(zip(folds, teachers, strict=True))
        }
        yield PreparedRun(study, ledger, tuple(teachers))


def _queried(folds: Sequence[ProblemSource], audited: Problem) -> list[AuditedTeacher]:
    """Predictions of a teacher that is there already: the same for every fold, but for rows that only it labels."""
    first = audited_teacher(audited, partial(folds[0].teacher.predict, None))
    if all(fold.unlabeled is None for fold in folds):
        return [first, *[replace(first, seconds=0.0)] * (len(folds) - 1)]
    others = (audited_teacher(fold.problem, partial(fold.teacher.predict, None), quiet=True) for fold in folds[1:])
    return [first, *others]


def _teacher_threads(ledger: Ledger) -> int:
    """Threads that the teacher is trained with: always those of its first part, since sums round differently."""
    threads = ledger.meta("teacher_threads")
    if threads is None:
        threads = usable_threads()
        ledger.set_meta(teacher_threads=threads)
    return threads


def _check_predictions(ledger: Ledger, predictions: Sequence[TeacherPredictions]) -> None:
    """Record what the students learn from; finished bundles must not have learned from another teacher."""
    before, prints = ledger.meta("predictions"), [one.fingerprint for one in predictions]
    now = prints[0] if len(prints) == 1 else identity(prints)
    if before not in (None, now) and ledger.finished():
        raise InputError(
            f"the teacher of the run in '{ledger.path.parent}' was trained again, because its artifacts are gone, and "
            "its predictions differ from those that finished students learned from, as they may on another machine; "
            "choose another `out` for a new run"
        )
    if before != now:
        ledger.set_meta(predictions=now)
