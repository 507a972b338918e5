"""`claims`: what both papers claim, what became of it here, and what checks it. The list is the file claims.toml."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PAPERS = {
    "Mandal": "Mandal, Lin and Srikant",
    "Rahbar": "Rahbar, Panahi, Bhattacharyya, Dubhashi and Haghir Chehreghani",
    "Open": "Questions that the papers leave open",
}
VERDICTS = ("holds", "holds partly", "corrected", "fails", "open")  # of what the papers claim
ANSWERS = ("answered", "undecided")  # of questions that the papers leave open
STUDY = "study:"


@dataclass(frozen=True)
class Claim:
    """A numbered claim of a paper, or a question that the papers leave open.

    Attributes
    ----------
    paper : str
        "Mandal", "Rahbar", or "Open" for a question that neither paper answers.
    where : str
        The place in the paper, such as "Theorem 2"; the subject of a question.
    says : str
        What the paper says; the question.
    verdict : str
        "holds", "holds partly", "corrected" (wrong or empty as printed, right with the change that `comment` names),
        "fails" or "open"; of a question "answered" or "undecided".
    comment : str
        What was measured or proved here, as plain text in which code stands between backticks; it may be empty.
    checks : tuple of str
        What checks the claim: tests as ``"tests/…::name"``, studies as ``"study:name"``.

    Examples
    --------
    >>> import softlabel as sl
    >>> claim = next(claim for claim in sl.claims() if claim.key == "mandal-corollary-4")
    >>> claim.says
    'Soft labels need O(1/(γ²ε)) neurons for training error ε.'
    >>> claim.verdict
    'corrected'
    """

    paper: str
    where: str
    says: str
    verdict: str
    comment: str
    checks: tuple[str, ...]

    @property
    def key(self) -> str:
        """A short name of the claim for links, such as "mandal-theorem-2"."""
        return re.sub(r"[^a-z0-9]+", "-", f"{self.paper} {self.where}".lower()).strip("-")

    @property
    def authors(self) -> str:
        """The authors of the paper; of a question the heading under which it is listed."""
        return PAPERS[self.paper]

    @property
    def studies(self) -> tuple[str, ...]:
        """Names of the studies that check the claim, for `reproduce`."""
        return tuple(check.removeprefix(STUDY) for check in self.checks if check.startswith(STUDY))

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests of the source repository that check the claim."""
        return tuple(check for check in self.checks if not check.startswith(STUDY))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that repeat the checks; those with pytest run in a copy of the source repository."""
        tests = (f"pytest {' '.join(self.tests)}",) if self.tests else ()
        return (*(f"softlabel reproduce {name}" for name in self.studies), *tests)


def claims() -> tuple[Claim, ...]:
    """Every numbered claim of both papers, and the questions they leave open, with their verdicts.

    Returns
    -------
    tuple of Claim
        In the order of the papers, questions last.

    See Also
    --------
    reproduce : Run a study that checks a claim.

    Examples
    --------
    >>> import softlabel as sl
    >>> {claim.verdict for claim in sl.claims() if claim.paper == "Open"} <= {"answered", "undecided"}
    True
    >>> [claim.where for claim in sl.claims() if "table1" in claim.studies]
    ['Table 1, soft against hard', 'Table 1, harder data']
    """
    return _claims()


@cache
def _claims() -> tuple[Claim, ...]:
    text = files("softlabel.studies").joinpath("claims.toml").read_text(encoding="utf-8")
    return tuple(Claim(**entry | {"checks": tuple(entry["checks"])}) for entry in tomllib.loads(text)["claim"])
