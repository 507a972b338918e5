"""Findings of `doctor` with their evidence and remedy, and the result of one examination."""

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from softlabel.errors import few
from softlabel.printable import printable
from softlabel.report.page import Cell, Table

Severity = Literal["mistake", "hint"]

# all names, the gravest first
NAMES = (
    "misaligned labels",
    "classes in another order",
    "logits given as probabilities",
    "probabilities given as logits",
    "neither probabilities nor logits",
    "softmaxed twice",
    "collapsed labels",
    "labels shifted toward one class",
    "label among the inputs",
    "one column tells the label",
    "rows in two splits",
    "nearly equal rows in two splits",
    "ids in two splits",
    "groups in two splits",
    "ids twice",
    "ids without labels",
    "learning rate too large",
    "failed work",
    "dead neurons",
    "seeds disagree",
    "radius too small",
    "width too small",
    "training too short or width too small",
    "learning rate too small or training too short",
    "radius too large",
    "table is refused",
    "columns differ",
    "labels missing",
    "infinite values",
    "numbers written as text",
    "missing values",
    "classes missing",
    "one class spelled in several ways",
    "same input, different labels",
    "rows twice",
    "rows nearly twice",
    "imbalanced classes",
    "rare classes",
    "hard labels",
    "unfinished run",
    "learning rate at the edge",
    "id among the inputs",
    "repeated ids among the inputs",
    "dates among the inputs",
    "text among the inputs",
    "many categories",
    "constant columns",
)


@dataclass(frozen=True)
class Finding:
    """One known mistake, or a hint.

    Attributes
    ----------
    name : str
        The mistake, one of `NAMES`.
    severity : {"mistake", "hint"}
        Hints may be intended.
    where : dict
        What the finding is about: run, stage, arm, width; or file, rows, columns.
    evidence : dict
        Numbers by their meaning.
    remedy : str
        What to do.
    degree : float
        Severity among findings of the same name, larger is worse.

    Examples
    --------
    >>> from pathlib import Path
    >>> import softlabel as sl
    >>> _ = Path("data.csv").write_text("x,copy,y\\n" + "".join(f"{k * k % 7},{k % 2},{k % 2}\\n" for k in range(20)))
    >>> finding = sl.doctor("data.csv", label="y").findings[0]
    >>> finding.name, finding.severity
    ('label among the inputs', 'mistake')
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

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
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


@dataclass(frozen=True, repr=False)
class Examination:
    """What `doctor` examined, and its findings, the worst first.

    Attributes
    ----------
    examined : tuple of str
        Runs and files that were examined.
    findings : tuple of Finding
        Mistakes, then hints.
    columns : tuple of dict
        What `softlabel.load` does to every column of the training rows: `column`, `kind`, `done`, and the number of
        `features` that it becomes. Empty where no file was examined.

    Examples
    --------
    >>> from pathlib import Path
    >>> import softlabel as sl
    >>> _ = Path("data.csv").write_text("x,copy,y\\n" + "".join(f"{k * k % 7},{k % 2},{k % 2}\\n" for k in range(20)))
    >>> examination = sl.doctor("data.csv", label="y")
    >>> [finding.name for finding in examination.mistakes]
    ['label among the inputs']
    """

    examined: tuple[str, ...]
    findings: tuple[Finding, ...]
    columns: tuple[dict[str, Any], ...] = ()

    @classmethod
    def from_findings(
        cls, examined: Iterable[str], findings: Iterable[Finding], columns: Iterable[dict[str, Any]] = ()
    ) -> "Examination":
        """Sort findings: mistakes before hints, then by gravity and degree."""
        order = sorted(findings, key=lambda one: (one.severity == "hint", NAMES.index(one.name), -one.degree))
        return cls(tuple(examined), tuple(order), tuple(columns))

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        """The findings that are mistakes."""
        return tuple(finding for finding in self.findings if finding.severity == "mistake")

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        document = {"examined": list(self.examined), "findings": [finding.to_dict() for finding in self.findings]}
        return document | ({"columns": list(self.columns)} if self.columns else {})

    @property
    def headline(self) -> str:
        """The number of mistakes and hints, in one sentence."""
        if not self.findings:
            return "No known mistake was found."
        mistakes = len(self.mistakes)
        return f"{_count(mistakes, 'mistake')}, {_count(len(self.findings) - mistakes, 'hint')}."

    def __str__(self) -> str:
        examined = "\n".join(f"Examined: {printable(one)}" for one in self.examined)
        treated = [f"Columns:\n{self._treatment()}"] if self.columns else []
        return "\n\n".join([examined, *treated, *map(str, self.findings), self.headline])

    def _treatment(self) -> str:
        """What becomes of the columns, in words: columns that are treated alike share a line."""
        alike: dict[str, list[str]] = {}
        for one in self.columns:
            done = f"left out: {one['done']}" if one["kind"] == "dropped" else str(one["done"])
            done = re.sub(r"become \S+ and", "become the median and", done)
            alike.setdefault(done, []).append(printable(one["column"]) or "''")
        lines = [f"{few(names, 12)} ({printable(done)})" for done, names in alike.items()]
        indented = [textwrap.wrap(line, 110, initial_indent="  ", subsequent_indent=" " * 4) for line in lines]
        return "\n".join(part for one in indented for part in one)

    def __repr__(self) -> str:
        return f"<Examination: {self.headline}>"

    def _repr_html_(self) -> str:
        from softlabel.report.notebook import result_html

        rows = [
            [
                Cell(finding.name, finding.severity, "bad" if finding.severity == "mistake" else "muted"),
                _words(finding.where),
                _words(finding.evidence),
                finding.remedy,
            ]
            for finding in self.findings
        ]
        about = "; ".join(map(printable, self.examined))
        table = Table("Findings", about, ["finding", "where", "evidence", "remedy"], rows, prose=True)
        return result_html(self.headline, table=table if rows else None)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _words(named: dict[str, Any]) -> str:
    """Names and values as text, for example "mistakes: 3 of 5; first in row: 2"."""
    parts = [f"{name}: {_word(value)}" for name, value in named.items() if value is not None]
    return "; ".join(parts).replace("; of: ", " of ")


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
