"""The teacher check before training: accuracy, calibration and softness of its predictions, disputed rows, warnings."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr, log_softmax, softmax

from softlabel.data.problem import PARTS, Problem
from softlabel.errors import require
from softlabel.networks.deep.evaluation import calibration_error
from softlabel.teachers.in_sample import in_sample
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.ranking import ranking

TEMPERATURES = (0.02, 50.0)
HARD_ENTROPY, HARD_PROBABILITY, NEARLY_ALL = 0.01, 0.999, 0.99
WORST_CALIBRATION = 0.05
SEEN_ROWS = 50
MEMORIZED, MEMORIZED_GAP = 0.98, 0.05
SHIFTED = 0.05  # mean probability of a class above its share
SURE, SURE_DEVIATIONS = 10.83, 3.09  # 99.9 % points of χ² with one degree of freedom, and of the normal
SHOWN_PAIRS, SHOWN_ROWS = 10, 10


@dataclass(frozen=True)
class PartScores:
    """Scores of a teacher's predictions on one part of the data.

    Attributes
    ----------
    rows : int
        Number of rows with a prediction.
    accuracy, loss, calibration_error : float
        Accuracy, mean log loss and expected calibration error.
    entropy : float
        Mean entropy of the predictions relative to ln K, the largest possible one.
    """

    rows: int
    accuracy: float
    loss: float
    calibration_error: float
    entropy: float


@dataclass(frozen=True)
class Disagreement:
    """Rows for which the teacher predicts another class than the data have.

    Attributes
    ----------
    rows, share : int, float
        Their number, and their share of the rows with a prediction.
    pairs : tuple of (class in the data, predicted class, count)
        The most frequent pairs first.
    confident : tuple of (row in the user's file from 1, class in the data, predicted class, its probability)
        The most confident predictions first.
    """

    rows: int
    share: float
    pairs: tuple[tuple[str, str, int], ...]
    confident: tuple[tuple[int, str, str, float], ...]


@dataclass(frozen=True, repr=False)
class TeacherAudit:
    """Result of `audit_teacher`.

    Attributes
    ----------
    description : str
        The teacher in one line.
    parts : dict
        `PartScores` of "train", "validation" and "test"; None for a part without predictions.
    disagreement : Disagreement
        Where teacher and data differ.
    temperature : float or None
        What its logits would have to be divided by for the lowest log loss on the validation rows.
    tempered_loss : float or None
        That log loss.
    warnings : tuple of str
        Sentences; none for a healthy teacher.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> problem = sl.load((X, X[:, 0] > 0))
    >>> predictions = sl.query_teacher(problem, lambda inputs: 1 / (1 + np.exp(-5 * inputs[:, 0])))
    >>> audit = sl.audit_teacher(problem, predictions)
    >>> audit.parts["test"].accuracy
    1.0
    """

    description: str
    parts: dict[str, PartScores | None]
    disagreement: Disagreement
    temperature: float | None
    tempered_loss: float | None
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The audit as JSON values."""
        differ = self.disagreement
        pairs = [dict(zip(("given", "said", "count"), pair, strict=True)) for pair in differ.pairs]
        names = ("row", "given", "said", "probability")
        confident = [dict(zip(names, entry, strict=True)) for entry in differ.confident]
        return asdict(self) | {
            "disagreement": {"rows": differ.rows, "share": differ.share, "pairs": pairs, "confident": confident},
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        scores = [f"{part} accuracy {s.accuracy:.1%}" for part, s in self.parts.items() if s is not None]
        count = len(self.warnings)
        return f"<TeacherAudit: {', '.join(scores)}; {count or 'no'} warning{'' if count == 1 else 's'}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{part}</th><td>{s.rows:,}</td><td>{s.accuracy:.1%}</td><td>{s.loss:.4f}</td>"
            f"<td>{s.calibration_error:.4f}</td><td>{s.entropy:.1%}</td></tr>"
            for part, s in self.parts.items()
            if s is not None
        )
        names = ("part", "rows", "accuracy", "log loss", "calibration error", "entropy")
        header = "".join(f"<th>{name}</th>" for name in names)
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings) or "<li>no warnings</li>"
        return (
            f"<p><b>Teacher:</b> {escape(self.description)}</p><table><tr>{header}</tr>{rows}</table>"
            f"<ul>{warnings}</ul>"
        )


def audit_teacher(problem: Problem, predictions: TeacherPredictions) -> TeacherAudit:
    """Check a teacher's predictions against the labels of a problem before anything is trained on them.

    Parameters
    ----------
    problem : Problem
        The data.
    predictions : TeacherPredictions
        What `query_teacher` returned for them.

    Returns
    -------
    TeacherAudit

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from softlabel.data.problem import Problem
    >>> from softlabel.teachers.audit import audit_teacher
    >>> from softlabel.teachers.sources import query_teacher
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = Problem.from_arrays(X, y)
    >>> teacher = LogisticRegression(max_iter=1000).fit(X[problem.train.rows], y[problem.train.rows])
    >>> audit = audit_teacher(problem, query_teacher(problem, teacher))
    >>> audit.parts["test"].accuracy > 0.8
    True
    """
    expected = (len(problem), len(problem.classes))
    require(
        predictions.logits.shape == expected,
        f"the teacher's predictions have shape {predictions.logits.shape}, the problem {expected} (rows, classes)",
    )
    require(bool(predictions.known.any()), "the teacher has no prediction for any row: there is nothing to audit")
    parts = {part: _scores(problem, predictions, part) for part in PARTS}
    temperature = tempered = None
    if parts["validation"] is not None:
        logits, labels = _known(problem, predictions, "validation")
        temperature = best_temperature(logits, labels)
        tempered = log_loss(logits / temperature, labels)
    warnings = _Warnings(problem, predictions, parts, temperature, tempered).collect()
    differ = _disagreement(problem, predictions)
    return TeacherAudit(predictions.description, parts, differ, temperature, tempered, tuple(warnings))


def log_loss(logits: np.ndarray, labels: np.ndarray) -> float:
    """Mean cross-entropy of logits (n, K) against classes (n,)."""
    return float(np.mean(-log_softmax(logits, axis=1)[np.arange(len(labels)), labels])) + 0.0


def best_temperature(logits: np.ndarray, labels: np.ndarray, prior: float | None = None) -> float:
    """argmin_T of the log loss of logits/T, T in [0.02, 50].

    prior   standard deviation of a normal prior on ln T: if a few rows are all right, the loss alone is lowest at T = 0
    """
    weight = 0.0 if prior is None else 1 / (2 * len(labels) * prior**2)
    optimum: Any = minimize_scalar(
        lambda log: log_loss(logits / np.exp(log), labels) + weight * log**2,
        bounds=tuple(np.log(TEMPERATURES)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(np.exp(optimum.x))


def _known(problem: Problem, predictions: TeacherPredictions, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits and classes of the rows of a part with a prediction."""
    rows = problem.part(part).rows
    rows = rows[predictions.known[rows]]
    return predictions.logits[rows], problem.y[rows]


def _scores(problem: Problem, predictions: TeacherPredictions, part: str) -> PartScores | None:
    logits, labels = _known(problem, predictions, part)
    if not len(labels):
        return None
    p = softmax(logits, axis=1)
    right = (p.argmax(axis=1) == labels).astype(np.float64)
    return PartScores(
        rows=len(labels),
        accuracy=float(right.mean()),
        loss=log_loss(logits, labels),
        calibration_error=calibration_error(p.max(axis=1), right),
        entropy=float(entr(p).sum(axis=1).mean() / np.log(p.shape[1])),
    )


def _disagreement(problem: Problem, predictions: TeacherPredictions) -> Disagreement:
    rows = np.flatnonzero(predictions.known)
    p, labels = predictions.probabilities[rows], problem.y[rows]
    decisions, names = p.argmax(axis=1), problem.classes
    differ = np.flatnonzero(decisions != labels)
    pairs, counts = np.unique(np.stack([labels[differ], decisions[differ]], axis=1), axis=0, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:SHOWN_PAIRS]
    confident = differ[np.argsort(-p[differ].max(axis=1, initial=0), kind="stable")][:SHOWN_ROWS]
    places = problem.rows[rows]
    return Disagreement(
        rows=len(differ),
        share=len(differ) / len(rows),
        pairs=tuple((names[pairs[at, 0]], names[pairs[at, 1]], int(counts[at])) for at in frequent.tolist()),
        confident=tuple(
            (int(places[at]) + 1, names[labels[at]], names[decisions[at]], float(p[at, decisions[at]]))
            for at in confident.tolist()
        ),
    )


class _Warnings:
    """What may be wrong with a teacher, one method each."""

    def __init__(
        self,
        problem: Problem,
        predictions: TeacherPredictions,
        parts: dict[str, PartScores | None],
        temperature: float | None,
        tempered: float | None,
    ) -> None:
        self.problem, self.predictions, self.parts = problem, predictions, parts
        self.temperature, self.tempered = temperature, tempered
        self.judged, self.scores = next(
            (part, scores) for part in ("validation", "test", "train") if (scores := parts[part]) is not None
        )
        self.p = predictions.probabilities[predictions.known]

    def collect(self) -> list[str]:
        warnings = (
            self._collapsed() or self._no_better(),
            self._uninformative(),
            self._hard(),
            self._fitted_on() or self._seen_before(),
            self._softmaxed_twice() or self._miscalibrated(),
        )
        return [warning for warning in warnings if warning is not None]

    def _collapsed(self) -> str | None:
        labels = self.problem.y[self.predictions.known]
        predicted = np.bincount(self.p.argmax(axis=1), minlength=self.p.shape[1]) / len(self.p)
        actual = np.bincount(labels, minlength=self.p.shape[1]) / len(self.p)
        most = int(predicted.argmax())
        if np.ptp(self.p, axis=0).max() < 1e-3 and len(self.p) > 1:
            return "the teacher predicts the same for every row: it has collapsed, and its labels carry no information"
        if not predicted[most] > NEARLY_ALL >= actual[most]:
            return None
        area, ranks = ranking(self.p, labels)
        mean = float(self.p[:, most].mean())
        start = (
            f"the teacher predicts '{self.problem.classes[most]}' for {predicted[most]:.1%} of the rows, but only "
            f"{actual[most]:.1%} of the data are of this class"
        )
        if not ranks:
            return f"{start}, and it ranks rows no better than chance (AUC {area:.2f}): it has collapsed into one class"
        if mean - actual[most] > SHIFTED:
            return (
                f"{start}: it ranks rows (AUC {area:.2f}), but its probabilities are shifted toward this class "
                f"({mean:.1%} on average)"
            )
        return None

    def _no_better(self) -> str | None:
        shares = self._shares(self.judged)
        logits, labels = _known(self.problem, self.predictions, self.judged)
        if self.scores.accuracy > shares.max() or ranking(softmax(logits, axis=1), labels)[1]:
            return None
        name = self.problem.classes[int(shares.argmax())]
        return (
            f"the teacher's accuracy on {self.judged} rows is {self.scores.accuracy:.1%}, no better than always "
            f"predicting '{name}' ({shares.max():.1%}), and it ranks rows no better than chance"
        )

    def _uninformative(self) -> str | None:
        """A log loss worse than that of the class frequencies, beyond chance."""
        logits, labels = _known(self.problem, self.predictions, self.judged)
        shares = self._shares(self.judged)
        own = -log_softmax(logits, axis=1)[np.arange(len(labels)), labels]
        worse = own + np.log(shares[labels])
        if worse.mean() <= SURE_DEVIATIONS * worse.std() / np.sqrt(len(worse)):
            return None
        return (
            f"the teacher's log loss on {self.judged} rows is {own.mean():.3f}, worse than that of the class "
            f"frequencies alone ({entr(shares).sum():.3f}): a student that trusts its probabilities is misled"
        )

    def _hard(self) -> str | None:
        logits, _ = _known(self.problem, self.predictions, "train")
        p = softmax(logits, axis=1) if len(logits) else self.p
        entropy = float(entr(p).sum(axis=1).mean() / np.log(p.shape[1]))
        sure = float((p.max(axis=1) > HARD_PROBABILITY).mean())
        if entropy >= HARD_ENTROPY and sure <= NEARLY_ALL:
            return None
        return (
            f"the teacher's labels are practically hard (mean entropy {entropy:.2%} of the maximum, {sure:.1%} of "
            f"rows above {HARD_PROBABILITY}): soft labels this hard teach what hard labels teach"
        )

    def _fitted_on(self) -> str | None:
        """Better on some parts than on others: memorized training rows, or test rows that were not new."""
        finding = in_sample(self.problem, self.predictions)
        train, validation = self.parts["train"], self.parts["validation"]
        if finding is None or train is None or validation is None:
            return None if finding is None else str(finding)
        if train.accuracy <= MEMORIZED or train.accuracy - validation.accuracy <= MEMORIZED_GAP:
            return str(finding)
        return (
            f"the teacher has memorized the training rows (accuracy {train.accuracy:.1%} there, "
            f"{validation.accuracy:.1%} on validation rows): its soft labels on training rows are nearly hard; use "
            "out-of-fold labels"
        )

    def _seen_before(self) -> str | None:
        """A teacher that is right on every row of every part may have been fitted on all of them."""
        parts = [scores for scores in self.parts.values() if scores is not None]
        if self.predictions.out_of_fold or len(parts) < 3 or min(scores.rows for scores in parts) < SEEN_ROWS:
            return None
        if min(scores.accuracy for scores in parts) < 1.0:
            return None
        return (
            "the teacher is right on every row, including the validation and test rows: if it was fitted on them, its "
            "scores there mean nothing; fit it on the training rows only (`problem.train`)"
        )

    def _softmaxed_twice(self) -> str | None:
        classes = self.p.shape[1]
        most = np.e / (np.e + classes - 1)
        if not self._improved_by_temperature() or (self.temperature or 1) >= 1 or self.p.max() > most + 1e-6:
            return None
        return (
            f"no probability of the teacher is above {most:.3f}, the maximum for probabilities that are mistaken for "
            f"logits, and it is right more often than it claims (accuracy {self.scores.accuracy:.1%}): they look "
            "softmaxed twice; pass its probabilities or logits unchanged"
        )

    def _miscalibrated(self) -> str | None:
        scores = self.parts["validation"]
        if scores is None or scores.calibration_error <= WORST_CALIBRATION or not self._improved_by_temperature():
            return None
        if self.tempered is None or self.tempered >= entr(self._shares("validation")).sum():
            return None  # no temperature makes it better than the class frequencies
        how = "overconfident" if (self.temperature or 1) > 1 else "underconfident"
        return (
            f"the teacher is {how} (calibration error {scores.calibration_error:.3f} on validation rows): temperature "
            f"{self.temperature:.2g} on its labels would fix this (log loss {self.tempered:.3f} instead of "
            f"{scores.loss:.3f})"
        )

    def _improved_by_temperature(self) -> bool:
        """Whether a temperature improves the log loss on the validation rows beyond chance (likelihood ratio)."""
        scores = self.parts["validation"]
        return scores is not None and 2 * scores.rows * (scores.loss - (self.tempered or 0)) > SURE

    def _shares(self, part: str) -> np.ndarray:
        """The share of each class in the rows of a part with a prediction."""
        labels = _known(self.problem, self.predictions, part)[1]
        return np.bincount(labels, minlength=len(self.problem.classes)) / len(labels)
