"""Mistakes in data files: rows in two splits, labels among the inputs, missing classes and columns.

Rows are compared as float32, as students see them, through the hashes of `data.tables.contradictions`; two rows are
equal if all columns are (except columns that only number the rows). Where the inputs have few values, duplicates are
not an accident: then they are a hint.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.data.tables import contradictions
from softlabel.errors import quoted
from softlabel.studies.doctor.balance import examine_classes, missing_label_findings, spellings
from softlabel.studies.doctor.columns import constant_columns, examine_columns, gaps, label_copies
from softlabel.studies.doctor.findings import Finding, Severity
from softlabel.studies.doctor.leaks import one_column_leaks
from softlabel.studies.doctor.near import near_findings
from softlabel.studies.doctor.sheets import FileColumns, Sheet
from softlabel.studies.doctor.treatment import entries_of_another_kind, refusals

SHOWN = 5
CHANCE = 0.25


def examine_sheets(sheets: Sequence[Sheet], chosen: FileColumns) -> Iterator[Finding]:
    """Mistakes in data files, the first of which contains the training rows."""
    for sheet in sheets:
        yield from gaps(sheet)
        if sheet.ids is not None:
            yield from ids_twice(sheet.ids, str(sheet.path))
    first = sheets[0]
    if not np.isinf(first.inputs).any():
        yield from refusals(first, chosen)
    yield from examine_columns(first)
    yield from constant_columns(first)
    copies = list(label_copies(first))
    yield from copies
    yield from one_column_leaks(first, [one.where["column"] for one in copies])
    yield from missing_label_findings(sheets)
    yield from examine_classes(first)
    yield from spellings(first)
    yield from _classes(sheets)
    yield from _different_columns(sheets)
    for sheet in sheets[1:]:
        yield from entries_of_another_kind(sheet)
    yield from _ids_across(sheets)
    yield from _groups_across(sheets)
    columns = _compared_columns(sheets)
    duplicates = _Duplicates.from_sheets(sheets, columns)
    severity: Severity = "hint" if duplicates.coarse else "mistake"
    yield from _repeated(sheets, duplicates, severity)
    yield from near_findings(sheets, columns)
    for sheet in sheets:
        yield from _contradicting(sheet, severity)


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
    return sorted({name for sheet in sheets for name in np.unique(sheet.names[~sheet.unlabeled]).tolist()})


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


def _groups_across(sheets: Sequence[Sheet]) -> Iterator[Finding]:
    """Groups of the group column with rows in two files."""
    first = sheets[0]
    for sheet in sheets[1:]:
        if first.groups is None or sheet.groups is None:
            continue
        shared = np.flatnonzero(np.isin(sheet.groups.astype(str), first.groups.astype(str)))
        if len(shared):
            where = {"files": [str(first.path), str(sheet.path)]}
            evidence = {"rows of groups in both": len(shared), "of": len(sheet),
                        "the first group": f"'{sheet.groups[shared[0]]}'"}  # fmt: skip
            remedy = "the test contains groups of the training rows: join the files and split them by `group`"
            yield Finding("groups in two splits", "mistake", where, evidence, remedy, len(shared) / len(sheet))


@dataclass(frozen=True, eq=False)
class _Duplicates:
    """Rows of all files, numbered consecutively; `group` (n,) is the number of the first equal row.

    coarse  equal rows are no accident, because the inputs have few values: less than half of the rows are different, or
            shuffled columns have a quarter as many equal rows
    """

    group: np.ndarray
    starts: np.ndarray
    coarse: bool

    @classmethod
    def from_sheets(cls, sheets: Sequence[Sheet], columns: Sequence[str]) -> "_Duplicates":
        """Compare all rows of all files by these columns."""
        tables = [sheet.select(columns) for sheet in sheets]
        joined = tables[0] if len(tables) == 1 else np.concatenate(tables)
        group = np.arange(len(joined))
        pairs = contradictions(np.ascontiguousarray(joined), group) if columns else []
        coarse = 2 * len(pairs) > len(joined)
        if pairs:
            first, later = np.array(pairs).T
            group[later] = first
            rng = np.random.default_rng(0)
            shuffled = np.stack([rng.permutation(column) for column in joined.T], axis=1)
            coarse = coarse or len(contradictions(shuffled, group)) >= len(pairs) * CHANCE
        return cls(group, np.cumsum([0, *map(len, sheets)]), coarse)

    def in_sheet(self, k: int) -> np.ndarray:
        """The groups of the rows of one file."""
        return self.group[self.starts[k] : self.starts[k + 1]]


def _compared_columns(sheets: Sequence[Sheet]) -> list[str]:
    """Columns that all files have and that do not only identify rows."""
    identifying = {column for sheet in sheets for column in sheet.identifying()}
    shared = set.intersection(*(set(sheet.columns) for sheet in sheets)) - identifying
    return [column for column in sheets[0].columns if column in shared]


def _repeated(sheets: Sequence[Sheet], duplicates: "_Duplicates", severity: Severity) -> Iterator[Finding]:
    """Rows that occur in two files, or twice in one file."""
    for k, second in enumerate(sheets):
        own = duplicates.in_sheet(k)
        for before, first in enumerate(sheets[:k]):
            yield from _across(first, second, duplicates.in_sheet(before), own, severity)
        distinct, at, inverse = np.unique(own, return_index=True, return_inverse=True)
        repeated = np.flatnonzero(at[inverse] != np.arange(len(own)))
        if len(repeated):
            evidence: dict[str, Any] = {"rows that occur before": len(repeated), "of": len(own)}
            evidence |= {"the first": _pairs(at[inverse][repeated], repeated)}
            remedy = (
                "a random split puts some of them into both parts: keep one of each, or pass a column that is the same "
                "in equal rows as `group`"
            )
            if duplicates.coarse:
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


def _contradicting(sheet: Sheet, severity: Severity) -> Iterator[Finding]:
    identifying = sheet.identifying()
    columns = [column for column in sheet.columns if column not in identifying]
    known = np.flatnonzero(~sheet.unlabeled)
    if not columns or not len(known):
        return
    table = sheet.select(columns)
    every = len(known) == len(sheet)
    pairs = contradictions(np.ascontiguousarray(table if every else table[known]), sheet.names[known])
    if not pairs:
        return
    first, later = known[np.array(pairs).T]
    evidence = {"rows with the input of an earlier row and another label": len(pairs), "of": len(sheet),
                "the first": _pairs(first, later)}  # fmt: skip
    remedy = "no student can predict both: fix the labels, or add a column that distinguishes them"
    where = {"file": str(sheet.path)}
    yield Finding("same input, different labels", severity, where, evidence, remedy, len(pairs) / len(sheet))


def _pairs(first: np.ndarray, later: np.ndarray) -> str:
    more = ", …" if len(first) > SHOWN else ""
    rows = zip(first[:SHOWN].tolist(), later[:SHOWN].tolist(), strict=True)
    return ", ".join(f"rows {one + 1} and {two + 1}" for one, two in rows) + more
