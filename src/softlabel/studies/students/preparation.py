"""The run of a question about a user's data: its directory is locked, its teacher queried, and both are stored there.

A teacher that is trained here is identified by what it is trained from, so its run directory is known before the
training begins, and every finished part of the training is an artifact of it. Another teacher (a file, an object) is
identified by its predictions, and is queried first. The problem with the teacher's predictions is an artifact, too.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.lab import ArtifactStore, Ledger, Pieces, Settings, Study, identity, open_run
from softlabel.lab.executors.tasks import exactly
from softlabel.studies.run import Execution, default_run_dir
from softlabel.studies.students.taught_problem import ARTIFACT, TaughtProblem
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
            "warnings": [*problem.warnings, *self.audit.warnings],
        }


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """An open run: its study, its ledger, and its teacher."""

    study: Any
    ledger: Ledger
    teacher: AuditedTeacher


def audited_teacher(problem: Problem, predict: Callable[[], TeacherPredictions]) -> AuditedTeacher:
    """Query the teacher and audit it; what a user should know of it, and of the problem, is logged."""
    for warning in problem.warnings:
        log.warning("%s", warning)
    began = time.perf_counter()
    predictions = predict()
    seconds = max(time.perf_counter() - began, predictions.seconds)  # the parts of an interrupted training count too
    log.info("teacher: %s", predictions.description)
    for remark in predictions.notes:
        log.info("note: %s", remark)
    audit = audit_teacher(problem, predictions)
    for warning in audit.warnings:
        log.warning("%s", warning)
    return AuditedTeacher(predictions, audit, seconds)


@contextmanager
def prepared_run(
    study_type: type[S],
    problem: Problem,
    source: TeacherSource,
    settings_of: Callable[[str, str], Settings],
    threads_of: Callable[[Any], int],
    *,
    out: Path | str | None,
    execution: Execution,
    unlabeled: np.ndarray | None = None,
) -> Iterator[PreparedRun]:
    """The run of a study about a problem, locked for this process, with its teacher queried.

    settings_of     the settings of the study, from the identity of problem and teacher and a name of the teacher
    threads_of      number of threads that training students with these settings is worth
    """
    specification = source.specification
    unlabeled_hash = None if unlabeled is None else hashlib.sha256(np.ascontiguousarray(unlabeled).data).hexdigest()
    teacher = None
    if specification is None:
        teacher = audited_teacher(problem, lambda: source.predict(None))
        made_from = [problem.fingerprint, teacher.predictions.fingerprint, unlabeled_hash]
        title = teacher.predictions.description
    else:
        made_from, title = [problem.fingerprint, specification, unlabeled_hash], str(specification["teacher"])
    settings = settings_of(identity(made_from), title)
    run_dir = default_run_dir(study_type.name, problem.name, settings.key, out)
    study = study_type(settings)
    threads = execution.threads
    with open_run(run_dir, study, threads=threads, default_threads=threads_of(settings)) as ledger:
        store = ArtifactStore(run_dir)
        if teacher is None:
            pieces = Pieces(store, made_from)
            with exactly(_teacher_threads(ledger)):
                teacher = audited_teacher(problem, lambda: source.predict(pieces))
        _check_predictions(ledger, teacher.predictions)
        taught_problem = TaughtProblem.from_predictions(problem, teacher.predictions, unlabeled)
        study.artifacts = {ARTIFACT: store.put(taught_problem.to_arrays())}
        yield PreparedRun(study, ledger, teacher)


def _teacher_threads(ledger: Ledger) -> int:
    """Threads that the teacher is trained with: always those of its first part, since sums round differently."""
    threads = ledger.meta("teacher_threads")
    if threads is None:
        threads = torch.get_num_threads()
        ledger.set_meta(teacher_threads=threads)
    return threads


def _check_predictions(ledger: Ledger, predictions: TeacherPredictions) -> None:
    """Record what the students learn from; finished bundles must not have learned from another teacher."""
    before = ledger.meta("predictions")
    if before not in (None, predictions.fingerprint) and ledger.finished():
        raise InputError(
            f"the teacher of the run in '{ledger.path.parent}' was trained again, because its artifacts are gone, and "
            "its predictions differ from those that finished students learned from, as they may on another machine; "
            "choose another `out` for a new run"
        )
    if before != predictions.fingerprint:
        ledger.set_meta(predictions=predictions.fingerprint)
