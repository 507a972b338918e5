"""One column that tells the label, where all others together do not: likely known only once the label is.

Every column is held against the label alone. Of a sample of the rows it is first asked, in the order of the column's
values, how many rows have a neighbour of their own class (the mean over the classes); columns in which nearly all have
are given to a decision tree of that one column, which predicts each row from the others (five folds). A tree of one
column tells copies of the label in any coding, words and numbers alike, as well as ids and times that are sorted by it.

A column whose tree is right in 98 % of the rows (mean over the classes), more often than the most frequent class is by
more than chance, is under suspicion. It is named where the best of a forest and a linear classifier of all columns that
are not under suspicion is 5 points worse, and so by more than chance (one-sided McNemar test). Ordinary data with a
strong column are not named, since there other columns carry what it says as well, as in iris and breast cancer; neither
are data of which more than a quarter of the columns would be.
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
WITH_NEIGHBOURS, RIGHT, WORSE, CHANCE = 0.9, 0.98, 0.05, 1e-4
MOST_TRIED, MOST_SHARE = 50, 0.25
_BLOCK = 256


def one_column_leaks(sheet: Sheet, besides: Sequence[str] = ()) -> Iterator[Finding]:
    """Columns of the training rows that tell the label, apart from those that are named already."""
    columns = [column for column in sheet.columns if column not in besides]
    sample = _Sample.of(sheet, columns)
    if sample is None or len(columns) < 2:
        return
    suspects = {place: said for place in sample.promising() if sample.suspicious(said := sample.tree(place))}
    if not suspects or len(suspects) > max(1, MOST_SHARE * len(columns)):
        return
    others = [place for place in range(len(columns)) if place not in suspects]
    reached = sample.others(others)
    for place, said in suspects.items():
        if not sample.better(said, reached):
            continue
        column = columns[place]
        share, other = sample.share(said), sample.share(reached)
        wrong = int((said != sample.labels).sum())
        where = {"file": str(sheet.path), "column": column}
        evidence = {
            "rows tried": len(sample.labels), "wrong by this column alone": wrong,
            "wrong by all other columns": int((reached != sample.labels).sum()),
            "share right by this column (mean over classes)": share, "by all other columns": other,
        }  # fmt: skip
        remedy = (
            f"find out whether '{column}' is known before the label is: if it is written down with the label or after "
            f"it, or sorted by it, leave it out: --drop {column}"
        )
        severity = "mistake" if wrong <= len(sheet.classes) else "hint"  # one at each border between classes
        yield Finding("one column tells the label", severity, where, evidence, remedy, share - other)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some rows in random order: inputs (n, d) and class numbers (n,), every class with a row for each fold."""

    inputs: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, sheet: Sheet, columns: Sequence[str]) -> "_Sample | None":
        """A sample of the rows; None where they are too few to tell anything."""
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
        """Columns in whose order nearly all rows have a neighbour of their class, the most promising first."""
        shares = np.concatenate([
            self._with_neighbours(self.inputs[:, start : start + _BLOCK])
            for start in range(0, self.inputs.shape[1], _BLOCK)
        ])  # fmt: skip
        order = np.argsort(-shares, kind="stable")[:MOST_TRIED]
        return [place for place in order.tolist() if shares[place] >= WITH_NEIGHBOURS]

    def _with_neighbours(self, block: np.ndarray) -> np.ndarray:
        labels = self.labels[np.argsort(block, axis=0, kind="stable")]  # equal values in the sample's random order
        same = labels[1:] == labels[:-1]
        edge = np.zeros((1, block.shape[1]), dtype=bool)
        near = np.concatenate([same, edge]) | np.concatenate([edge, same])
        counts = np.bincount(self.labels)
        return np.mean([(near & (labels == one)).sum(axis=0) / counts[one] for one in range(len(counts))], axis=0)

    def tree(self, place: int) -> np.ndarray:
        """The class of each row, predicted from this column and other rows."""
        return self._predicted(DecisionTreeClassifier(random_state=0), self.inputs[:, [place]])

    def others(self, places: Sequence[int]) -> np.ndarray:
        """The same from all of these columns, by the better of a forest and a linear classifier."""
        if not places:
            return np.full(len(self.labels), np.bincount(self.labels).argmax())
        models = (
            ExtraTreesClassifier(100, random_state=0),
            make_pipeline(StandardScaler(), RidgeClassifier()),
        )
        table = np.clip(self.inputs[:, places].astype(np.float64), -1e15, 1e15)
        return max((self._predicted(model, table) for model in models), key=self.share)

    def _predicted(self, model: BaseEstimator, table: np.ndarray) -> np.ndarray:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        return np.asarray(cross_val_predict(model, table, self.labels, cv=folds))

    def share(self, said: np.ndarray) -> float:
        """Share that is right, the mean over the classes."""
        right = np.bincount(self.labels, said == self.labels)
        return float((right / np.bincount(self.labels)).mean())

    def suspicious(self, said: np.ndarray) -> bool:
        """Nearly always right, and so by more than chance."""
        right, rows = int((said == self.labels).sum()), len(self.labels)
        frequent = np.bincount(self.labels).max() / rows
        by_chance = float(binom.sf(right - 1, rows, frequent)) * self.inputs.shape[1]
        return self.share(said) >= RIGHT and by_chance < CHANCE

    def better(self, said: np.ndarray, other: np.ndarray) -> bool:
        """Whether the first is right where the second is not, by a margin and by more than chance."""
        first = int(((said == self.labels) & (other != self.labels)).sum())
        second = int(((said != self.labels) & (other == self.labels)).sum())
        by_chance = float(binom.sf(first - 1, first + second, 0.5)) if first else 1.0
        return self.share(said) - self.share(other) >= WORSE and by_chance < CHANCE
