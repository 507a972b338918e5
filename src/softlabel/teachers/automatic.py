"""The teacher that is trained here: of a wide network, boosted trees and a forest the one with the lowest loss.

The loss is the log loss on the validation rows. The training rows are labeled out of fold: each fold by a model with
the same settings that was trained on the other folds, so that no label was memorized. All other rows are labeled by the
model trained on all training rows. The logits of every network and forest, including those of the folds, are divided by
a temperature fitted on the validation rows.

Each model is a separate piece (`teachers.pieces`) with its predictions and settings, so that an interrupted training
continues after the last finished model.
"""

import logging
import math
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from softlabel.data.problem import Problem
from softlabel.data.splits import split
from softlabel.errors import require
from softlabel.networks import Labels, Student, TwoLayer, Validation, train_students
from softlabel.teachers.audit import best_temperature, log_loss
from softlabel.teachers.pieces import Keep, Piece, without_keeping
from softlabel.teachers.predictions import TeacherPredictions, call_milliseconds, teacher_columns
from softlabel.teachers.reading import log_probabilities
from softlabel.teachers.sizes import fitted_parameters

log = logging.getLogger("softlabel")

WIDTH = 512
LEARNING_RATES = (0.03, 0.1)  # of Adam; the one with the lower validation loss is used
UPDATES, CHECKS, PATIENCE = 1000, 40, 15
MANY_ROWS, MANY_EPOCHS, MANY_CHECKS = 20_000, 6, 12
ROUNDS = 100
MOST_TREE_WORK = 2e7
FOREST, LEAVES = 100, (1, 5)  # trees, and smallest leaves of which the one with the lower validation loss is used
LARGE, LARGE_FOREST, LARGE_LEAF = 2000, 50, 2  # rows above which there are fewer trees and one smallest leaf
TREE_ROWS = 5000  # most rows of one tree of a forest
FEWEST_ROWS = 20


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Boosted trees; a class that is not among their rows gets the lowest probability."""

    problem: Problem
    model: HistGradientBoostingClassifier
    rounds: int
    leaf: int
    kind: str = "probabilities"
    together: ClassVar[bool] = False

    @classmethod
    def fit(cls, problem: Problem, rows: np.ndarray, rounds: int, leaf: int, seed: int) -> "BoostedTrees":
        model = HistGradientBoostingClassifier(
            max_iter=rounds,
            early_stopping=False,  # pyright: ignore[reportArgumentType]
            min_samples_leaf=leaf,
            random_state=seed,
        )
        return cls(problem, model.fit(problem.X[rows], problem.y[rows]), rounds, leaf)

    @classmethod
    def best(cls, problem: Problem, rows: np.ndarray, seed: int) -> "BoostedTrees":
        """With the number of rounds that has the lowest log loss on the validation rows."""
        leaf = min(20, max(2, len(rows) // 30))
        trees = cls.fit(problem, rows, ROUNDS, leaf, seed)
        stages = trees.model.staged_predict_proba(problem.validation.X)
        losses = [log_loss(trees._logits(table), problem.validation.y) for table in stages]
        rounds = int(np.argmin(losses)) + 1
        return trees if rounds == ROUNDS else cls.fit(problem, rows, rounds, leaf, seed)

    @classmethod
    def refit(
        cls, problem: Problem, learned: list[np.ndarray], seed: int, settings: dict[str, Any]
    ) -> "list[BoostedTrees]":
        """Trees for each of these sets of rows, with the settings of another model."""
        return [cls.fit(problem, rows, settings["rounds"], settings["leaf"], seed) for rows in learned]

    @property
    def settings(self) -> dict[str, Any]:
        return {"rounds": self.rounds, "leaf": self.leaf}

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        return self._logits(self.model.predict_proba(inputs))

    def _logits(self, probabilities: Any) -> np.ndarray:
        table = np.zeros((len(probabilities), len(self.problem.classes)))
        table[:, np.asarray(self.model.classes_)] = probabilities
        return log_probabilities(table)

    @property
    def parameters(self) -> int:
        return fitted_parameters(self.model) or 0

    def __str__(self) -> str:
        return f"boosted trees ({self.rounds} round{'s' if self.rounds != 1 else ''})"


@dataclass(frozen=True, eq=False)
class RandomForest:
    """A random forest, its logits divided by a temperature; a class that is not among its rows gets few votes.

    With p the mean vote of N trees, the logits of K classes are ln((N p + 1) / (N + K)).
    """

    problem: Problem
    model: RandomForestClassifier
    temperature: float
    leaf: int
    kind: str = "probabilities"
    together: ClassVar[bool] = False

    @classmethod
    def best(
        cls, problem: Problem, rows: np.ndarray, seed: int, leaves: tuple[int, ...] | None = None
    ) -> "RandomForest":
        """With the smallest leaf that has the lowest log loss on the validation rows."""
        fitted = []
        for leaf in leaves or (LEAVES if len(rows) <= LARGE else (LARGE_LEAF,)):
            model = RandomForestClassifier(
                FOREST if len(rows) <= LARGE else LARGE_FOREST,
                min_samples_leaf=leaf,
                max_samples=min(TREE_ROWS, len(rows)),
                random_state=seed,
            ).fit(problem.X[rows], problem.y[rows])
            plain = cls(problem, model, 1.0, leaf)
            logits, labels = plain.logits(problem.validation.X), problem.validation.y
            temperature = best_temperature(logits, labels, prior=1.0)
            fitted.append((log_loss(logits / temperature, labels), cls(problem, model, temperature, leaf)))
        return min(fitted, key=lambda pair: pair[0])[1]

    @classmethod
    def refit(
        cls, problem: Problem, learned: list[np.ndarray], seed: int, settings: dict[str, Any]
    ) -> "list[RandomForest]":
        """A forest for each of these sets of rows, with the settings of another model, but a temperature of its own."""
        return [cls.best(problem, rows, seed, (settings["leaf"],)) for rows in learned]

    @property
    def settings(self) -> dict[str, Any]:
        return {"leaf": self.leaf, "temperature": self.temperature}

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        trees, classes = len(self.model.estimators_), len(self.problem.classes)
        votes = np.zeros((len(inputs), classes))
        votes[:, np.asarray(self.model.classes_)] = self.model.predict_proba(inputs)
        return np.log((trees * votes + 1) / (trees + classes)) / self.temperature

    @property
    def parameters(self) -> int:
        return fitted_parameters(self.model) or 0

    def __str__(self) -> str:
        return f"a random forest ({len(self.model.estimators_)} trees)"


@dataclass(frozen=True, eq=False)
class WideNetwork:
    """A two-layer network on scaled inputs, its logits divided by a temperature."""

    problem: Problem
    network: TwoLayer
    temperature: float
    learning_rate: float
    kind: str = "logits"
    together: ClassVar[bool] = True

    @classmethod
    def best(
        cls, problem: Problem, rows: np.ndarray, seed: int, learning_rates: tuple[float, ...] = LEARNING_RATES
    ) -> "WideNetwork":
        """Trained with each of the learning rates; the one with the lowest log loss on the validation rows."""
        fitted = cls._train(problem, rows, seed, learning_rates)
        return min(fitted, key=lambda pair: pair[0])[1]

    @classmethod
    def refit(
        cls, problem: Problem, learned: list[np.ndarray], seed: int, settings: dict[str, Any]
    ) -> "list[WideNetwork]":
        """One network for each of these sets of rows, with the settings of another model, but a temperature of its own.

        They are trained together on all rows; the rows that one of them does not learn weigh nothing for it.
        """
        rows = np.unique(np.concatenate(learned))
        weights = np.stack([np.isin(rows, own) for own in learned], axis=1).astype(float)
        rates = (settings["learning_rate"],) * len(learned)
        return [network for _, network in cls._train(problem, rows, seed, rates, weights)]

    @classmethod
    def _train(
        cls,
        problem: Problem,
        rows: np.ndarray,
        seed: int,
        learning_rates: tuple[float, ...],
        weights: np.ndarray | None = None,
    ) -> "list[tuple[float, WideNetwork]]":
        """A network for each learning rate, with its log loss on the validation rows; `weights` is (rows, networks)."""
        inputs, labels = problem.validation.scaled, problem.validation.y
        batch_size, epochs = training_length(len(rows))
        checks = MANY_CHECKS if len(rows) > MANY_ROWS else CHECKS
        every = max(1, epochs * math.ceil(len(rows) / batch_size) // checks)
        run = train_students(
            problem.scaler.apply(problem.X[rows]),
            [
                Student(
                    width=WIDTH, seed=seed, init="he", learning_rate=rate, radius=None, train_output=True, biases=True
                )
                for rate in learning_rates
            ],
            _hard(problem.y[rows], len(problem.classes)),
            sample_weight=weights,
            epochs=epochs,
            batch_size=batch_size,
            seed=seed,
            optimizer="adam",
            schedule="cosine",
            validation=Validation(inputs, labels, every=every, patience=PATIENCE),
        )
        fitted = []
        for student in run:
            logits = teacher_columns(student.network.logits(inputs))
            temperature = best_temperature(logits, labels, prior=1.0)
            network = cls(problem, student.network, temperature, student.settings.learning_rate)
            fitted.append((log_loss(logits / temperature, labels), network))
        return fitted

    @property
    def settings(self) -> dict[str, Any]:
        return {"learning_rate": self.learning_rate, "temperature": self.temperature}

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        return teacher_columns(self.network.logits(self.problem.scaler.apply(inputs))) / self.temperature

    @property
    def parameters(self) -> int:
        return self.network.parameters

    def __str__(self) -> str:
        return f"a network of width {WIDTH}"


# Each has `best`, `logits` (n, K) for unscaled inputs (n, d), and `settings`, which `refit` of its class needs to train
# other models like it, one for each set of rows; `together` says whether it trains them all at once.
MODELS: dict[str, type[WideNetwork] | type[BoostedTrees] | type[RandomForest]] = {
    "network": WideNetwork,
    "trees": BoostedTrees,
    "forest": RandomForest,
}


def specification(seed: int) -> dict[str, Any]:
    """Everything besides the problem that the trained teacher depends on."""
    return {
        "teacher": "auto", "version": 3, "seed": seed, "width": WIDTH, "steps": list(LEARNING_RATES),
        "updates": UPDATES, "checks": CHECKS, "patience": PATIENCE, "many": [MANY_ROWS, MANY_EPOCHS, MANY_CHECKS],
        "rounds": ROUNDS, "most_tree_work": MOST_TREE_WORK, "forest": [FOREST, *LEAVES],
        "large_forest": [LARGE, LARGE_FOREST, LARGE_LEAF, TREE_ROWS],
    }  # fmt: skip


def train_automatic_teacher(
    problem: Problem, *, transfer: np.ndarray | None = None, seed: int = 0, keep: Keep = without_keeping
) -> TeacherPredictions:
    """Train a teacher on the problem's training rows and query it for all rows, and for unlabeled ones (u, d).

    keep    gets the predictions of every model as soon as it is trained, see `teachers.pieces`
    """
    train = problem.train.rows
    require(
        len(train) >= FEWEST_ROWS,
        f"'{problem.name}' has {len(train)} training rows, teacher 'auto' needs {FEWEST_ROWS}: collect more, or use a "
        "trained teacher",
    )
    work, notes = len(train) * problem.X.shape[1] * len(problem.classes), []
    names = [name for name in MODELS if name != "trees" or work <= MOST_TREE_WORK]
    doing = {
        "network": f"training a network of width {WIDTH}",
        "trees": "growing boosted trees",
        "forest": "growing a random forest",
    }
    candidates: list[tuple[str, Piece]] = []
    for name in names:
        log.info("teacher: %s on %s rows", doing.get(name, "training a random forest"), f"{len(train):,}")
        candidates.append((name, keep(name, lambda name=name: _full_piece(name, problem, transfer, seed))))
    candidates.sort(key=lambda pair: pair[1].facts["loss"])
    if "trees" not in names:
        notes.append(
            f"boosted trees are left out: {len(train):,} rows × {problem.X.shape[1]:,} columns × "
            f"{len(problem.classes)} classes are more than {MOST_TREE_WORK:,.0f}"
        )
    model, chosen = candidates[0]
    if "temperature" in chosen.facts["settings"]:
        notes.append(
            f"the {model}'s logits are divided by {chosen.facts['settings']['temperature']:.3g}, a temperature fitted "
            f"on the validation rows; those of each fold's {model} by its own"
        )
    logits = chosen.arrays["logits"].copy()
    folds, alone = _folds(problem.train.y, seed)
    seconds = sum(piece.facts["seconds"] for _, piece in candidates)
    seconds += _label_folds(logits, folds, model, chosen.facts, problem, seed, keep)
    if alone:
        notes.append(f"{alone} training rows are the only ones of their class: their labels are not out of fold")
    others = "".join(f" ({piece.facts['description']}: {piece.facts['loss']:.4f})" for _, piece in candidates[1:])
    return TeacherPredictions(
        logits,
        f"trained here: {chosen.facts['description']}, log loss {chosen.facts['loss']:.4f} on validation rows{others}; "
        f"{len(folds)} folds",
        chosen.facts["kind"],
        out_of_fold=True,
        transfer=None if transfer is None else chosen.arrays["transfer"],
        seconds=seconds,
        milliseconds=chosen.facts["milliseconds"],
        parameters=chosen.facts["parameters"],
        notes=tuple(notes),
    )


def _label_folds(
    logits: np.ndarray,
    folds: list[np.ndarray],
    model: str,
    facts: dict[str, Any],
    problem: Problem,
    seed: int,
    keep: Keep,
) -> float:
    """Replace the logits of each fold by those of a model trained on the other folds; returns the seconds it took."""
    train, seconds = problem.train.rows, 0.0
    models = _FoldModels(model, facts["settings"], problem, folds, seed)
    for number, fold in enumerate(folds):
        log.info("teacher: labeling fold %d of %d by %s", number + 1, len(folds), facts["description"])
        piece = keep(f"fold-{number + 1}-of-{len(folds)}", lambda number=number: models.piece(number))
        logits[train[fold]] = piece.arrays["logits"]
        seconds += piece.facts["seconds"]
    return seconds


def _full_piece(model: str, problem: Problem, transfer: np.ndarray | None, seed: int) -> Piece:
    """A model trained on all training rows: its predictions for all rows, and its facts."""
    began = time.perf_counter()
    fitted = MODELS[model].best(problem, problem.train.rows, seed)
    arrays = {"logits": fitted.logits(problem.X)}
    if transfer is not None:
        arrays["transfer"] = fitted.logits(transfer)
    facts = {
        "loss": log_loss(fitted.logits(problem.validation.X), problem.validation.y), "settings": fitted.settings,
        "description": str(fitted), "kind": fitted.kind, "parameters": fitted.parameters,
        "milliseconds": call_milliseconds(lambda: fitted.logits(problem.X[:1])),
        "seconds": time.perf_counter() - began,
    }  # fmt: skip
    return Piece(arrays, facts)


class _FoldModels:
    """The models of the folds, each trained on the other folds with the settings of the model of all rows.

    Models that train together are all trained with the first fold that is asked for.
    """

    def __init__(
        self, model: str, settings: dict[str, Any], problem: Problem, folds: list[np.ndarray], seed: int
    ) -> None:
        self.problem, self.labeled = problem, [problem.train.rows[fold] for fold in folds]
        every = np.arange(len(problem.train.rows))
        self._together = MODELS[model].together
        self._learned = [problem.train.rows[np.setdiff1d(every, fold)] for fold in folds]
        self._refit = partial(MODELS[model].refit, problem, seed=seed, settings=settings)
        self._trained: list[Any] = []

    def piece(self, number: int) -> Piece:
        """Predictions for the rows of a fold of the model that was trained on the others."""
        began = time.perf_counter()
        if not self._together:
            (fitted,) = self._refit([self._learned[number]])
        else:
            self._trained = self._trained or self._refit(self._learned)
            fitted = self._trained[number]
        logits = fitted.logits(self.problem.X[self.labeled[number]])
        return Piece({"logits": logits}, {"seconds": time.perf_counter() - began})


def training_length(rows: int) -> tuple[int, int]:
    """Batch size and epochs of a network: about a thousand steps, or six epochs for many rows."""
    if rows > MANY_ROWS:
        return 256, MANY_EPOCHS
    batch_size = min(128, rows)
    return batch_size, max(MANY_EPOCHS, math.ceil(UPDATES / math.ceil(rows / batch_size)))


def _folds(labels: np.ndarray, seed: int) -> tuple[list[np.ndarray], int]:
    """Positions of each fold among the training rows, stratified by class, and the number of rows in no fold.

    The only row of a class is used for training in every fold: without it the model would not know the class.
    """
    dealt = np.flatnonzero(np.bincount(labels)[labels] > 1)
    number = 3 if len(labels) > MANY_ROWS else 5
    parts = split(len(dealt), (1 / number,) * number, seed, labels[dealt], salt=0)
    return [dealt[part] for part in parts], len(labels) - len(dealt)


def _hard(labels: np.ndarray, classes: int) -> Labels:
    """Hard labels of class numbers, some of which may be absent."""
    return Labels("hard", np.where(labels == 1, 1.0, -1.0) if classes == 2 else np.eye(classes)[labels])
