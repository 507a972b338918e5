"""Before anything is trained: the teacher is asked, announced and audited, and its cost written down."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.studies.practice.held import Held
from softlabel.studies.practice.theory import theory_facts
from softlabel.teachers.answers import TeacherAnswers
from softlabel.teachers.audit import TeacherAudit, audit_teacher


@dataclass(frozen=True, eq=False)
class Consulted:
    """A problem with its teacher's answers, their audit, and the seconds that asking took."""

    held: Held
    audit: TeacherAudit
    seconds: float

    def facts(self, error: float, seed: int) -> dict[str, Any]:
        """What a document says beside its results; `error` is the one that theory's widths are for."""
        answers = self.held.answers
        return {
            "audit": self.audit.document(),
            "teacher": {
                "description": answers.description,
                "seconds": self.seconds,
                "milliseconds": answers.milliseconds,
                "parameters": answers.parameters,
                "out_of_fold": answers.out_of_fold,
                "notes": list(answers.notes),
            },
            "theory": theory_facts(self.held, error, seed),
            "warnings": [*self.held.problem.warnings, *self.audit.warnings],
        }


def consult(
    problem: Problem,
    ask: Callable[[], TeacherAnswers],
    say: Callable[[str], None],
    unlabelled: np.ndarray | None = None,
) -> Consulted:
    """Ask the teacher, and say who it is and what is to be known about it, and about the problem."""
    for warning in problem.warnings:
        say(f"warning: {warning}")
    began = time.perf_counter()
    answers = ask()
    seconds = max(time.perf_counter() - began, answers.seconds)  # a training that was interrupted counts whole
    say(f"teacher: {answers.description}")
    for remark in answers.notes:
        say(f"note: {remark}")
    audit = audit_teacher(problem, answers)
    for warning in audit.warnings:
        say(f"warning: {warning}")
    return Consulted(Held(problem, answers, unlabelled), audit, seconds)
