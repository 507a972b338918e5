"""Writes docs/papers/claims.md from src/softlabel/studies/claims.toml: python docs/render_claims.py"""

from collections.abc import Sequence
from pathlib import Path

import softlabel as sl
from softlabel.studies.claims import PAPERS, STUDY

PAGE = Path(__file__).parent / "papers" / "claims.md"
HEAD = """# Claims

This page lists every numbered claim of both papers, its verdict, and what checks it: tests of this repository, by their
path in `tests/`, or a study that you can run. A claim that is *corrected* is wrong or empty as printed and right with
the change named. Questions that the papers leave open follow, each with the study that asks it. The page is generated
from `src/softlabel/studies/claims.toml` by `python docs/render_claims.py`; in Python the list is `sl.claims()`.

"""


def render(claims: Sequence[sl.Claim]) -> str:
    """Return the page: for each paper an overview, and a section per claim with its comment and its checks."""
    parts = [HEAD]
    for paper, authors in PAPERS.items():
        rows = [claim for claim in claims if claim.paper == paper]
        columns = "about | question" if paper == "Open" else "claim | what the paper says"
        parts.append(f"## {authors}\n\n| {columns} | verdict |\n| --- | --- | --- |\n")
        parts += [f"| [{row.where}](#{row.key}) | {row.says} | **{row.verdict}** |\n" for row in rows]
        parts += [_section(row) for row in rows]
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


def _section(claim: sl.Claim) -> str:
    checks = "".join(f"- {_check(check)}\n" for check in claim.checks)
    comment = f"{claim.comment}\n\n" if claim.comment else ""
    return f"\n({claim.key})=\n\n### {claim.where}: {claim.verdict}\n\n*{claim.says}*\n\n{comment}" + (
        f"Checked by:\n\n{checks}" if checks else ""
    )


def _check(check: str) -> str:
    if check.startswith(STUDY):
        name = check.removeprefix(STUDY)
        return f"[`softlabel reproduce {name}`](../results/{name}/README.md)"
    return f"`{check.removeprefix('tests/')}`"


if __name__ == "__main__":
    PAGE.write_text(render(sl.claims()), encoding="utf-8")
