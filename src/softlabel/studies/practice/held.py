"""A problem and what its teacher says about it, held in memory under the name that a study's settings carry.

Studies name their data by a fingerprint, since a user's arrays and fitted models have no other name; a run that is
taken up again is given the same data by its caller, and other data have another fingerprint.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import require
from softlabel.lab import identity
from softlabel.networks import Labels, hard_labels
from softlabel.teachers.answers import TeacherAnswers, student_logits


@dataclass(frozen=True, eq=False)
class Held:
    """A problem, its teacher's answers, and unlabelled inputs (u, d) that the teacher answered too."""

    problem: Problem
    answers: TeacherAnswers
    unlabelled: np.ndarray | None = None

    def __post_init__(self) -> None:
        silent = int((~self.answers.known[self.problem.parts["train"]]).sum())
        require(silent == 0, f"the teacher says nothing about {silent} of the training rows; it must label all of them")
        require(
            (self.unlabelled is None) == (self.answers.transfer is None),
            "unlabelled inputs and the teacher's answers on them go together",
        )

    @cached_property
    def key(self) -> str:
        """Identity of everything."""
        rows = (
            None if self.unlabelled is None else hashlib.sha256(np.ascontiguousarray(self.unlabelled).data).hexdigest()
        )
        return identity([self.problem.fingerprint, self.answers.fingerprint, rows])

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """Scaled inputs of every part."""
        return {part: self.problem.scaled(part) for part in self.problem.parts}

    @cached_property
    def extended(self) -> np.ndarray:
        """Scaled training inputs and below them the unlabelled ones."""
        assert self.unlabelled is not None
        return np.concatenate([self.inputs["train"], self.problem.scaler.apply(self.unlabelled)])

    def labels(self, extended: bool = False) -> dict[str, Labels]:
        """Label arrays of the training rows, or of the extended ones (then the teacher's alone)."""
        taught = self.answers.labels(self.problem.parts["train"])
        if not extended:
            return {"hard": hard_labels(self.problem.truth("train")), "soft": taught}
        assert self.answers.transfer is not None
        more = student_logits(self.answers.transfer)
        return {"soft": Labels("logits", np.concatenate([taught.values, more]))}

    def taught(self, part: str) -> np.ndarray | None:
        """The teacher's probabilities on a part, None where it does not know all of its rows."""
        rows = self.problem.parts[part]
        return self.answers.probabilities[rows] if self.answers.known[rows].all() else None


_HELD: dict[str, Held] = {}


@contextmanager
def holding(held: Held, key: str | None = None) -> Iterator[str]:
    """Within it, studies of this process find it under the name that is yielded: the one given, or its own."""
    key = key or held.key
    before = _HELD.get(key)
    _HELD[key] = held
    try:
        yield key
    finally:
        if before is None:
            _HELD.pop(key, None)


def find_held(key: str) -> Held:
    """What is held under that name."""
    require(key in _HELD, "the data of this run are not in memory; give the command that began it once more")
    return _HELD[key]
