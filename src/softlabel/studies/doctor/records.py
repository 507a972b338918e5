"""records.json: what `softlabel train --out` keeps of its students' courses, for `doctor`."""

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
from softlabel.studies.doctor.courses import Course, Group
from softlabel.studies.table1.work import on_the_ball

RECORDS = "records.json"
BEYOND = 1e30  # stands for a loss that is not finite
_GROUPED = ("labels", "width", "step", "temperature", "smoothing", "radius")
_SILENT = "relu"  # the one activation whose neurons can be silent


def write_records(
    folder: str | Path,
    students: Sequence[Student],
    labels: dict[str, Labels],
    *,
    run: TrainingRun | None,
    held_out: Sequence[float] = (),
    failed: str | None = None,
) -> Path:
    """Write settings and records of every student.

    run         None where the training failed, for the reason `failed`
    held_out    each student's error on rows that it did not learn from
    """
    truth = labels["hard"].decisions()
    taught = labels["soft"].decisions() if "soft" in labels else None
    _, counts = np.unique(truth, return_counts=True)
    document: dict[str, Any] = {
        "verb": "train",
        "failed": failed,
        "chance_error": float(1 - counts.max() / counts.sum()),
        "teacher_error": None if taught is None else float((taught != truth).mean()),
        "students": [{"settings": asdict(student)} for student in students],
    }
    for place, trained in enumerate(run or ()):
        document["students"][place] |= {
            "records": {name: list(values) for name, values in trained.records.items()},
            "held": on_the_ball(trained.network, trained.settings),
            "held_out_error": held_out[place],
        }
    path = Path(folder) / RECORDS
    write_text(path, json_text(document, indent=None) + "\n")
    return path


def read_records(folder: Path) -> dict[str, Any]:
    """What `write_records` wrote; anything else is an error."""
    path = Path(folder) / RECORDS
    try:
        document = json.loads(require_regular_file(path).read_text(encoding="utf-8"))
        held = document["verb"] == "train" and isinstance(document["students"], list)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise InputError(f"'{path}' cannot be read ({type(problem).__name__}): train again with --out") from None
    if not held:
        raise InputError(f"'{path}' is not of `softlabel train`: train again with --out")
    return document


def record_groups(document: dict[str, Any], path: Path) -> list[Group]:
    """Students by their settings, without their seeds."""
    groups: dict[tuple, list[Course]] = {}
    try:
        for student in document["students"]:
            settings = student["settings"]
            key = tuple(settings[name] for name in _GROUPED)
            if "records" in student:
                groups.setdefault(key, []).append(_course(student, settings))
    except (KeyError, TypeError, IndexError) as problem:
        raise InputError(f"'{path}' is not complete ({problem}): train again with --out") from None
    return [Group("", *key, students=tuple(students)) for key, students in groups.items()]


def _course(student: dict[str, Any], settings: dict[str, Any]) -> Course:
    records = student["records"]
    return Course(
        seed=settings["seed"],
        steps=records["step"],
        loss=[BEYOND if value is None else value for value in records["loss"]],
        error=records.get("error"),
        dead=records["dead"][-1] if settings["activation"] == _SILENT else None,
        displacement=records["displacement"][-1],
        held=student["held"],
        held_out=student["held_out_error"],
    )
