"""The rows that a label file belongs to, and its numbers as logits; obstacles are findings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.class_names import plain_name
from softlabel.data.frames import NAMED_FILES, read_column, read_frame
from softlabel.data.problem import Problem
from softlabel.data.scaling import Scaler
from softlabel.errors import InputError
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.sheets import Sheet, open_array
from softlabel.studies.doctor.splits import ids_twice
from softlabel.teachers.label_files import read_labels
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.reading import are_percentages, probability_rows

_CLAIMS = ("p_", "prob_", "proba_", "probability_")


def matching_sheets(path: Path, sheets: Sequence[Sheet], id_column: str | None) -> tuple[list[Sheet], list[Finding]]:
    """The data files whose rows a label file may belong to, by ids or by the number of rows."""
    if id_column is None:
        rows = _rows(path)
        matching = [sheet for sheet in sheets if len(sheet) == rows]
        if matching:
            return matching, []
        where = {"file": str(path)}
        evidence = {"rows of labels": rows} | {f"rows of {sheet.path.name}": len(sheet) for sheet in sheets}
        remedy = "provide one row per row of the data, or match them by `id_column`"
        return [], [Finding("misaligned labels", "mistake", where, evidence, remedy, 2.0)]
    ids = read_column(path, id_column)
    findings = list(ids_twice(ids, str(path)))
    counted = [(_missing(sheet, ids), sheet) for sheet in sheets if sheet.ids is not None]
    if not counted:
        raise InputError(f"'{sheets[0].path}' has no column '{id_column}' to match '{path}' by: change `id_column`")
    missing, sheet = min(counted, key=lambda pair: len(pair[0]) / len(pair[1]))
    if len(missing):
        where = {"file": str(path), "data": str(sheet.path)}
        assert sheet.ids is not None
        evidence = {"ids of the data without labels": len(missing), "of": len(sheet),
                    "the first": f"'{sheet.ids[missing[0]]}'", "in row": int(missing[0]) + 1}  # fmt: skip
        remedy = "label these rows too, or remove them from the data"
        degree = len(missing) / len(sheet)
        findings.append(Finding("ids without labels", "mistake", where, evidence, remedy, degree))
    return ([] if findings or _twice(sheet) else [sheet]), findings


def _rows(path: Path) -> int:
    if path.suffix.lower() in NAMED_FILES:
        return read_frame(path).height
    array = open_array(path)
    return len(array) if array.ndim else 0


def _missing(sheet: Sheet, labeled: np.ndarray) -> np.ndarray:
    """Rows of the data whose ids are not among the labeled ones; 1.0 and 1 are the same id."""
    assert sheet.ids is not None
    ids, labeled = sheet.ids.astype(str), labeled.astype(str)
    if not np.isin(ids, labeled).any():
        ids, labeled = (np.array([plain_name(text) for text in texts.tolist()], dtype=str) for texts in (ids, labeled))
    return np.flatnonzero(~np.isin(ids, labeled))


def _twice(sheet: Sheet) -> bool:
    return sheet.ids is not None and len(np.unique(sheet.ids.astype(str))) < len(sheet)


def class_numbers(path: Path, sheet: Sheet) -> Finding | None:
    """A finding for a file with one class number per row."""
    if path.suffix.lower() != ".npy" or len(sheet.classes) == 2:
        return None
    array = open_array(path)
    if array.ndim != 1 or array.dtype.kind not in "iuf" or not (array == np.round(array)).all():
        return None
    evidence = {"rows": len(array), "different values": len(np.unique(array))}
    remedy = "these are class numbers, that is hard labels: a teacher's soft labels have one column per class"
    return Finding("hard labels", "mistake", {"file": str(path)}, evidence, remedy, 1.0)


def read_any_kind(path: Path, sheet: Sheet, id_column: str | None) -> tuple[TeacherPredictions | None, list[Finding]]:
    """The labels as logits (n, K), in the order of the file; numbers of the wrong kind are a finding."""
    problem = Problem(
        name=str(sheet.path), X=sheet.inputs, y=sheet.labels, classes=sheet.classes,
        parts={"train": np.arange(0), "validation": np.arange(0), "test": np.arange(len(sheet))},
        scaler=Scaler("none"), rows=np.arange(len(sheet)), file_rows=len(sheet), ids=sheet.ids,
    )  # fmt: skip
    try:
        return read_labels(problem, path, id_column=id_column), []
    except InputError as refused:
        refusal = str(refused)
    try:
        table = as_written(read_labels(problem, path, kind="logits", id_column=id_column).logits)
    except InputError:
        raise InputError(refusal) from None
    likely = probability_rows(table)
    where, evidence = {"file": str(path), "data": str(sheet.path)}, number_range(table)
    evidence["share of rows that are probabilities"] = float(likely.mean())
    if are_percentages(table):
        evidence["sum of a row"] = float(np.median(table.sum(axis=1)))
        return None, [Finding("probabilities given as logits", "mistake", where, evidence, "divide them by 100")]
    if likely.mean() < 0.5 and _claims_probabilities(path, sheet):
        remedy = "name the columns logit_CLASS, or write their softmax"
        return None, [Finding("logits given as probabilities", "mistake", where, evidence, remedy)]
    evidence |= {"first row without probabilities": int(np.argmin(likely)) + 1}
    remedy = "write probabilities that sum to 1 in every row, or logits in all rows"
    return None, [Finding("neither probabilities nor logits", "mistake", where, evidence, remedy)]


def as_written(logits: np.ndarray) -> np.ndarray:
    """The numbers (n, K) that were read as logits, or (n, 1) if one column was expanded to two classes."""
    return logits[:, 1:] if logits.shape[1] == 2 and not logits[:, 0].any() else logits


def number_range(table: np.ndarray) -> dict[str, Any]:
    """The range of the numbers, as evidence."""
    return {"smallest number": float(table.min()), "largest": float(table.max())}


def _claims_probabilities(path: Path, sheet: Sheet) -> bool:
    if path.suffix.lower() not in NAMED_FILES:
        return False
    columns = {column.lower() for column in read_frame(path).columns}
    own = [plain_name(name).lower() for name in sheet.classes]
    return any(prefix + name in columns for prefix in _CLAIMS for name in own)
