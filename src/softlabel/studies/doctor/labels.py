"""Mistakes in a teacher's labels: of other rows, of other classes, of another kind than they say, without content.

The labels' decisions are held against the given labels. Two ways to line them up are compared on the rows on which
they differ (McNemar): with b rows right in the second way alone and c in the first alone, z = (b − c)/√(b + c).
Another order of rows (shifted by up to ten, backwards, sorted by the label or by a column, matched by a column of
both files) or of classes is named where z ≥ 5 and it is right in 5 (classes: 10) points more of the rows. Labels that
no known way lines up are misaligned where they agree with the given ones no better than dealt out at random (within 3
deviations), and claim 3 deviations more than that.

Probabilities that went through a second softmax are p = softmax(r) with 0 ≤ r ≤ 1 and Σ r = 1, and r can be had back:

    r = ln p + (1 − Σ ln p)/K

They are called so where every r is in [0, 1], and r tells the given labels better than p by 3 deviations of the mean
log-likelihood.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr, log_softmax

from softlabel.errors import quoted
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.matching import as_written, class_numbers, matching_sheets, number_range, read_any_kind
from softlabel.studies.doctor.orders import Order, possible_orders
from softlabel.studies.doctor.sheets import UNKNOWN, Sheet
from softlabel.teachers.agreement import COLLAPSED, DEVIATIONS, FEWEST_ROWS
from softlabel.teachers.answers import TeacherAnswers
from softlabel.teachers.audit import HARD_ENTROPY, HARD_PROBABILITY, NEARLY_ALL

SURE, BETTER_ROWS, BETTER_CLASSES = 5.0, 0.05, 0.1
SAME = 1e-3
TOLERANCE = 1e-4
LEAST = 1e-3


def examine_labels(path: Path, sheets: Sequence[Sheet], id_column: str | None) -> Iterator[Finding]:
    """What is wrong with a file of labels for the rows of one of these data files."""
    matching, findings = matching_sheets(path, sheets, id_column)
    yield from findings
    if not matching:
        return
    numbers = class_numbers(path, matching[0])
    if numbers is not None:
        yield numbers
        return
    answers, findings = read_any_kind(path, matching[0], id_column)
    yield from findings
    if answers is None:
        return
    labels = max((_Labels(path, sheet, answers) for sheet in matching), key=lambda one: one.share(one.right))
    if (finding := labels.read_as_logits()) is not None:
        yield finding
        return
    if (finding := labels.hard()) is not None:
        yield finding
    finding = labels.softmaxed_twice() or labels.collapsed() or labels.misplaced(id_column)
    if finding is not None:
        yield finding


class _Labels:
    """A file of labels beside the data that it labels, one method for each mistake."""

    def __init__(self, path: Path, sheet: Sheet, answers: TeacherAnswers) -> None:
        self.path, self.sheet, self.answers = path, sheet, answers
        self.known = np.flatnonzero(sheet.labels != UNKNOWN)
        self.truth = sheet.labels
        self.p = answers.probabilities
        self.said = self.p.argmax(axis=1)
        self.right = self._right(Order("", self.known, self.known))
        self.where = {"file": str(path), "data": str(sheet.path)}

    def read_as_logits(self) -> Finding | None:
        """Numbers in [0, 1] that are taken for logits."""
        if self.answers.kind != "logits":
            return None
        table = as_written(self.answers.logits)
        if table.min() < 0 or table.max() > 1:
            return None
        evidence = number_range(table)
        if table.shape[1] > 1:
            evidence["rows add up to"] = float(np.median(table.sum(axis=1)))
        evidence["highest probability, read as logits"] = float(self.p.max())
        remedy = "call the columns p_CLASS, or make each row add up to 1; read as logits they are nearly uniform"
        return Finding("probabilities given as logits", "mistake", self.where, evidence, remedy)

    def collapsed(self) -> Finding | None:
        said = np.bincount(self.said, minlength=self.p.shape[1]) / len(self.p)
        given = np.bincount(self.truth[self.known], minlength=self.p.shape[1]) / max(1, len(self.known))
        most = int(said.argmax())
        same = len(self.p) > 1 and float(np.ptp(self.p, axis=0).max()) < SAME
        if not same and not said[most] > NEARLY_ALL >= given[most]:
            return None
        evidence = {f"share of rows labelled '{self.sheet.classes[most]}'": float(said[most]),
                    "its share in the data": float(given[most]),
                    "widest range of a class's probability": float(np.ptp(self.p, axis=0).max())}  # fmt: skip
        remedy = "the teacher says the same of every row: ask it again on these inputs, scaled as in its training"
        return Finding("collapsed labels", "mistake", self.where, evidence, remedy)

    def hard(self) -> Finding | None:
        entropy = float(entr(self.p).sum(axis=1).mean() / np.log(self.p.shape[1]))
        sure = float((self.p.max(axis=1) > HARD_PROBABILITY).mean())
        if entropy >= HARD_ENTROPY and sure <= NEARLY_ALL:
            return None
        evidence = {"mean entropy, of the most possible": entropy, f"share of rows above {HARD_PROBABILITY}": sure}
        remedy = (
            "they teach what hard labels teach: write the teacher's probabilities, not its decisions; if these are "
        )
        remedy += "its probabilities, take a higher temperature or out-of-fold ones"
        return Finding("hard labels", "mistake", self.where, evidence, remedy, sure)

    def misplaced(self, id_column: str | None) -> Finding | None:
        """Labels of other rows, or with their classes in another order."""
        if len(self.known) < FEWEST_ROWS or np.bincount(self.said).max() > COLLAPSED * len(self.said):
            return None
        classes, rows = self._classes(), self._rows() if id_column is None else None
        if classes is not None and (rows is None or classes.degree >= rows.degree):
            return classes
        return rows or self._strangers(id_column)

    def _right(self, order: Order) -> np.ndarray:
        """(n,) whether each row of the data is labelled as given; False where no label is for it."""
        right = np.zeros(len(self.truth), dtype=bool)
        right[order.data] = self.said[order.labels] == self.truth[order.data]
        return right

    def _classes(self) -> Finding | None:
        count = self.p.shape[1]
        table = np.zeros((count, count), dtype=np.int64)
        np.add.at(table, (self.said[self.known], self.truth[self.known]), 1)
        columns, meant = linear_sum_assignment(-table)
        moved = columns[columns != meant]
        other = np.zeros(len(self.truth), dtype=bool)
        other[self.known] = meant[self.said[self.known]] == self.truth[self.known]
        gain = self._gain(other)
        if not len(moved) or gain < BETTER_CLASSES:
            return None
        names = self.sheet.classes
        told = ", ".join(f"'{names[k]}' means '{names[meant[k]]}'" for k in moved[:6]) + (
            ", …" if len(moved) > 6 else ""
        )
        evidence = {"agreement with the given labels": self.share(self.right), "with the columns so": self.share(other),
                    "columns": told}  # fmt: skip
        remedy = f"put the columns into the order of the classes ({quoted(names)}), or name them so"
        return Finding("classes in another order", "mistake", self.where, evidence, remedy, gain)

    def _rows(self) -> Finding | None:
        best, finding = 0.0, None
        claimed = float(self.p[self.known].max(axis=1).mean())
        doubtful = self.share(self.right) < claimed - BETTER_ROWS
        for order in possible_orders(self.path, self.sheet, sorted_by_columns=doubtful):
            other = self._right(order)
            gain = self._gain(other)
            if gain >= max(BETTER_ROWS, best + 1e-9):
                best = gain
                evidence = {
                    "agreement with the given labels": self.share(self.right),
                    f"{order.words}": self.share(other),
                }
                remedy = f"they fit {order.words}: bring both files into the same order, or match them by --id COLUMN"
                finding = Finding("misaligned labels", "mistake", self.where, evidence, remedy, gain)
        return finding

    def _gain(self, other: np.ndarray) -> float:
        """By how much the share of right rows is larger in the other way, 0 where that may be chance."""
        more, less = int((other & ~self.right).sum()), int((self.right & ~other).sum())
        if more + less == 0 or (more - less) / np.sqrt(more + less) < SURE:
            return 0.0
        return (more - less) / len(self.known)

    def share(self, right: np.ndarray) -> float:
        return float(right[self.known].mean()) if len(self.known) else 0.0

    def _strangers(self, id_column: str | None) -> Finding | None:
        """Labels that agree with the given ones no better than at random, though they claim to."""
        rows = self.known
        count, classes = len(rows), self.p.shape[1]
        said, given = (np.bincount(part, minlength=classes) for part in (self.said[rows], self.truth[rows]))
        mean = float(said @ given) / count
        apart = np.eye(classes) - given[:, None] / count - said[None, :] / count + mean / count
        deviation = float(np.sqrt((said[:, None] * given[None, :] * apart**2).sum() / (count - 1)))
        claimed = float(self.p[rows].max(axis=1).sum())
        found = int(self.right[rows].sum())
        if deviation == 0 or found - mean > DEVIATIONS * deviation or claimed - found <= DEVIATIONS * deviation:
            return None
        evidence = {"agreement with the given labels": found / count, "if dealt out at random": mean / count,
                    "what they claim": claimed / count}  # fmt: skip
        remedy = "they are of other rows, or of these in another order: "
        remedy += "match them by --id COLUMN, or ask the teacher again" if id_column is None else "check the ids"
        return Finding("misaligned labels", "mistake", self.where, evidence, remedy, 1.0)

    def softmaxed_twice(self) -> Finding | None:
        logs, rows = log_softmax(self.answers.logits, axis=1), self.known
        undone = [logs + (1 - logs.sum(axis=1, keepdims=True)) / self.p.shape[1]]
        if self.p.shape[1] == 2:  # a sigmoid of a probability
            odds = logs[:, 1] - logs[:, 0]
            undone.append(np.stack([1 - odds, odds], axis=1))
        for inner in undone:
            if not (inner.min() >= -TOLERANCE and inner.max() <= 1 + TOLERANCE) or len(rows) < 2:
                continue
            gain = np.log(np.maximum(inner[rows, self.truth[rows]], LEAST)) - logs[rows, self.truth[rows]]
            spread = float(gain.std(ddof=1)) / np.sqrt(len(rows))
            if spread == 0 or float(gain.mean()) / spread < DEVIATIONS:
                continue
            right = float((inner.argmax(axis=1) == self.truth)[rows].mean())
            evidence = {"highest probability": float(self.p.max()), "with one softmax undone": float(inner.max()),
                        "agreement with the given labels then": right}  # fmt: skip
            remedy = "they went through softmax twice: write the probabilities of the first one, or the logits"
            return Finding("softmaxed twice", "mistake", self.where, evidence, remedy)
        return None
