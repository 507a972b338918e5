"""`verdict`: from data and a teacher to an answer, a document and a page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.problem import as_problem, without_held_out
from softlabel.errors import require
from softlabel.lab import Progress
from softlabel.lab.artifacts import Artifacts
from softlabel.lab.needed_rows import assumed_variance, assumption, half_width, rows_needed
from softlabel.lab.scores import example_scores, find_metric, unseen
from softlabel.lab.sequential import planned_looks
from softlabel.ranges import check_count, check_seed
from softlabel.studies.practice import (
    Arm,
    Consulted,
    TeacherSource,
    check_test_rows,
    check_training,
    check_width,
    question_run,
    recipe_for,
    student_size,
    threads_of,
)
from softlabel.studies.running import Answer, check_run_folder, finish_question
from softlabel.studies.verdict.settings import VerdictSettings
from softlabel.teachers.answers import TeacherAnswers
from softlabel.teachers.asking import ask_teacher, is_automatic, unlabelled_inputs
from softlabel.teachers.automatic import specification
from softlabel.teachers.pieces import without_keeping

THEORY_ERROR = 0.1
SMALLEST_MARGIN = 1e-3  # points; a smaller gap takes a billion test rows to see


class Verdict(Answer):
    """What came of it: one word, the JSON document, plain sentences, and the page."""

    @property
    def verdict(self) -> str:
        return self.document["verdict"]


def verdict(
    inputs: Any,
    labels: Any = None,
    teacher: Any = "auto",
    *,
    width: int = 32,
    metric: str = "accuracy",
    margin: float = 0.5,
    seeds: int = 40,
    confidence: float = 0.95,
    transfer: Any = None,
    epochs: int | None = None,
    batch: int | None = None,
    search_radius: bool = False,
    scale: str | None = None,
    seed: int = 0,
    folder: Path | str | None = None,
    teacher_output: str | None = None,
    teacher_kind: str | None = None,
    id_column: str | None = None,
    again: str | None = None,
    note: Callable[[str], None] | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Does a student of this width learn more from the teacher's soft labels than from hard ones, beyond seed noise?

    inputs, labels   a table (array or frame) and one label per row; a file, a data set's name or a frame, and the name
                     of the label column; or a `Problem` alone
    teacher          "auto", an ONNX file, a file of soft labels, a fitted model, or a function
    metric           accuracy, balanced accuracy, auc or log loss
    margin           equivalence margin in points (hundredths): a gap within it does not matter
    seeds            at most so many for each arm; looks are planned so that the error rate is 1 − confidence in all
    transfer         unlabelled inputs, a file, table or frame with the data's columns: an additional arm learns from
                     the teacher's labels on them too
    folder           of the run; the same call goes on where it was interrupted
    note             called with lines for people as they come up
    """
    say = note or (lambda text: None)
    problem = as_problem(inputs, labels, scale=scale, seed=seed, id_column=id_column)
    metric = find_metric(metric)
    check_seed(seed)
    _check(width, margin, seeds, confidence)
    check_width(width, problem)
    check_run_folder(folder)
    check_training(epochs, batch)
    check_test_rows(problem)
    class_rows = tuple(np.bincount(problem.truth("test"), minlength=len(problem.classes)).tolist())
    expected = _expected_rows(metric, class_rows, margin, planned_looks(seeds, confidence)[-1].failure)
    if expected:
        say(expected)
    if transfer is not None:
        transfer, met = without_held_out(problem, unlabelled_inputs(transfer, problem))
        if met:
            say(f"note: {met} unlabelled rows are validation or test rows of the data; they are left out")

    def ask(artifacts: Artifacts | None) -> TeacherAnswers:
        return ask_teacher(problem, teacher, transfer=transfer, output=teacher_output, kind=teacher_kind,
                           id_column=id_column, seed=seed, watch=say,
                           keep=without_keeping if artifacts is None else artifacts.keep)  # fmt: skip

    arms: tuple[Arm, ...] = ("hard", "soft", "smooth", *(("transfer",) if transfer is not None else ()))
    recipe = recipe_for(len(problem.parts["train"]), epochs, batch, search_radius)

    def settings_of(held: str, called: str) -> VerdictSettings:
        return VerdictSettings(
            held=held, data=str(problem), teacher=called, arms=arms, width=width, metric=metric, margin=margin,
            confidence=confidence, seeds=seeds, seed=seed, class_rows=class_rows, recipe=recipe,
        )  # fmt: skip

    def threads(settings: VerdictSettings) -> int:
        return threads_of(settings.recipe, problem.inputs.shape[1], 5 * len(arms) * width)

    source = TeacherSource(ask, specification(seed) if is_automatic(teacher) else None)
    with question_run("verdict", problem, source, settings_of, threads, folder, say, transfer) as run:
        size = student_size(width, problem, run.consulted.held.answers.parameters)
        if (warning := size.warning(f"a student of {width} neurons")) is not None:
            say(f"warning: {warning}")
        facts = run.consulted.facts(THEORY_ERROR, seed) | {
            "teacher_metric": _teacher_metric(run.consulted, metric),
        }
        done = finish_question("verdict", run.settings, run.ledger, facts=facts, again=again, watch=watch)
    return Verdict(**vars(done))


def _check(width: int, margin: float, seeds: int, confidence: float) -> None:
    require(isinstance(width, int) and width >= 1, f"width must be a whole number of neurons from 1 on, got {width}")
    require(
        margin == 0 or SMALLEST_MARGIN <= margin < 50,
        f"margin must be 0 or lie in [{SMALLEST_MARGIN:g}, 50) points, got {margin}",
    )
    check_count(seeds, "seeds", least=2, most=10_000)
    require(0.5 < confidence < 1, f"confidence must lie between 0.5 and 1, got {confidence}")


def _expected_rows(metric: str, class_rows: Sequence[int], margin: float, failure: float) -> str:
    """What so many test rows are likely to decide, said before anything is trained; the answer has what was measured.

    failure     probability with which the interval of the last look may fail
    """
    rows, variance = sum(class_rows), assumed_variance(metric, class_rows)
    if variance is None:
        return (
            f"note: how many test rows a gap of {metric} needs cannot be told before the run, since a single row may "
            "cost any amount; the answer says what was measured"
        )
    unmet = rows * unseen(metric, class_rows, failure)
    half = half_width(rows, failure, variance, unmet)
    if half <= margin:
        return ""
    said = (
        f"warning: {rows:,} test rows: if {assumption(metric)}, gaps below about {half:.1f} points of {metric} cannot "
        "be told from chance however many seeds are run"
    )
    if margin > 0:
        enough = rows_needed(margin, failure, variance, unmet)
        said += f", and 'no difference' within ±{margin:g} points takes about {enough:,} test rows"
    return f"{said} (an assumption; the answer has the measured numbers)"


def _teacher_metric(consulted: Consulted, metric: str) -> float | None:
    """The teacher's own, None where it does not know every test row."""
    held = consulted.held
    taught = held.taught("test")
    return None if taught is None else float(example_scores(metric, taught, held.problem.truth("test")).mean())
