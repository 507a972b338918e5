"""What a teacher said about the rows of a problem, and how answers of any form are read.

Answers are kept as logits. Probabilities become logits by their logarithm, z = ln max(p, 10⁻⁶): the floor keeps labels
of exactly 0 finite. One column for two classes is class 1's probability or its log-odds.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax

from softlabel.data.class_names import match_names, plain_name
from softlabel.data.problem import Problem
from softlabel.errors import InputError, quoted, require
from softlabel.networks.losses import Labels

LARGEST_LOGIT = 1e30  # differences and temperatures keep smaller ones finite
FLOOR = 1e-6
KINDS = ("logits", "probabilities")
SUM_TOLERANCE = 1e-3
TIMED, TIMED_SECONDS = 30, 1.0


@dataclass(frozen=True, eq=False)
class TeacherAnswers:
    """A teacher's answers for every row of a problem.

    logits          (n, K) float64; rows where it said nothing are NaN
    description     one line for people
    kind            "logits" or "probabilities": what it gave
    out_of_fold     training rows were labelled by models that had not seen them
    transfer        (u, K) logits on unlabelled rows
    seconds         spent on fitting and asking
    milliseconds    for one row, median, on this machine
    """

    logits: np.ndarray
    description: str
    kind: str
    out_of_fold: bool = False
    transfer: np.ndarray | None = None
    seconds: float = 0.0
    milliseconds: float | None = None
    parameters: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape = self.logits.shape
        require(len(shape) == 2 and shape[1] >= 2, f"a teacher's logits must be (rows, classes ≥ 2), got {shape}")
        whole = np.isfinite(self.logits).all(axis=1) | np.isnan(self.logits).all(axis=1)
        require(
            bool(whole.all()),
            f"a teacher's logits must be finite, or NaN for a whole row; see row {np.argmin(whole) + 1}",
        )
        require(self.kind in KINDS, f"a teacher answers with logits or probabilities, not '{self.kind}'")
        if self.transfer is not None:
            require(
                self.transfer.ndim == 2 and self.transfer.shape[1] == shape[1],
                f"a teacher's logits on unlabelled rows must have {shape[1]} columns, got shape {self.transfer.shape}",
            )
            require(bool(np.isfinite(self.transfer).all()), "a teacher's logits on unlabelled rows must be finite")

    @cached_property
    def known(self) -> np.ndarray:
        """(n,) whether it said something of the row."""
        return np.isfinite(self.logits[:, 0])

    @cached_property
    def probabilities(self) -> np.ndarray:
        """(n, K), rows adding up to 1; NaN where it said nothing."""
        return softmax(self.logits, axis=1)

    def labels(self, rows: np.ndarray) -> Labels:
        """Soft labels of these rows: log-odds (n,) for two classes, logits (n, K) for more."""
        unknown = ~self.known[rows]
        require(
            not unknown.any(),
            f"the teacher said nothing of {unknown.sum()} of {len(unknown)} rows that are to learn from it",
        )
        return Labels("logits", student_logits(self.logits[rows]))

    @cached_property
    def fingerprint(self) -> str:
        """Identity of logits and transfer logits."""
        digest = hashlib.sha256()
        for table in (self.logits, self.transfer):
            digest.update(b"none" if table is None else repr(table.shape).encode())
            if table is not None:
                digest.update(np.ascontiguousarray(table, dtype=np.float64).data)
        return digest.hexdigest()[:20]


def student_logits(logits: np.ndarray) -> np.ndarray:
    """Logits (n, K) in the form of a student's outputs: one column, log p₁ − log p₀, for two classes."""
    return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits


def teacher_columns(outputs: np.ndarray) -> np.ndarray:
    """The converse: a network's outputs, (n,) log-odds or (n, K), as logits (n, K) float64."""
    outputs = np.asarray(outputs, dtype=np.float64)
    return np.stack([np.zeros(len(outputs)), outputs], axis=1) if outputs.ndim == 1 else outputs


def floored(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities as logits: ln max(p, 10⁻⁶)."""
    return np.log(np.maximum(probabilities, FLOOR))


def read_answers(table: Any, classes: int, kind: str | None, teacher: str, rows: np.ndarray) -> tuple[np.ndarray, str]:
    """Logits (n, classes) from answers as they were given, and what kind they are.

    table       (n, classes), or (n,) or (n, 1) for two classes
    kind        "logits" or "probabilities"; None tells them apart by all rows: probabilities are nowhere negative and
                add up to 1 (a single column: lie in [0, 1])
    teacher     whom a message speaks of, e.g. "teacher 'model.onnx'"
    rows        (n,) which row of the user's file each is, from 0
    """
    require(kind is None or kind in KINDS, f"{teacher} answers with logits or probabilities, not '{kind}'")
    numbers = finite_table(table, classes, teacher, rows)
    if numbers.shape[1] == 1:
        outside = (numbers < 0) | (numbers > 1)
        kind = kind or KINDS[not outside.any()]
        if kind == "logits":
            return teacher_columns(numbers[:, 0]), kind
        if outside.any():
            where = _at(numbers, outside, rows)
            raise InputError(f"{teacher}: a probability must lie in [0, 1], got {where}; are these logits?")
        return floored(np.concatenate([1 - numbers, numbers], axis=1)), kind
    if kind is None:
        kind = _kind(numbers, teacher, rows)
    if kind == "logits":
        return numbers, kind
    check_probabilities(numbers, teacher, rows)
    return floored(numbers), kind


def check_probabilities(table: np.ndarray, teacher: str, rows: np.ndarray) -> None:
    """Raise unless rows (n, K) are probabilities: none negative, each row adding up to 1."""
    negative = table < 0
    if negative.any():
        where = _at(table, negative, rows)
        raise InputError(f"{teacher}: probabilities must not be negative, got {where}; are these logits?")
    sums = table.sum(axis=1, keepdims=True)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if off.any():
        where = _at(sums, off, rows)
        raise InputError(f"{teacher}: probabilities of a row must add up to 1, got {where}; are these logits?")


def _kind(table: np.ndarray, teacher: str, rows: np.ndarray) -> str:
    """Which kind (n, K) answers are; those that are probabilities but for some rows are neither, and refused."""
    sums, negative = table.sum(axis=1, keepdims=True), table < 0
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if not negative.any() and (np.abs(sums - 100) <= 100 * SUM_TOLERANCE).all():
        raise InputError(f"{teacher}: every row adds up to 100, so these are per cent: divide them by 100")
    if not off.any() and negative.any():
        raise InputError(
            f"{teacher}: every row adds up to 1 as probabilities do, yet there is {_at(table, negative, rows)}: mend "
            "that, or say that they are logits (--teacher-kind logits)"
        )
    if off.any() and off.mean() < 0.5 and not negative.any():
        raise InputError(
            f"{teacher}: most rows add up to 1 as probabilities do, yet there is {_at(sums, off, rows)}: mend that, or "
            "say that they are logits (--teacher-kind logits)"
        )
    return KINDS[not off.any()]


def finite_table(table: Any, classes: int, teacher: str, rows: np.ndarray) -> np.ndarray:
    """Answers as finite numbers float64: (n, classes), or (n, 1) for two classes."""
    if hasattr(table, "detach"):
        table = table.detach().cpu()
    try:
        numbers = np.asarray(table)
        numbers = numbers.astype(np.float64) if numbers.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        numbers = None
    if numbers is None:
        raise InputError(f"{teacher} must answer with a table of numbers, got {type(table).__name__}")
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    require(numbers.ndim == 2, f"{teacher} must answer with one row of numbers a row, got shape {numbers.shape}")
    require(len(numbers) == len(rows), f"{teacher} answers with {len(numbers):,} rows for {len(rows):,} asked")
    fits = numbers.shape[1] == classes or (classes == 2 and numbers.shape[1] == 1)
    require(fits, f"{teacher} answers with {numbers.shape[1]} columns, the data have {classes} classes")
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        raise InputError(f"{teacher} answers with values that are not finite: {_at(numbers, wrong, rows)}")
    wrong = np.abs(numbers) > LARGEST_LOGIT
    if wrong.any():
        raise InputError(
            f"{teacher} answers with numbers beyond ±{LARGEST_LOGIT:g}, which are no logits: "
            f"{_at(numbers, wrong, rows)}"
        )
    return numbers


def _at(table: np.ndarray, where: np.ndarray, rows: np.ndarray) -> str:
    """The first value of which something holds, its row in the user's file, and how many rows are like it."""
    like = where.any(axis=1)
    place = int(np.argmax(like))
    more = f", {like.sum():,} such rows" if like.sum() > 1 else ""
    return f"{table[place][where[place]][0]:.6g} (row {rows[place] + 1}{more})"


def class_order(given: Sequence[Any], classes: Sequence[str], teacher: str) -> list[int]:
    """Where each of `classes` stands among the teacher's own; other or missing classes are an error.

    1, 1.0 and "1" are the same class, so are True and "true"; True is 1 where the data have numbers.
    """
    found = match_names(given, classes)
    if found is not None:
        return found
    names, wanted = [plain_name(name) for name in given], [plain_name(name) for name in classes]
    other = [str(name) for name, plain in zip(given, names, strict=True) if plain not in wanted]
    missing = [name for name, plain in zip(classes, wanted, strict=True) if plain not in names]
    said = [f"it knows {quoted(other)}, which the data have not"] if other else []
    said += [f"it does not know {quoted(missing)}"] if missing else []
    said = said or [f"it names some class twice ({quoted([str(name) for name in given])})"]
    raise InputError(f"{teacher} is for other classes: {' and '.join(said)}; train it on the same classes")


def check_columns(own: Sequence[str], names: Sequence[str], teacher: str) -> None:
    """Raise where the columns a teacher learned from are not those of the data, `names`."""
    known, learned = set(names), set(own)
    missing = [column for column in own if column not in known]
    unknown = [column for column in names if column not in learned]
    if missing or unknown:
        said = [f"the data have no {quoted(missing)}"] if missing else []
        said += [f"it does not know {quoted(unknown)}"] if unknown else []
        raise InputError(f"{teacher} learned from other columns: {' and '.join(said)}; rename or drop columns")


def call_milliseconds(ask: Callable[[], Any]) -> float:
    """Median milliseconds of one call, over 30 of them or a second's worth."""
    times: list[float] = []
    while len(times) < TIMED and sum(times) < TIMED_SECONDS:
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return float(np.median(times) * 1000)


def row_numbers(problem: Problem) -> np.ndarray:
    """(n,) which row of the user's file each row of the problem is, from 0."""
    return problem.rows if len(problem.rows) == len(problem) else np.arange(len(problem))
