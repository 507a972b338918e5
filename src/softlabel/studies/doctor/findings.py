"""What `doctor` says: findings with their evidence and remedy, and the whole of one examination."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from softlabel.printable import printable

Severity = Literal["mistake", "hint"]

# every name there is, the gravest first
NAMES = (
    "misaligned labels",
    "classes in another order",
    "logits given as probabilities",
    "probabilities given as logits",
    "neither probabilities nor logits",
    "softmaxed twice",
    "collapsed labels",
    "label among the inputs",
    "one column tells the label",
    "rows in two splits",
    "ids in two splits",
    "ids twice",
    "ids without labels",
    "step too large",
    "failed work",
    "dead neurons",
    "seeds disagree",
    "radius too small",
    "width too small",
    "training too short or width too small",
    "step too small or training too short",
    "radius too large",
    "columns differ",
    "missing values",
    "classes missing",
    "same input, different labels",
    "rows twice",
    "hard labels",
    "unfinished run",
    "step at the edge",
    "id among the inputs",
    "constant columns",
)


@dataclass(frozen=True)
class Finding:
    """One known mistake, or a hint.

    name        one of NAMES
    where       what it is about: run, stage, arm, width; or file, rows, columns
    evidence    numbers by what they are
    remedy      what to do
    degree      how bad it is among findings of its name, larger is worse
    """

    name: str
    severity: Severity
    where: dict[str, Any]
    evidence: dict[str, Any]
    remedy: str
    degree: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"'{self.name}' is not in NAMES")

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "severity": self.severity,
            "where": self.where,
            "evidence": self.evidence,
            "remedy": self.remedy,
        }

    def __str__(self) -> str:
        lines = [f"{self.severity.upper()}: {self.name}"]
        for title, text in (("where", _words(self.where)), ("evidence", _words(self.evidence)), ("do", self.remedy)):
            lines += textwrap.wrap(
                text, 110, initial_indent=f"  {title:<10}", subsequent_indent=" " * 12, break_on_hyphens=False
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Examination:
    """What was examined, and what was found, worst first."""

    examined: tuple[str, ...]
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, examined: Iterable[str], findings: Iterable[Finding]) -> "Examination":
        """Findings of any order: mistakes before hints, then by gravity and degree."""
        order = sorted(findings, key=lambda one: (one.severity == "hint", NAMES.index(one.name), -one.degree))
        return cls(tuple(examined), tuple(order))

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "mistake")

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"examined": list(self.examined), "findings": [finding.document() for finding in self.findings]}

    def __str__(self) -> str:
        mistakes = len(self.mistakes)
        hints = len(self.findings) - mistakes
        if not self.findings:
            last = "No known mistake was found."
        else:
            last = f"{_count(mistakes, 'mistake')}, {_count(hints, 'hint')}."
        looked_at = "\n".join(f"Examined: {printable(one)}" for one in self.examined)
        return "\n\n".join([looked_at, *map(str, self.findings), last])


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _words(named: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_word(value)}" for name, value in named.items() if value is not None)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return " and ".join(map(_word, value))
    return str(value)
