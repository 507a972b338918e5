"""Which rows a file of labels is for, and its numbers as logits; what stands in the way is a finding."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.class_names import plain_name
from softlabel.data.frames import read_column, read_frame
from softlabel.data.problem import Problem
from softlabel.data.scaling import Scaler
from softlabel.errors import InputError
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.sheets import NAMED, Sheet, open_array
from softlabel.studies.doctor.splits import ids_twice
from softlabel.teachers.answers import SUM_TOLERANCE, TeacherAnswers
from softlabel.teachers.label_files import read_labels

_CLAIMS = ("p_", "prob_", "proba_", "probability_")


def matching_sheets(path: Path, sheets: Sequence[Sheet], id_column: str | None) -> tuple[list[Sheet], list[Finding]]:
    """The data files whose rows a file may label, by ids or by the number of rows."""
    if id_column is None:
        rows = _rows(path)
        fitting = [sheet for sheet in sheets if len(sheet) == rows]
        if fitting:
            return fitting, []
        where = {"file": str(path)}
        evidence = {"rows of labels": rows} | {f"rows of {sheet.path.name}": len(sheet) for sheet in sheets}
        remedy = "give one row for each row of the data, or match them by --id COLUMN"
        return [], [Finding("misaligned labels", "mistake", where, evidence, remedy, 2.0)]
    given = read_column(path, id_column)
    findings = list(ids_twice(given, str(path)))
    counted = [(_missing(sheet, given), sheet) for sheet in sheets if sheet.ids is not None]
    if not counted:
        raise InputError(f"'{sheets[0].path}' has no column '{id_column}' to match '{path}' by: mend --id")
    missing, sheet = min(counted, key=lambda pair: len(pair[0]) / len(pair[1]))
    if len(missing):
        where = {"file": str(path), "data": str(sheet.path)}
        assert sheet.ids is not None
        evidence = {"ids of the data without labels": len(missing), "of": len(sheet),
                    "the first": f"'{sheet.ids[missing[0]]}'", "in row": int(missing[0]) + 1}  # fmt: skip
        remedy = "label these rows too, or leave them out of the data"
        degree = len(missing) / len(sheet)
        findings.append(Finding("ids without labels", "mistake", where, evidence, remedy, degree))
    return ([] if findings or _twice(sheet) else [sheet]), findings


def _rows(path: Path) -> int:
    if path.suffix.lower() in NAMED:
        return read_frame(path).height
    held = open_array(path)
    return len(held) if held.ndim else 0


def _missing(sheet: Sheet, given: np.ndarray) -> np.ndarray:
    """Rows of the data whose ids a file has not; 1.0 and 1 are the same id."""
    assert sheet.ids is not None
    ids, given = sheet.ids.astype(str), given.astype(str)
    if not np.isin(ids, given).any():
        ids, given = (np.array([plain_name(text) for text in texts.tolist()], dtype=str) for texts in (ids, given))
    return np.flatnonzero(~np.isin(ids, given))


def _twice(sheet: Sheet) -> bool:
    return sheet.ids is not None and len(np.unique(sheet.ids.astype(str))) < len(sheet)


def class_numbers(path: Path, sheet: Sheet) -> Finding | None:
    """A file that holds one class number a row."""
    if path.suffix.lower() != ".npy" or len(sheet.classes) == 2:
        return None
    held = open_array(path)
    if held.ndim != 1 or held.dtype.kind not in "iuf" or not (held == np.round(held)).all():
        return None
    evidence = {"rows": len(held), "different values": len(np.unique(held))}
    remedy = "these are class numbers, hard labels: a teacher's soft labels have one column a class"
    return Finding("hard labels", "mistake", {"file": str(path)}, evidence, remedy, 1.0)


def read_any_kind(path: Path, sheet: Sheet, id_column: str | None) -> tuple[TeacherAnswers | None, list[Finding]]:
    """The labels as logits (n, K), whatever their order; numbers of the other kind are a finding."""
    problem = Problem(
        name=str(sheet.path), inputs=sheet.inputs, labels=sheet.labels, classes=sheet.classes,
        parts={"train": np.arange(0), "validation": np.arange(0), "test": np.arange(len(sheet))},
        scaler=Scaler("none"), rows=np.arange(len(sheet)), file_rows=len(sheet), ids=sheet.ids,
    )  # fmt: skip
    try:
        return read_labels(problem, path, id_column=id_column), []
    except InputError as problem_of_kind:
        refusal = str(problem_of_kind)
    try:
        table = as_written(read_labels(problem, path, kind="logits", id_column=id_column).logits)
    except InputError:
        raise InputError(refusal) from None
    likely = (table.min(axis=1) >= 0) & (table.max(axis=1) <= 1)
    if table.shape[1] > 1:
        likely &= np.abs(table.sum(axis=1) - 1) < SUM_TOLERANCE
    where, evidence = {"file": str(path), "data": str(sheet.path)}, number_range(table)
    evidence["share of rows that are probabilities"] = float(likely.mean())
    sums = table.sum(axis=1)
    if table.shape[1] > 1 and table.min() >= 0 and (np.abs(sums - 100) <= 100 * SUM_TOLERANCE).all():
        evidence["rows add up to"] = float(np.median(sums))
        return None, [Finding("probabilities given as logits", "mistake", where, evidence, "divide them by 100")]
    if likely.mean() < 0.5 and _claims_probabilities(path, sheet):
        remedy = "call the columns logit_CLASS, or write their softmax"
        return None, [Finding("logits given as probabilities", "mistake", where, evidence, remedy)]
    evidence |= {"first row that is none": int(np.argmin(likely)) + 1}
    remedy = "write probabilities that add up to 1 in every row, or logits in all of them"
    return None, [Finding("neither probabilities nor logits", "mistake", where, evidence, remedy)]


def as_written(logits: np.ndarray) -> np.ndarray:
    """The numbers (n, K) that were read as logits, or (n, 1) where one column was spread over two classes."""
    return logits[:, 1:] if logits.shape[1] == 2 and not logits[:, 0].any() else logits


def number_range(table: np.ndarray) -> dict[str, Any]:
    """Evidence of what numbers there are."""
    return {"least number": float(table.min()), "largest": float(table.max())}


def _claims_probabilities(path: Path, sheet: Sheet) -> bool:
    if path.suffix.lower() not in NAMED:
        return False
    columns = {column.lower() for column in read_frame(path).columns}
    own = [plain_name(name).lower() for name in sheet.classes]
    return any(prefix + name in columns for prefix in _CLAIMS for name in own)
