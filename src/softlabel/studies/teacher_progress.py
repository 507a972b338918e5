"""Progress while a teacher is trained: models that are finished, and the time left of the run, students included."""

import re
import time
from collections.abc import Callable
from typing import Any

from softlabel.lab import Pieces, Progress, StageResults, Study

MODELS = 8  # of a teacher that is trained here, guessed until the number of folds is known
FOLD = re.compile(r"fold-\d+-of-(\d+)")


class TeacherModels:
    """Counts the models of a teacher, and reports each.

    report      callback
    study       what follows, for the estimate of the time left; None if it is not known yet
    teachers    number of teachers with as many models each
    """

    def __init__(
        self, report: Callable[[Progress], None], study: Study[Any, Any] | None = None, teachers: int = 1
    ) -> None:
        self.progress, self.began, self.teachers = report, time.perf_counter(), teachers
        self.computed = self.done = 0
        self.expected = MODELS * teachers if study is not None else 1
        self.later: float | None = None
        if study is not None and study.pace is not None:
            self.later = study.pace * sum(study.expected_costs(StageResults()).values())
        self._folds_known = False
        self.report()

    def finished(self, name: str, computed: bool) -> None:
        """A model is there: it was computed now, or was stored before."""
        match = FOLD.fullmatch(name)
        if match and not self._folds_known:
            self.expected, self._folds_known = self.teachers * (self.done + int(match[1])), True
        self.done += 1
        self.computed += computed
        self.expected = max(self.expected, self.done)
        self.report()

    def report(self) -> None:
        """Call the callback with what is known."""
        seconds = time.perf_counter() - self.began
        left = None
        if self.computed and self.later is not None:
            left = seconds / self.computed * (self.expected - self.done) + self.later
        share = 0.0 if left is None else seconds / max(seconds + left, 1e-9)
        self.progress(
            Progress("teacher", self.done, self.expected, 0, self.computed, seconds, left, self.later is not None,
                     seconds, share)
        )  # fmt: skip


class CountedPieces(Pieces):
    """Pieces of a teacher's training, each of which is counted."""

    def __init__(self, pieces: Pieces, models: TeacherModels) -> None:
        self.store, self.key, self.directory, self.models = pieces.store, pieces.key, pieces.directory, models

    def of(self, pieces: Pieces) -> "CountedPieces":
        """The pieces of another teacher, counted together with these."""
        return CountedPieces(pieces, self.models)

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        computed = False

        def made() -> Any:
            nonlocal computed
            computed = True
            return make()

        piece = super().keep(name, made)
        self.models.finished(name, computed)
        return piece
