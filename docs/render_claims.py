"""Writes docs/papers/claims.md from docs/papers/claims.toml: python docs/render_claims.py"""

import re
import tomllib
from pathlib import Path

PAPERS = Path(__file__).parent / "papers"
HEAD = """# Claims

This page lists every numbered claim of both papers, its verdict, and what checks it: tests of this repository, by their
path in `tests/`, or a study that you can run. A claim that is *corrected* is wrong or empty as printed and right with
the change named. Questions that the papers leave open follow, each with the study that asks it. The page is generated
from `docs/papers/claims.toml` by `python docs/render_claims.py`.

"""
NAMES = {
    "Mandal": "Mandal, Lin and Srikant",
    "Rahbar": "Rahbar, Panahi, Bhattacharyya, Dubhashi and Haghir Chehreghani",
    "Open": "Questions that the papers leave open",
}


def load_claims() -> list[dict]:
    return tomllib.loads((PAPERS / "claims.toml").read_text(encoding="utf-8"))["claim"]


def render(claims: list[dict]) -> str:
    """Return the page: for each paper an overview, and a section per claim with its comment and its checks."""
    parts = [HEAD]
    for paper, authors in NAMES.items():
        rows = [claim for claim in claims if claim["paper"] == paper]
        columns = "about | question" if paper == "Open" else "claim | what the paper says"
        parts.append(f"## {authors}\n\n| {columns} | verdict |\n| --- | --- | --- |\n")
        parts += [f"| [{row['where']}](#{_target(row)}) | {row['says']} | **{row['verdict']}** |\n" for row in rows]
        parts += [_section(row) for row in rows]
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


def _section(claim: dict) -> str:
    checks = "".join(f"- {_check(check)}\n" for check in claim["checks"])
    comment = f"{claim['comment']}\n\n" if claim["comment"] else ""
    return f"\n({_target(claim)})=\n\n### {claim['where']}: {claim['verdict']}\n\n*{claim['says']}*\n\n{comment}" + (
        f"Checked by:\n\n{checks}" if checks else ""
    )


def _target(claim: dict) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{claim['paper']} {claim['where']}".lower()).strip("-")


def _check(check: str) -> str:
    if check.startswith("study:"):
        name = check.removeprefix("study:")
        return f"[`softlabel reproduce {name}`](../results/{name}/README.md)"
    return f"`{check.removeprefix('tests/')}`"


if __name__ == "__main__":
    (PAPERS / "claims.md").write_text(render(load_claims()), encoding="utf-8")
