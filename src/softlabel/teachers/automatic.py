"""The teacher that is trained here: gradient-boosted trees or a wide network, whichever has the lower validation loss.

The training rows are labelled out of fold: each fold by a model of the same settings that learned from the other
folds, so that no label was memorised. All other rows are labelled by the model trained on all training rows. The logits
of every network, each fold's too, are divided by a temperature of its own, fitted on the validation rows.

Each model is a piece of its own (`teachers.pieces`): what it says and the settings that it was trained with, so that an
interrupted training goes on after the last model that was finished.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from softlabel.data.problem import Problem
from softlabel.data.splits import split
from softlabel.errors import require
from softlabel.networks import Labels, Student, TwoLayer, Validation, train_students
from softlabel.teachers.answers import TeacherAnswers, call_milliseconds, floored, teacher_columns
from softlabel.teachers.audit import best_temperature, log_loss
from softlabel.teachers.pieces import Keep, Piece, without_keeping
from softlabel.teachers.sizes import fitted_parameters

WIDTH = 512
STEPS = (0.03, 0.1)  # of Adam; the one with the lower validation loss is kept
UPDATES, CHECKS, PATIENCE = 1000, 40, 15
MANY_ROWS, MANY_EPOCHS, MANY_CHECKS = 20_000, 6, 12
ROUNDS = 100
MOST_TREE_WORK = 2e7
FEWEST_ROWS = 20


class Model(Protocol):
    """A model trained on some of a problem's rows."""

    @property
    def kind(self) -> str:
        """What it gives."""
        ...

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """(n, K) for raw inputs (n, d)."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """What `again` of its class needs to train another one like it, as JSON values."""
        ...

    @property
    def parameters(self) -> int: ...


@dataclass(frozen=True, eq=False)
class Trees:
    """Boosted trees; a class that was not among their rows gets the least probability."""

    problem: Problem
    model: HistGradientBoostingClassifier
    rounds: int
    leaf: int
    seed: int
    kind: str = "probabilities"

    @classmethod
    def fit(cls, problem: Problem, rows: np.ndarray, rounds: int, leaf: int, seed: int) -> "Trees":
        model = HistGradientBoostingClassifier(
            max_iter=rounds,
            early_stopping=False,  # pyright: ignore[reportArgumentType]
            min_samples_leaf=leaf,
            random_state=seed,
        )
        return cls(problem, model.fit(problem.inputs[rows], problem.labels[rows]), rounds, leaf, seed)

    @classmethod
    def best(cls, problem: Problem, rows: np.ndarray, seed: int) -> "Trees":
        """With the number of rounds that has the lowest log loss on the validation rows."""
        leaf = min(20, max(2, len(rows) // 30))
        found, held = cls.fit(problem, rows, ROUNDS, leaf, seed), problem.inputs[problem.parts["validation"]]
        stages = found.model.staged_predict_proba(held)
        losses = [log_loss(found._logits(table), problem.truth("validation")) for table in stages]
        rounds = int(np.argmin(losses)) + 1
        return found if rounds == ROUNDS else cls.fit(problem, rows, rounds, leaf, seed)

    @classmethod
    def again(cls, problem: Problem, rows: np.ndarray, seed: int, settings: dict[str, Any]) -> "Trees":
        """Trained on these rows with the settings of another."""
        return cls.fit(problem, rows, settings["rounds"], settings["leaf"], seed)

    @property
    def settings(self) -> dict[str, Any]:
        return {"rounds": self.rounds, "leaf": self.leaf}

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        return self._logits(self.model.predict_proba(inputs))

    def _logits(self, probabilities: Any) -> np.ndarray:
        table = np.zeros((len(probabilities), len(self.problem.classes)))
        table[:, np.asarray(self.model.classes_)] = probabilities
        return floored(table)

    @property
    def parameters(self) -> int:
        return fitted_parameters(self.model) or 0

    def __str__(self) -> str:
        return f"boosted trees ({self.rounds} rounds)"


@dataclass(frozen=True, eq=False)
class Network:
    """A two-layer network on scaled inputs, its logits divided by a temperature."""

    problem: Problem
    network: TwoLayer
    temperature: float
    step: float
    seed: int
    kind: str = "logits"

    @classmethod
    def best(cls, problem: Problem, rows: np.ndarray, seed: int, steps: tuple[float, ...] = STEPS) -> "Network":
        """Trained with each of the step sizes; the one with the lowest log loss on the validation rows."""
        held, truth = problem.scaled("validation"), problem.truth("validation")
        batch, epochs = training_length(len(rows))
        checks = MANY_CHECKS if len(rows) > MANY_ROWS else CHECKS
        every = max(1, epochs * math.ceil(len(rows) / batch) // checks)
        run = train_students(
            problem.scaler.apply(problem.inputs[rows]),
            [
                Student(width=WIDTH, seed=seed, start="he", step=step, radius=None, train_output=True, biases=True)
                for step in steps
            ],
            _hard(problem.labels[rows], len(problem.classes)),
            epochs=epochs,
            batch_size=batch,
            order_seed=seed,
            optimiser="adam",
            schedule="cosine",
            validation=Validation(held, truth, every=every, patience=PATIENCE),
        )
        fitted = []
        for student in run:
            logits = teacher_columns(student.network.logits(held))
            temperature = best_temperature(logits, truth, prior=1.0)
            one = cls(problem, student.network, temperature, student.settings.step, seed)
            fitted.append((log_loss(logits / temperature, truth), one))
        return min(fitted, key=lambda pair: pair[0])[1]

    @classmethod
    def again(cls, problem: Problem, rows: np.ndarray, seed: int, settings: dict[str, Any]) -> "Network":
        """Trained on these rows with the settings of another; its temperature is its own."""
        return cls.best(problem, rows, seed, (settings["step"],))

    @property
    def settings(self) -> dict[str, Any]:
        return {"step": self.step, "temperature": self.temperature}

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        return teacher_columns(self.network.logits(self.problem.scaler.apply(inputs))) / self.temperature

    @property
    def parameters(self) -> int:
        return self.network.parameters

    def __str__(self) -> str:
        return f"a network of width {WIDTH}"


MODELS: dict[str, type[Network] | type[Trees]] = {"network": Network, "trees": Trees}


def specification(seed: int) -> dict[str, Any]:
    """Everything beside the problem that the trained teacher depends on."""
    return {
        "teacher": "auto", "version": 1, "seed": seed, "width": WIDTH, "steps": list(STEPS), "updates": UPDATES,
        "checks": CHECKS, "patience": PATIENCE, "many": [MANY_ROWS, MANY_EPOCHS, MANY_CHECKS], "rounds": ROUNDS,
        "most_tree_work": MOST_TREE_WORK,
    }  # fmt: skip


def ask_automatic(
    problem: Problem,
    *,
    transfer: np.ndarray | None = None,
    seed: int = 0,
    watch: Callable[[str], None] | None = None,
    keep: Keep = without_keeping,
) -> TeacherAnswers:
    """Train a teacher on the problem's training rows and ask it about all rows, and unlabelled ones (u, d).

    keep    given every model's answers as soon as it is trained, see `teachers.pieces`
    """
    say = watch or (lambda text: None)
    train, notes = problem.parts["train"], []
    require(
        len(train) >= FEWEST_ROWS,
        f"'{problem.name}' has {len(train)} training rows, teacher 'auto' needs {FEWEST_ROWS}: collect more, or give a "
        "teacher that is trained",
    )

    def candidate(model: str, doing: str) -> tuple[str, Piece]:
        say(f"teacher: {doing} on {len(train):,} rows")
        return model, keep(model, lambda: _whole_piece(model, problem, transfer, seed))

    candidates = [candidate("network", f"training a network of width {WIDTH}")]
    if len(train) * problem.inputs.shape[1] * len(problem.classes) <= MOST_TREE_WORK:
        candidates.append(candidate("trees", "growing boosted trees"))
        candidates.sort(key=lambda pair: pair[1].facts["loss"])
    else:
        notes.append(
            f"boosted trees are left out: {len(train):,} rows × {problem.inputs.shape[1]:,} columns × "
            f"{len(problem.classes)} classes are more than {MOST_TREE_WORK:,.0f}"
        )
    model, chosen = candidates[0]
    settings, description = chosen.facts["settings"], chosen.facts["description"]
    if model == "network":
        notes.append(
            f"the network's logits are divided by {settings['temperature']:.3g}, a temperature for validation rows; "
            "those of each fold's network by its own"
        )

    logits = chosen.arrays["logits"].copy()
    folds, alone = _folds(problem.truth("train"), seed)
    seconds = sum(piece.facts["seconds"] for _, piece in candidates)
    for number, fold in enumerate(folds, 1):
        say(f"teacher: labelling fold {number} of {len(folds)} by {description}")
        rest = np.setdiff1d(np.arange(len(train)), fold)
        learned, labelled = train[rest], train[fold]
        piece = keep(
            f"fold-{number}-of-{len(folds)}",
            lambda learned=learned, labelled=labelled: _fold_piece(model, settings, problem, learned, labelled, seed),
        )
        logits[labelled] = piece.arrays["logits"]
        seconds += piece.facts["seconds"]
    if alone:
        notes.append(f"{alone} training rows are the only ones of their class: their labels are not out of fold")
    others = "".join(f" ({piece.facts['description']}: {piece.facts['loss']:.4f})" for _, piece in candidates[1:])
    return TeacherAnswers(
        logits,
        f"trained here: {description}, log loss {chosen.facts['loss']:.4f} on validation rows{others}; "
        f"{len(folds)} folds",
        chosen.facts["kind"],
        out_of_fold=True,
        transfer=None if transfer is None else chosen.arrays["transfer"],
        seconds=seconds,
        milliseconds=chosen.facts["milliseconds"],
        parameters=chosen.facts["parameters"],
        notes=tuple(notes),
    )


def _whole_piece(model: str, problem: Problem, transfer: np.ndarray | None, seed: int) -> Piece:
    """A model trained on all training rows: what it says about all rows, and what is to be known about it."""
    began = time.perf_counter()
    fitted: Model = MODELS[model].best(problem, problem.parts["train"], seed)
    arrays = {"logits": fitted.logits(problem.inputs)}
    if transfer is not None:
        arrays["transfer"] = fitted.logits(transfer)
    facts = {
        "loss": _validation_loss(problem, fitted), "settings": fitted.settings, "description": str(fitted),
        "kind": fitted.kind, "parameters": fitted.parameters,
        "milliseconds": call_milliseconds(lambda: fitted.logits(problem.inputs[:1])),
        "seconds": time.perf_counter() - began,
    }  # fmt: skip
    return Piece(arrays, facts)


def _fold_piece(
    model: str, settings: dict[str, Any], problem: Problem, learned: np.ndarray, labelled: np.ndarray, seed: int
) -> Piece:
    """What a model of these settings, trained on the rows `learned`, says about the rows `labelled`."""
    began = time.perf_counter()
    logits = MODELS[model].again(problem, learned, seed, settings).logits(problem.inputs[labelled])
    return Piece({"logits": logits}, {"seconds": time.perf_counter() - began})


def training_length(rows: int) -> tuple[int, int]:
    """Batch and epochs of a network: about a thousand steps; six passes where there are many rows."""
    if rows > MANY_ROWS:
        return 256, MANY_EPOCHS
    batch = min(128, rows)
    return batch, max(MANY_EPOCHS, math.ceil(UPDATES / math.ceil(rows / batch)))


def _validation_loss(problem: Problem, model: Model) -> float:
    return log_loss(model.logits(problem.inputs[problem.parts["validation"]]), problem.truth("validation"))


def _folds(labels: np.ndarray, seed: int) -> tuple[list[np.ndarray], int]:
    """Places of each fold among the training rows, class by class in proportion, and how many rows are in none.

    The only row of a class stays in training, in every fold: without it the model would not know the class.
    """
    dealt = np.flatnonzero(np.bincount(labels)[labels] > 1)
    number = 3 if len(labels) > MANY_ROWS else 5
    parts = split(len(dealt), (1 / number,) * number, seed, labels[dealt])
    return [dealt[part] for part in parts], len(labels) - len(dealt)


def _hard(labels: np.ndarray, classes: int) -> Labels:
    """Hard labels of class numbers, some of which may be absent."""
    return Labels("hard", np.where(labels == 1, 1.0, -1.0) if classes == 2 else np.eye(classes)[labels])
