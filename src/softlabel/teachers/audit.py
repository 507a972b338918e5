"""Is a teacher fit to teach? Its accuracy, calibration and softness, what it disputes, and warnings in words."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr, log_softmax, softmax

from softlabel.data.problem import PARTS, Problem
from softlabel.errors import require
from softlabel.networks.deep.evaluation import calibration_error
from softlabel.teachers.answers import TeacherAnswers, row_numbers

TEMPERATURES = (0.02, 50.0)
HARD_ENTROPY, HARD_PROBABILITY, NEARLY_ALL = 0.01, 0.999, 0.99
WORST_CALIBRATION = 0.05
SEEN_ROWS = 50
MEMORISED, MEMORISED_GAP = 0.98, 0.05
SURE, SURE_DEVIATIONS = 10.83, 3.09  # 99.9 % points of χ² with one degree of freedom, and of the normal
SHOWN_PAIRS, SHOWN_ROWS = 10, 10


@dataclass(frozen=True)
class PartScores:
    """A teacher's answers on one part: mean log loss, expected calibration error, label entropy relative to ln K."""

    rows: int
    accuracy: float
    loss: float
    calibration_error: float
    entropy: float


@dataclass(frozen=True)
class Disagreement:
    """Where the teacher says another class than the data do.

    pairs       (given class, class said, how often), most frequent first
    confident   (row in the user's file from 1, given class, class said, its probability), most confident first
    """

    rows: int
    share: float
    pairs: tuple[tuple[str, str, int], ...]
    confident: tuple[tuple[int, str, str, float], ...]


@dataclass(frozen=True)
class TeacherAudit:
    """What `audit_teacher` found; parts that the teacher said nothing of are None.

    temperature     what its logits would have to be divided by for the lowest log loss on the validation rows
    tempered_loss   that log loss
    warnings        sentences; none for a healthy teacher
    """

    description: str
    parts: dict[str, PartScores | None]
    disagreement: Disagreement
    temperature: float | None
    tempered_loss: float | None
    warnings: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "description": self.description,
            "parts": {part: None if scores is None else asdict(scores) for part, scores in self.parts.items()},
            "disagreement": {
                "rows": self.disagreement.rows,
                "share": self.disagreement.share,
                "pairs": [dict(zip(("given", "said", "count"), pair, strict=True)) for pair in self.disagreement.pairs],
                "confident": [
                    dict(zip(("row", "given", "said", "probability"), one, strict=True))
                    for one in self.disagreement.confident
                ],
            },
            "temperature": self.temperature,
            "tempered_loss": self.tempered_loss,
            "warnings": list(self.warnings),
        }


def audit_teacher(problem: Problem, answers: TeacherAnswers) -> TeacherAudit:
    """Judge a teacher's answers by the problem's labels."""
    expected = (len(problem), len(problem.classes))
    require(
        answers.logits.shape == expected,
        f"the teacher's answers have shape {answers.logits.shape}, the problem {expected} (rows, classes)",
    )
    require(bool(answers.known.any()), "the teacher said nothing of any row: there is nothing to judge")
    parts = {part: _scores(problem, answers, part) for part in PARTS}
    temperature = tempered = None
    if parts["validation"] is not None:
        logits, truth = _known(problem, answers, "validation")
        temperature = best_temperature(logits, truth)
        tempered = log_loss(logits / temperature, truth)
    warnings = _Warnings(problem, answers, parts, temperature, tempered)
    return TeacherAudit(
        answers.description, parts, _disagreement(problem, answers), temperature, tempered, tuple(warnings.find())
    )


def log_loss(logits: np.ndarray, labels: np.ndarray) -> float:
    """Mean cross-entropy of logits (n, K) against classes (n,)."""
    return float(np.mean(-log_softmax(logits, axis=1)[np.arange(len(labels)), labels])) + 0.0


def best_temperature(logits: np.ndarray, labels: np.ndarray, prior: float | None = None) -> float:
    """argmin_T of the log loss of logits/T, T in [0.02, 50].

    prior   standard deviation of a normal prior on ln T: where all of a few rows are right, the loss alone is least at
            T = 0
    """
    weight = 0.0 if prior is None else 1 / (2 * len(labels) * prior**2)
    found: Any = minimize_scalar(
        lambda log: log_loss(logits / np.exp(log), labels) + weight * log**2,
        bounds=tuple(np.log(TEMPERATURES)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(np.exp(found.x))


def _known(problem: Problem, answers: TeacherAnswers, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits and classes of the rows of a part that the teacher answered."""
    rows = problem.parts[part]
    rows = rows[answers.known[rows]]
    return answers.logits[rows], problem.labels[rows]


def _scores(problem: Problem, answers: TeacherAnswers, part: str) -> PartScores | None:
    logits, truth = _known(problem, answers, part)
    if not len(truth):
        return None
    p = softmax(logits, axis=1)
    right = (p.argmax(axis=1) == truth).astype(np.float64)
    return PartScores(
        rows=len(truth),
        accuracy=float(right.mean()),
        loss=log_loss(logits, truth),
        calibration_error=calibration_error(p.max(axis=1), right),
        entropy=float(entr(p).sum(axis=1).mean() / np.log(p.shape[1])),
    )


def _disagreement(problem: Problem, answers: TeacherAnswers) -> Disagreement:
    rows = np.flatnonzero(answers.known)
    p, given = answers.probabilities[rows], problem.labels[rows]
    said, names = p.argmax(axis=1), problem.classes
    differ = np.flatnonzero(said != given)
    pairs, counts = np.unique(np.stack([given[differ], said[differ]], axis=1), axis=0, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:SHOWN_PAIRS]
    confident = differ[np.argsort(-p[differ].max(axis=1, initial=0), kind="stable")][:SHOWN_ROWS]
    places = row_numbers(problem)[rows]
    return Disagreement(
        rows=len(differ),
        share=len(differ) / len(rows),
        pairs=tuple((names[pairs[at, 0]], names[pairs[at, 1]], int(counts[at])) for at in frequent.tolist()),
        confident=tuple(
            (int(places[at]) + 1, names[given[at]], names[said[at]], float(p[at, said[at]]))
            for at in confident.tolist()
        ),
    )


class _Warnings:
    """What may be wrong with a teacher, one method each."""

    def __init__(
        self,
        problem: Problem,
        answers: TeacherAnswers,
        parts: dict[str, PartScores | None],
        temperature: float | None,
        tempered: float | None,
    ) -> None:
        self.problem, self.answers, self.parts = problem, answers, parts
        self.temperature, self.tempered = temperature, tempered
        self.judged = next(part for part in ("validation", "test", "train") if parts[part] is not None)
        self.p = answers.probabilities[answers.known]

    def find(self) -> Iterator[str]:
        collapsed = self._collapsed()
        for warning in (
            collapsed,
            self._no_better() if collapsed is None else None,
            self._tells_less(),
            self._hard(),
            self._memorised() or self._seen_before(),
            self._softmaxed_twice() or self._miscalibrated(),
        ):
            if warning is not None:
                yield warning

    def _collapsed(self) -> str | None:
        said = np.bincount(self.p.argmax(axis=1), minlength=self.p.shape[1]) / len(self.p)
        given = np.bincount(self.problem.labels[self.answers.known], minlength=self.p.shape[1]) / len(self.p)
        most = int(said.argmax())
        name = self.problem.classes[most]
        if np.ptp(self.p, axis=0).max() < 1e-3 and len(self.p) > 1:
            return (
                "the teacher says the same of every row: it has collapsed, and its labels teach nothing of the inputs"
            )
        if said[most] > NEARLY_ALL >= given[most]:
            return (
                f"the teacher says '{name}' for {said[most]:.1%} of the rows, the data have {given[most]:.1%} of it: "
                "it has collapsed into one class"
            )
        return None

    def _no_better(self) -> str | None:
        scores, truth = self.parts[self.judged], self._truth(self.judged)
        counts = np.bincount(truth, minlength=len(self.problem.classes))
        frequent = counts.max() / len(truth)
        if scores is None or scores.accuracy > frequent:
            return None
        name = self.problem.classes[int(counts.argmax())]
        return (
            f"the teacher's accuracy on {self.judged} rows is {scores.accuracy:.1%}, no better than always saying "
            f"'{name}' ({frequent:.1%})"
        )

    def _tells_less(self) -> str | None:
        """Worse in log loss than the shares of the classes, beyond chance."""
        logits, truth = _known(self.problem, self.answers, self.judged)
        shares = np.bincount(truth, minlength=len(self.problem.classes)) / len(truth)
        own = -log_softmax(logits, axis=1)[np.arange(len(truth)), truth]
        worse = own + np.log(shares[truth])
        if worse.mean() <= SURE_DEVIATIONS * worse.std() / np.sqrt(len(worse)):
            return None
        return (
            f"the teacher's log loss on {self.judged} rows is {own.mean():.3f}, worse than that of the classes' shares "
            f"alone ({entr(shares).sum():.3f}): a student that trusts its probabilities is misled"
        )

    def _hard(self) -> str | None:
        rows = self.problem.parts["train"]
        rows = rows[self.answers.known[rows]]
        p = self.answers.probabilities[rows] if len(rows) else self.p
        entropy = float(entr(p).sum(axis=1).mean() / np.log(p.shape[1]))
        sure = float((p.max(axis=1) > HARD_PROBABILITY).mean())
        if entropy >= HARD_ENTROPY and sure <= NEARLY_ALL:
            return None
        return (
            f"the teacher's labels are practically hard (mean entropy {entropy:.2%} of the most possible, {sure:.1%} "
            f"of rows above {HARD_PROBABILITY}): soft labels this hard teach what hard labels teach"
        )

    def _memorised(self) -> str | None:
        train, held = self.parts["train"], self.parts["validation"]
        if self.answers.out_of_fold or train is None or held is None:
            return None
        if train.accuracy <= MEMORISED or train.accuracy - held.accuracy <= MEMORISED_GAP:
            return None
        return (
            f"the teacher has memorised the training rows (accuracy {train.accuracy:.1%} there, {held.accuracy:.1%} on "
            "validation rows): its soft labels on training rows are near hard; use out-of-fold labels"
        )

    def _seen_before(self) -> str | None:
        """A teacher that is never wrong, on held-out rows either, may have been fitted on all of them."""
        parts = [scores for scores in self.parts.values() if scores is not None]
        if self.answers.out_of_fold or len(parts) < 3 or min(scores.rows for scores in parts) < SEEN_ROWS:
            return None
        if min(scores.accuracy for scores in parts) < 1.0:
            return None
        return (
            "the teacher is right on every row, of the validation and test parts too: if it was fitted on them, what "
            "it knows of them is no measure; fit it on the training rows alone (`sl.load_problem(...).parts`)"
        )

    def _softmaxed_twice(self) -> str | None:
        classes = self.p.shape[1]
        most = np.e / (np.e + classes - 1)
        if not self._mended() or self.temperature is None or self.temperature >= 1 or self.p.max() > most + 1e-6:
            return None
        return (
            f"no probability of the teacher's is above {most:.3f}, the most that probabilities taken for logits can "
            f"give, and it is right more often than it says (accuracy {self._accuracy():.1%}): they look "
            "softmaxed twice; give probabilities or logits as they are"
        )

    def _miscalibrated(self) -> str | None:
        scores = self.parts["validation"]
        if scores is None or scores.calibration_error <= WORST_CALIBRATION or not self._mended():
            return None
        counts = np.bincount(self._truth("validation"), minlength=len(self.problem.classes))
        if self.tempered is None or self.tempered >= entr(counts / counts.sum()).sum():
            return None  # no temperature makes it tell more than the classes' shares
        how = "overconfident" if (self.temperature or 1) > 1 else "underconfident"
        return (
            f"the teacher is {how} (calibration error {scores.calibration_error:.3f} on validation rows): temperature "
            f"{self.temperature:.2g} on its labels would mend that, log loss {self.tempered:.3f} instead of "
            f"{scores.loss:.3f}"
        )

    def _mended(self) -> bool:
        """Whether a temperature betters the log loss on the validation rows beyond chance (likelihood ratio)."""
        scores = self.parts["validation"]
        return scores is not None and 2 * scores.rows * (scores.loss - (self.tempered or 0)) > SURE

    def _accuracy(self) -> float:
        scores = self.parts[self.judged]
        return 0.0 if scores is None else scores.accuracy

    def _truth(self, part: str) -> np.ndarray:
        return _known(self.problem, self.answers, part)[1]
