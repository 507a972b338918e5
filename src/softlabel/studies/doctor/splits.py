"""Mistakes in data files: rows in two splits, labels among the inputs, missing classes and columns.

Rows are compared as float32, as students see them, through the hashes of `data.tables.contradictions`; two rows are
equal if all columns are (except columns that only number the rows). If fewer than half of the rows are distinct, the
inputs have few values and duplicates are not an accident: then they are a hint.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.data.tables import contradictions
from softlabel.errors import quoted
from softlabel.studies.doctor.findings import Finding, Severity
from softlabel.studies.doctor.leaks import one_column_leaks
from softlabel.studies.doctor.sheets import UNKNOWN, Sheet

SHOWN = 5
_BLOCK = 4096


def examine_sheets(sheets: Sequence[Sheet]) -> Iterator[Finding]:
    """Mistakes in data files, the first of which contains the training rows."""
    for sheet in sheets:
        yield from _gaps(sheet)
        yield from _ids(sheet)
    copies = list(_columns(sheets[0]))
    yield from copies
    yield from one_column_leaks(sheets[0], [one.where["column"] for one in copies if "column" in one.where])
    yield from _classes(sheets)
    yield from _different_columns(sheets)
    yield from _ids_across(sheets)
    yield from _repeated(sheets)
    for sheet in sheets:
        yield from _contradicting(sheet)


def _gaps(sheet: Sheet) -> Iterator[Finding]:
    gaps = sheet.missing()
    if not gaps:
        return
    total = sum(int(rows.sum()) for rows in gaps.values())
    worst = sorted(gaps, key=lambda column: -int(gaps[column].sum()))
    where = {"file": str(sheet.path), "columns": quoted(list(gaps))}
    evidence = {
        "missing or infinite values": total,
        "first in row": min(int(rows.argmax()) for rows in gaps.values()) + 1,
        "in columns": ", ".join(f"{column} {int(gaps[column].sum()):,}" for column in worst[:SHOWN])
        + (", …" if len(worst) > SHOWN else ""),
    }  # fmt: skip
    remedy = "impute them, remove these rows, or drop the columns"
    yield Finding("missing values", "mistake", where, evidence, remedy, total / (len(sheet) * len(sheet.columns)))


def _ids(sheet: Sheet) -> Iterator[Finding]:
    if sheet.counting:
        where = {"file": str(sheet.path), "columns": quoted(sheet.counting)}
        remedy = f"use '{sheet.counting[0]}' as the id column, or drop it"
        evidence = {"rows": len(sheet), "different values": len(sheet)}
        yield Finding("id among the inputs", "hint", where, evidence, remedy)
    if sheet.ids is not None:
        yield from ids_twice(sheet.ids, str(sheet.path))


def ids_twice(ids: np.ndarray, file: str) -> Iterator[Finding]:
    """Ids (n,) that occur more than once in a file."""
    values, first, counts = np.unique(ids.astype(str), return_index=True, return_counts=True)
    twice = np.flatnonzero(counts > 1)
    if not len(twice):
        return
    earliest = twice[first[twice].argmin()]
    rows = np.flatnonzero(ids.astype(str) == values[earliest])[:SHOWN] + 1
    evidence = {
        "ids that occur more than once": len(twice), "the first": f"'{values[earliest]}'", "in rows": rows.tolist(),
    }  # fmt: skip
    remedy = "give every row a different id: labels cannot be matched by these"
    yield Finding("ids twice", "mistake", {"file": file}, evidence, remedy, len(twice) / len(ids))


def _columns(sheet: Sheet) -> Iterator[Finding]:
    """Constant columns, and columns that are constant within each class and differ between classes."""
    table = sheet.select(sheet.columns)
    present = np.unique(sheet.labels[sheet.labels != UNKNOWN])
    low, high = (_by_class(table, sheet.labels, present, extreme) for extreme in (np.minimum, np.maximum))
    constant = low.min(axis=0) == high.max(axis=0)
    if constant.any():
        where = {"file": str(sheet.path), "columns": quoted([sheet.columns[k] for k in np.flatnonzero(constant)])}
        evidence = {"constant columns": int(constant.sum()), "of": len(sheet.columns)}
        yield Finding("constant columns", "hint", where, evidence, "they contain no information: drop them")
    if len(present) < 2 or len(sheet) <= 2 * len(present):
        return
    for k in np.flatnonzero((low == high).all(axis=0)):
        if len(np.unique(low[:, k])) == len(present):
            column = sheet.columns[k]
            where = {"file": str(sheet.path), "column": column}
            evidence = {"rows": len(sheet), "classes": len(present), "values of the column": len(present),
                        "rows in which its value determines the class": len(sheet)}  # fmt: skip
            remedy = f"'{column}' is the label in another form: drop this column"
            yield Finding("label among the inputs", "mistake", where, evidence, remedy)


def _by_class(table: np.ndarray, labels: np.ndarray, present: np.ndarray, extreme: np.ufunc) -> np.ndarray:
    """The smallest or largest value of each column in each class, (classes, d), block by block."""
    empty = np.inf if extreme is np.minimum else -np.inf
    values = np.full((len(present), table.shape[1]), empty, dtype=np.float32)
    for start in range(0, len(table), _BLOCK):
        block, own = table[start : start + _BLOCK], labels[start : start + _BLOCK]
        for k, label in enumerate(present):
            rows = block[own == label]
            if len(rows):
                values[k] = extreme(values[k], extreme.reduce(rows, axis=0))
    return values


def _classes(sheets: Sequence[Sheet]) -> Iterator[Finding]:
    containing = {name: [sheet for sheet in sheets if name in sheet.names] for name in _all_names(sheets)}
    for sheet in sheets:
        missing = [name for name, having in containing.items() if sheet not in having]
        if missing:
            others = {
                str(other.path): int(np.isin(other.names, missing).sum()) for other in sheets if other is not sheet
            }
            where = {"file": str(sheet.path), "classes": quoted(missing)}
            evidence = {"missing": len(missing), "of": len(containing)}
            evidence |= {f"rows of them in {path}": count for path, count in others.items() if count}
            remedy = (
                "a student never learns these classes: split again, stratified by class"
                if sheet is sheets[0]
                else "these classes are never tested here: split again, stratified by class"
            )
            yield Finding("classes missing", "mistake", where, evidence, remedy, len(missing) / len(containing))


def _all_names(sheets: Sequence[Sheet]) -> list[str]:
    return sorted({name for sheet in sheets for name in np.unique(sheet.names).tolist()})


def _different_columns(sheets: Sequence[Sheet]) -> Iterator[Finding]:
    first = sheets[0]
    for sheet in sheets[1:]:
        own, known = set(sheet.columns), set(first.columns)
        missing = [column for column in first.columns if column not in own]
        new = [column for column in sheet.columns if column not in known]
        if missing or new:
            where = {"file": str(sheet.path), "compared with": str(first.path)}
            evidence = {"missing columns": quoted(missing) or "none", "additional columns": quoted(new) or "none"}
            remedy = "columns are matched by name: both files need the same"
            yield Finding("columns differ", "mistake", where, evidence, remedy, float(len(missing) + len(new)))


def _ids_across(sheets: Sequence[Sheet]) -> Iterator[Finding]:
    for k, second in enumerate(sheets):
        for first in sheets[:k]:
            if first.ids is None or second.ids is None:
                continue
            shared = np.flatnonzero(np.isin(second.ids.astype(str), first.ids.astype(str)))
            if len(shared):
                where = {"files": [str(first.path), str(second.path)]}
                evidence = {"ids in both": len(shared), "the first": f"'{second.ids[shared[0]]}'",
                            f"in row of {second.path.name}": int(shared[0]) + 1}  # fmt: skip
                remedy = "the test contains training examples: keep all rows of an id in one split"
                degree = len(shared) / len(second)
                yield Finding("ids in two splits", "mistake", where, evidence, remedy, degree)


@dataclass(frozen=True, eq=False)
class _Duplicates:
    """Rows of all files, numbered consecutively; `group` (n,) is the number of the first equal row."""

    group: np.ndarray
    starts: np.ndarray

    @classmethod
    def from_sheets(cls, sheets: Sequence[Sheet], columns: Sequence[str]) -> "_Duplicates":
        """Compare all rows of all files by these columns."""
        tables = [sheet.select(columns) for sheet in sheets]
        joined = tables[0] if len(tables) == 1 else np.concatenate(tables)
        group = np.arange(len(joined))
        pairs = contradictions(np.ascontiguousarray(joined), group)
        if pairs:
            first, later = np.array(pairs).T
            group[later] = first
        return cls(group, np.cumsum([0, *map(len, sheets)]))

    def in_sheet(self, k: int) -> np.ndarray:
        """The groups of the rows of one file."""
        return self.group[self.starts[k] : self.starts[k + 1]]


def _repeated(sheets: Sequence[Sheet]) -> Iterator[Finding]:
    """Rows that occur in two files, or twice in one file."""
    counting = {column for sheet in sheets for column in sheet.counting}
    shared = set.intersection(*(set(sheet.columns) for sheet in sheets)) - counting
    columns = [column for column in sheets[0].columns if column in shared]
    if not columns:
        return
    duplicates = _Duplicates.from_sheets(sheets, columns)
    few = len(np.unique(duplicates.group)) < len(duplicates.group) / 2
    severity: Severity = "hint" if few else "mistake"
    for k, second in enumerate(sheets):
        own = duplicates.in_sheet(k)
        for before, first in enumerate(sheets[:k]):
            yield from _across(first, second, duplicates.in_sheet(before), own, severity)
        distinct, at, inverse = np.unique(own, return_index=True, return_inverse=True)
        repeated = np.flatnonzero(at[inverse] != np.arange(len(own)))
        if len(repeated):
            evidence: dict[str, Any] = {"rows that occur before": len(repeated), "of": len(own)}
            evidence |= {"the first": _pairs(at[inverse][repeated], repeated)}
            remedy = "a random split puts some of them into both parts: keep one of each, or keep equal rows together"
            if few:
                remedy = f"the inputs have only {len(distinct):,} different values; {remedy}"
            degree = len(repeated) / len(own)
            yield Finding("rows twice", severity, {"file": str(second.path)}, evidence, remedy, degree)


def _across(first: Sheet, second: Sheet, left: np.ndarray, right: np.ndarray, severity: Severity) -> Iterator[Finding]:
    groups, at = np.unique(left, return_index=True)
    shared = np.flatnonzero(np.isin(right, groups))
    if not len(shared):
        return
    partners = at[np.searchsorted(groups, right[shared])]
    agree = int((first.names[partners] == second.names[shared]).sum())
    evidence = {
        f"rows of {second.path.name} that {first.path.name} has too": len(shared), "of": len(second),
        "with the same label": agree, "with another": len(shared) - agree,
        f"the first, in {first.path.name} and {second.path.name}": _pairs(partners, shared),
    }  # fmt: skip
    where = {"files": [str(first.path), str(second.path)]}
    remedy = f"the test contains training examples: remove these rows from {second.path.name}, or split again"
    yield Finding("rows in two splits", severity, where, evidence, remedy, len(shared) / len(second))


def _contradicting(sheet: Sheet) -> Iterator[Finding]:
    columns = [column for column in sheet.columns if column not in sheet.counting]
    if not columns:
        return
    pairs = contradictions(np.ascontiguousarray(sheet.select(columns)), sheet.names)
    if not pairs:
        return
    first, later = np.array(pairs).T
    evidence = {"rows with the input of an earlier row and another label": len(pairs), "of": len(sheet),
                "the first": _pairs(first, later)}  # fmt: skip
    remedy = "no student can predict both: fix the labels, or add a column that distinguishes them"
    where = {"file": str(sheet.path)}
    yield Finding("same input, different labels", "mistake", where, evidence, remedy, len(pairs) / len(sheet))


def _pairs(first: np.ndarray, later: np.ndarray) -> str:
    more = ", …" if len(first) > SHOWN else ""
    rows = zip(first[:SHOWN].tolist(), later[:SHOWN].tolist(), strict=True)
    return ", ".join(f"rows {one + 1} and {two + 1}" for one, two in rows) + more
