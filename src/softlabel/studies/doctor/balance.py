"""Classes: missing labels, rare classes, and classes so unequal that accuracy would mislead."""

from collections.abc import Iterator, Sequence

import numpy as np

from softlabel.data.class_names import spelled_alike
from softlabel.data.table_files import MISSING_WORDS
from softlabel.errors import few, quoted
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.sheets import NO_LABEL, UNKNOWN, Sheet

FREQUENT = 0.8  # share of the most frequent class that makes accuracy mislead
RARE = 0.1  # of the share that classes of equal size would have
FEWEST_ROWS = 10  # of a class, of which a fifth are test rows


def examine_classes(sheet: Sheet) -> Iterator[Finding]:
    """Trouble with the classes of the training rows."""
    counts = np.bincount(sheet.labels[sheet.labels != UNKNOWN], minlength=len(sheet.classes))
    names = [name for name, count in zip(sheet.classes, counts.tolist(), strict=True) if count]
    counts = counts[counts > 0]
    total, classes = int(counts.sum()), len(counts)
    if classes < 2:
        return
    most, least = int(counts.argmax()), int(counts.argmin())
    largest, smallest = float(counts[most]) / total, float(counts[least]) / total
    rare = [name for name, count in zip(names, counts.tolist(), strict=True) if count < FEWEST_ROWS]
    if total >= FEWEST_ROWS * classes and rare:
        where = {"file": str(sheet.path), "classes": quoted(rare)}
        evidence = {"classes with fewer than 10 rows": len(rare), "of": classes,
                    "rows": few([f"{name} {counts[names.index(name)]}" for name in rare])}  # fmt: skip
        remedy = (
            "one or two test rows of a class decide nothing: collect more, join such classes, or leave them out with "
            f"`leave_out` '{','.join(rare[:5])}{',…' if len(rare) > 5 else ''}'"
        )
        yield Finding("rare classes", "hint", where, evidence, remedy, len(rare) / classes)
    if largest >= FREQUENT or (smallest * classes <= RARE and not rare):
        order = np.argsort(-counts, kind="stable").tolist()
        where = {"file": str(sheet.path)}
        evidence = {
            "rows of each class": few([f"{names[k]} {counts[k]:,}" for k in order]),
            "accuracy of always predicting the most frequent": largest,
        }
        better = "'balanced-accuracy' or 'auc'" if classes == 2 else "'balanced-accuracy'"
        remedy = f"accuracy hardly sees the rare classes: pass `metric` {better}"
        yield Finding("imbalanced classes", "hint", where, evidence, remedy, largest)


def spellings(sheet: Sheet) -> Iterator[Finding]:
    """Classes that differ only in upper and lower case or in spaces."""
    for same in spelled_alike(sheet.classes):
        counts = [f"'{name}' {(sheet.labels == sheet.classes.index(name)).sum():,}" for name in same]
        evidence = {"rows of each spelling": few(counts)}
        remedy = "if they are one class, spell it in one way in the file; otherwise nothing"
        yield Finding("one class spelled in several ways", "mistake", {"file": str(sheet.path)}, evidence, remedy)


def missing_label_findings(sheets: Sequence[Sheet]) -> Iterator[Finding]:
    """Rows without a label, and classes whose name is a word for "missing"."""
    for sheet in sheets:
        rows = np.flatnonzero(sheet.unlabeled)
        if len(rows):
            evidence = {"rows without a label": len(rows), "of": len(sheet), "first in row": int(rows[0]) + 1}
            remedy = f"fill them in, or leave these rows out with `leave_out` '{NO_LABEL}'"
            yield Finding(
                "labels missing", "mistake", {"file": str(sheet.path)}, evidence, remedy, len(rows) / len(sheet)
            )
        words = [name for name in np.unique(sheet.names).tolist() if name.strip().lower() in MISSING_WORDS]
        for word in words:
            evidence = {f"rows with the label '{word}'": int((sheet.names == word).sum()), "of": len(sheet)}
            remedy = f"if it means that the label is missing, leave these rows out with `leave_out` '{word}'"
            yield Finding("labels missing", "hint", {"file": str(sheet.path)}, evidence, remedy)
