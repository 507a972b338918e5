"""records.json: the courses of trained students that `softlabel train` stores for `doctor`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.documents import json_text
from softlabel.errors import InputError
from softlabel.networks import Labels, Student, TrainingRun
from softlabel.numerics.files import write_text
from softlabel.numerics.local_files import require_regular_file
from softlabel.studies.doctor.courses import Course, CourseGroup
from softlabel.studies.run import RECORDS
from softlabel.studies.table1.training import on_the_ball

BEYOND = 1e30  # stands for a loss that is not finite
_GROUPED = ("labels", "width", "learning_rate", "temperature", "smoothing", "radius")
_CAN_DIE = "relu"  # the only activation whose neurons can be inactive


def write_records(
    run_dir: str | Path,
    students: Sequence[Student],
    labels: dict[str, Labels],
    *,
    run: TrainingRun | None,
    evaluation_errors: Sequence[float] = (),
    failed: str | None = None,
) -> Path:
    """Write the settings and records of every student.

    Parameters
    ----------
    run_dir : str or path
        Directory of the run.
    students : sequence of Student
        The students.
    labels : dict of Labels
        Their labels, "hard" and if present "soft".
    run : TrainingRun or None
        The training; None if it failed.
    evaluation_errors : sequence of float
        Error of each student on rows that were not used for training.
    failed : str, optional
        Why the training failed.

    Returns
    -------
    Path
        The file.
    """
    truth = labels["hard"].decisions()
    teacher = labels["soft"].decisions() if "soft" in labels else None
    _, counts = np.unique(truth, return_counts=True)
    document: dict[str, Any] = {
        "verb": "train",
        "failed": failed,
        "chance_error": float(1 - counts.max() / counts.sum()),
        "teacher_error": None if teacher is None else float((teacher != truth).mean()),
        "students": [{"settings": asdict(student)} for student in students],
    }
    for k, trained in enumerate(run or ()):
        document["students"][k] |= {
            "records": {name: list(values) for name, values in trained.records.items()},
            "projected": on_the_ball(trained.network, trained.settings),
            "evaluation_error": evaluation_errors[k],
        }
    path = Path(run_dir) / RECORDS
    write_text(path, json_text(document, indent=None) + "\n")
    return path


def read_records(run_dir: Path) -> dict[str, Any]:
    """The content of a file that `write_records` wrote; anything else is an error."""
    path = Path(run_dir) / RECORDS
    try:
        document = json.loads(require_regular_file(path).read_text(encoding="utf-8"))
        valid = document["verb"] == "train" and isinstance(document["students"], list)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise InputError(f"'{path}' cannot be read ({type(problem).__name__}): train again") from None
    if not valid:
        raise InputError(f"'{path}' was not written by `softlabel train`: train again")
    return document


def record_groups(document: dict[str, Any], path: Path) -> list[CourseGroup]:
    """Students grouped by their settings without the seed."""
    groups: dict[tuple, list[Course]] = {}
    try:
        for student in document["students"]:
            settings = student["settings"]
            key = tuple(settings[name] for name in _GROUPED)
            if "records" in student:
                groups.setdefault(key, []).append(_course(student, settings))
    except (KeyError, TypeError, IndexError) as problem:
        raise InputError(f"'{path}' is not complete ({problem}): train again") from None
    return [CourseGroup("", *key, students=tuple(students)) for key, students in groups.items()]


def _course(student: dict[str, Any], settings: dict[str, Any]) -> Course:
    records = student["records"]
    return Course(
        seed=settings["seed"],
        steps=records["step"],
        loss=[BEYOND if value is None else value for value in records["loss"]],
        error=records.get("error"),
        dead=records["dead"][-1] if settings["activation"] == _CAN_DIE else None,
        displacement=records["displacement"][-1],
        projected=student["projected"],
        evaluation_error=student["evaluation_error"],
    )
