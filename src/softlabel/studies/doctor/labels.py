"""Mistakes in a teacher's labels: of other rows, of other classes, of the wrong kind, without information.

The teacher's predicted classes are compared with the labels of the data. Two ways to align them are compared on the
rows on which they differ (McNemar): with b rows correct only in the second way and c only in the first,
z = (b − c)/√(b + c). Another order of rows (shifted by up to ten, reversed, sorted by the label or by a column, matched
by a common column) or of classes is reported if z ≥ 5 and it is correct on 5 (classes: 10) points more of the rows.
Labels that no known order aligns are misaligned if they agree with the labels of the data no better than a random
permutation (within 3 standard deviations), although they claim 3 standard deviations more than that.

Probabilities that went through a second softmax are p = softmax(r) with 0 ≤ r ≤ 1 and Σ r = 1, and r can be recovered:

    r = ln p + (1 − Σ ln p)/K

They are reported if every r is in [0, 1], and r predicts the labels of the data better than p by 3 standard deviations
of the mean log-likelihood.

Labels that name one class for nearly every row, although the data have others, have collapsed if they also rank rows no
better than chance (AUC). A good teacher of a rare class predicts it for few rows or none; its labels are shifted only
if the mean probability of the other class is above its share by more than 5 points.
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
from softlabel.teachers.audit import HARD_ENTROPY, HARD_PROBABILITY, NEARLY_ALL, SHIFTED
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.ranking import ranking

SURE, BETTER_ROWS, BETTER_CLASSES = 5.0, 0.05, 0.1
SAME = 1e-3
TOLERANCE = 1e-4
LEAST = 1e-3
AGREEMENT = "agreement with the labels of the data"


def examine_labels(path: Path, sheets: Sequence[Sheet], id_column: str | None) -> Iterator[Finding]:
    """Mistakes in a file of labels for the rows of one of these data files."""
    matching, findings = matching_sheets(path, sheets, id_column)
    yield from findings
    if not matching:
        return
    numbers = class_numbers(path, matching[0])
    if numbers is not None:
        yield numbers
        return
    predictions, findings = read_any_kind(path, matching[0], id_column)
    yield from findings
    if predictions is None:
        return
    labels = max((_LabelFile(path, sheet, predictions) for sheet in matching), key=lambda one: one.share(one.right))
    if (finding := labels.read_as_logits()) is not None:
        yield finding
        return
    if (finding := labels.hard()) is not None:
        yield finding
    finding = labels.softmaxed_twice() or labels.collapsed() or labels.misplaced(id_column)
    if finding is not None:
        yield finding


class _LabelFile:
    """A file of labels and the data that it labels, with one method per mistake."""

    def __init__(self, path: Path, sheet: Sheet, predictions: TeacherPredictions) -> None:
        self.path, self.sheet, self.predictions = path, sheet, predictions
        self.known = np.flatnonzero(sheet.labels != UNKNOWN)
        self.truth = sheet.labels
        self.p = predictions.probabilities
        self.predicted = self.p.argmax(axis=1)
        self.right = self._right(Order("", self.known, self.known))
        self.where = {"file": str(path), "data": str(sheet.path)}

    def read_as_logits(self) -> Finding | None:
        """Numbers in [0, 1] that are read as logits."""
        if self.predictions.kind != "logits":
            return None
        table = as_written(self.predictions.logits)
        if table.min() < 0 or table.max() > 1:
            return None
        evidence = number_range(table)
        if table.shape[1] > 1:
            evidence["sum of a row"] = float(np.median(table.sum(axis=1)))
        evidence["largest probability, read as logits"] = float(self.p.max())
        remedy = "name the columns p_CLASS, or make each row sum to 1; as logits they are nearly uniform"
        return Finding("probabilities given as logits", "mistake", self.where, evidence, remedy)

    def collapsed(self) -> Finding | None:
        """Labels that name one class for nearly every row: without information, or shifted toward this class."""
        shares = np.bincount(self.predicted, minlength=self.p.shape[1]) / len(self.p)
        actual = np.bincount(self.truth[self.known], minlength=self.p.shape[1]) / max(1, len(self.known))
        most = int(shares.argmax())
        widest = float(np.ptp(self.p, axis=0).max())
        same = len(self.p) > 1 and widest < SAME
        if not same and not (len(self.known) and shares[most] > NEARLY_ALL >= actual[most]):
            return None
        evidence = {f"share of rows labeled '{self.sheet.classes[most]}'": float(shares[most]),
                    "its share in the data": float(actual[most]),
                    "largest range of a class probability": widest}  # fmt: skip
        area, ranks = ranking(self.p[self.known], self.truth[self.known])
        if same or not ranks:
            evidence["AUC"] = area
            what = "are the same for every row" if same else "rank rows no better than chance"
            remedy = f"the labels {what}: query the teacher again on these rows, with inputs scaled as in its training"
            return Finding("collapsed labels", "mistake", self.where, evidence, remedy)
        mean = float(self.p[:, most].mean())
        if mean - actual[most] <= SHIFTED:
            return None
        evidence |= {"its mean probability": mean, "AUC": area}
        remedy = (
            "the labels rank rows, but give too much probability to this class: query a teacher that was trained with "
            "the class shares of these data and without class weights"
        )
        return Finding("labels shifted toward one class", "mistake", self.where, evidence, remedy, mean - actual[most])

    def hard(self) -> Finding | None:
        """Labels with hardly any uncertainty."""
        entropy = float(entr(self.p).sum(axis=1).mean() / np.log(self.p.shape[1]))
        sure = float((self.p.max(axis=1) > HARD_PROBABILITY).mean())
        if entropy >= HARD_ENTROPY and sure <= NEARLY_ALL:
            return None
        evidence = {"mean entropy, relative to the maximum": entropy, f"share of rows above {HARD_PROBABILITY}": sure}
        remedy = (
            "they contain no more information than hard labels: write the teacher's probabilities, not its decisions; "
            "if these are its probabilities, write out-of-fold ones"
        )
        return Finding("hard labels", "mistake", self.where, evidence, remedy, sure)

    def misplaced(self, id_column: str | None) -> Finding | None:
        """Labels of other rows, or with their classes in another order."""
        if len(self.known) < FEWEST_ROWS or np.bincount(self.predicted).max() > COLLAPSED * len(self.predicted):
            return None
        classes, rows = self._classes(), self._rows() if id_column is None else None
        if classes is not None and (rows is None or classes.degree >= rows.degree):
            return classes
        return rows or self._strangers(id_column)

    def _right(self, order: Order) -> np.ndarray:
        """Mask (n,) of the rows of the data that are labeled correctly; False for rows without a label."""
        right = np.zeros(len(self.truth), dtype=bool)
        right[order.data] = self.predicted[order.labels] == self.truth[order.data]
        return right

    def _classes(self) -> Finding | None:
        count = self.p.shape[1]
        table = np.zeros((count, count), dtype=np.int64)
        np.add.at(table, (self.predicted[self.known], self.truth[self.known]), 1)
        columns, matched = linear_sum_assignment(-table)
        moved = columns[columns != matched]
        other = np.zeros(len(self.truth), dtype=bool)
        other[self.known] = matched[self.predicted[self.known]] == self.truth[self.known]
        gain = self._gain(other)
        if not len(moved) or gain < BETTER_CLASSES:
            return None
        names = self.sheet.classes
        pairs = ", ".join(f"'{names[k]}' means '{names[matched[k]]}'" for k in moved[:6])
        evidence = {AGREEMENT: self.share(self.right), "with the columns reordered": self.share(other),
                    "columns": pairs + (", …" if len(moved) > 6 else "")}  # fmt: skip
        remedy = f"put the columns into the order of the classes ({quoted(names)}), or name them accordingly"
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
                evidence = {AGREEMENT: self.share(self.right), order.words: self.share(other)}
                remedy = f"they fit {order.words}: put both files into the same order, or match them by `id_column`"
                finding = Finding("misaligned labels", "mistake", self.where, evidence, remedy, gain)
        return finding

    def _gain(self, other: np.ndarray) -> float:
        """Increase of the share of correct rows in the other way, 0 if it may be chance."""
        more, less = int((other & ~self.right).sum()), int((self.right & ~other).sum())
        if more + less == 0 or (more - less) / np.sqrt(more + less) < SURE:
            return 0.0
        return (more - less) / len(self.known)

    def share(self, right: np.ndarray) -> float:
        """Share of correct rows among those with a known class."""
        return float(right[self.known].mean()) if len(self.known) else 0.0

    def _strangers(self, id_column: str | None) -> Finding | None:
        """Labels that agree with those of the data no better than at random, although they claim to."""
        rows = self.known
        count, classes = len(rows), self.p.shape[1]
        predicted, actual = (np.bincount(part, minlength=classes) for part in (self.predicted[rows], self.truth[rows]))
        mean = float(predicted @ actual) / count
        centered = np.eye(classes) - actual[:, None] / count - predicted[None, :] / count + mean / count
        deviation = float(np.sqrt((predicted[:, None] * actual[None, :] * centered**2).sum() / (count - 1)))
        claimed = float(self.p[rows].max(axis=1).sum())
        right = int(self.right[rows].sum())
        if deviation == 0 or right - mean > DEVIATIONS * deviation or claimed - right <= DEVIATIONS * deviation:
            return None
        evidence = {AGREEMENT: right / count, "of a random permutation": mean / count, "claimed": claimed / count}
        remedy = "they belong to other rows, or to these in another order: "
        remedy += "match them by `id_column`, or query the teacher again" if id_column is None else "check the ids"
        return Finding("misaligned labels", "mistake", self.where, evidence, remedy, 1.0)

    def softmaxed_twice(self) -> Finding | None:
        """Probabilities that went through a second softmax or sigmoid."""
        logs, rows = log_softmax(self.predictions.logits, axis=1), self.known
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
            evidence = {"largest probability": float(self.p.max()), "with one softmax undone": float(inner.max()),
                        f"{AGREEMENT} then": right}  # fmt: skip
            remedy = "they went through softmax twice: write the probabilities of the first one, or the logits"
            return Finding("softmaxed twice", "mistake", self.where, evidence, remedy)
        return None
