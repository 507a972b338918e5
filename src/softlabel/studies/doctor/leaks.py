"""A column that predicts the label while all others together do not: it is probably known only once the label is.

Every column is compared with the label separately, on a sample of the rows. First, with the rows sorted by the column,
the share of rows with a neighbor of the same class is computed (mean over the classes). Columns where it is nearly one
are passed to a decision tree on this column only, which predicts each row from the others (five folds). Such a tree
detects copies of the label in any coding, as words or numbers, as well as ids and times that are sorted by it.

A column is suspicious if its tree is correct on 98% of the rows (mean over the classes), significantly more often than
the most frequent class. It is reported if the better of a forest and a linear classifier on all columns that are not
suspicious is 5 points worse, and significantly so (one-sided McNemar test). Ordinary data with a strong column are not
reported, because other columns carry the same information there, as in iris and breast cancer; neither are data in
which more than a quarter of the columns would be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.sheets import UNKNOWN, Sheet

ROWS, FEWEST_ROWS, FOLDS = 2_000, 30, 5
WITH_NEIGHBORS, RIGHT, WORSE, CHANCE = 0.9, 0.98, 0.05, 1e-4
MOST_TRIED, MOST_SHARE = 50, 0.25
_BLOCK = 256


def one_column_leaks(sheet: Sheet, besides: Sequence[str] = ()) -> Iterator[Finding]:
    """Columns of the training rows that reveal the label, except those that are reported already."""
    columns = [column for column in sheet.columns if column not in besides and not _is_left_out(sheet, column)]
    sample = _Sample.from_sheet(sheet, columns)
    if sample is None or len(columns) < 2:
        return
    suspects = {k: predicted for k in sample.promising() if sample.suspicious(predicted := sample.tree(k))}
    if not suspects or len(suspects) > max(1, MOST_SHARE * len(columns)):
        return
    reference = sample.others([k for k in range(len(columns)) if k not in suspects])
    for k, predicted in suspects.items():
        if not sample.better(predicted, reference):
            continue
        column = columns[k]
        share, other = sample.share(predicted), sample.share(reference)
        wrong = int((predicted != sample.labels).sum())
        where = {"file": str(sheet.path), "column": column}
        evidence = {
            "rows tried": len(sample.labels), "wrong by this column alone": wrong,
            "wrong by all other columns": int((reference != sample.labels).sum()),
            "share right by this column (mean over classes)": share, "by all other columns": other,
        }  # fmt: skip
        remedy = (
            f"find out whether '{column}' is known before the label: if it is recorded with the label or after it, or "
            f"sorted by it, `drop` '{column}'"
        )
        severity = "mistake" if wrong <= len(sheet.classes) else "hint"  # one at each border between classes
        yield Finding("one column tells the label", severity, where, evidence, remedy, share - other)


def _is_left_out(sheet: Sheet, column: str) -> bool:
    return column in sheet.plans and sheet.plans[column].kind == "dropped"


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some rows in random order: inputs (n, d) and class indices (n,), every class with a row for each fold."""

    inputs: np.ndarray
    labels: np.ndarray

    @classmethod
    def from_sheet(cls, sheet: Sheet, columns: Sequence[str]) -> "_Sample | None":
        """A sample of the rows; None if there are too few."""
        known = np.flatnonzero(sheet.labels != UNKNOWN)
        taken = np.random.default_rng(0).permutation(known)[:ROWS]
        labels = sheet.labels[taken]
        kept = np.isin(labels, np.flatnonzero(np.bincount(labels) >= FOLDS))
        taken, labels = taken[kept], labels[kept]
        if len(labels) < FEWEST_ROWS or len(np.unique(labels)) < 2:
            return None
        table = sheet.select(columns)[taken]
        return cls(np.nan_to_num(table, posinf=3e38, neginf=-3e38), np.unique(labels, return_inverse=True)[1])

    def promising(self) -> list[int]:
        """Columns in whose order nearly all rows have a neighbor of their class, the most promising first."""
        shares = np.concatenate([
            self._with_neighbors(self.inputs[:, start : start + _BLOCK])
            for start in range(0, self.inputs.shape[1], _BLOCK)
        ])  # fmt: skip
        order = np.argsort(-shares, kind="stable")[:MOST_TRIED]
        return [k for k in order.tolist() if shares[k] >= WITH_NEIGHBORS]

    def _with_neighbors(self, block: np.ndarray) -> np.ndarray:
        labels = self.labels[np.argsort(block, axis=0, kind="stable")]  # equal values keep their random order
        same = labels[1:] == labels[:-1]
        edge = np.zeros((1, block.shape[1]), dtype=bool)
        near = np.concatenate([same, edge]) | np.concatenate([edge, same])
        counts = np.bincount(self.labels)
        return np.mean([(near & (labels == one)).sum(axis=0) / counts[one] for one in range(len(counts))], axis=0)

    def tree(self, column: int) -> np.ndarray:
        """The class of each row, predicted from this column and other rows."""
        return self._predicted(DecisionTreeClassifier(random_state=0), self.inputs[:, [column]])

    def others(self, columns: Sequence[int]) -> np.ndarray:
        """The same from all of these columns, by the better of a forest and a linear classifier."""
        if not columns:
            return np.full(len(self.labels), np.bincount(self.labels).argmax())
        models = (
            ExtraTreesClassifier(100, random_state=0),
            make_pipeline(StandardScaler(), RidgeClassifier()),
        )
        table = np.clip(self.inputs[:, columns].astype(np.float64), -1e15, 1e15)
        return max((self._predicted(model, table) for model in models), key=self.share)

    def _predicted(self, model: BaseEstimator, table: np.ndarray) -> np.ndarray:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        return np.asarray(cross_val_predict(model, table, self.labels, cv=folds))

    def share(self, predicted: np.ndarray) -> float:
        """Share of correct rows, mean over the classes."""
        right = np.bincount(self.labels, predicted == self.labels)
        return float((right / np.bincount(self.labels)).mean())

    def suspicious(self, predicted: np.ndarray) -> bool:
        """Whether nearly all rows are correct, significantly more than by chance."""
        right, rows = int((predicted == self.labels).sum()), len(self.labels)
        frequent = np.bincount(self.labels).max() / rows
        by_chance = float(binom.sf(right - 1, rows, frequent)) * self.inputs.shape[1]
        return self.share(predicted) >= RIGHT and by_chance < CHANCE

    def better(self, predicted: np.ndarray, other: np.ndarray) -> bool:
        """Whether the first prediction is better than the second by `WORSE`, and significantly so."""
        first = int(((predicted == self.labels) & (other != self.labels)).sum())
        second = int(((predicted != self.labels) & (other == self.labels)).sum())
        by_chance = float(binom.sf(first - 1, first + second, 0.5)) if first else 1.0
        return self.share(predicted) - self.share(other) >= WORSE and by_chance < CHANCE
