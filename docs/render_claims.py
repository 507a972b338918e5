"""Makes docs/claims.md from docs/claims.toml: python docs/render_claims.py"""

import tomllib
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """# Claims

Every numbered claim of both papers, what checks it here, and what came of it. Made from `docs/claims.toml` by
`python docs/render_claims.py`.

"""
NAMES = {
    "Mandal": "Mandal, Lin and Srikant",
    "Rahbar": "Rahbar, Panahi, Bhattacharyya, Dubhashi and Haghir Chehreghani",
}


def claims() -> list[dict]:
    return tomllib.loads((HERE / "claims.toml").read_text(encoding="utf-8"))["claim"]


def render(found: list[dict]) -> str:
    parts = [HEAD]
    for paper, authors in NAMES.items():
        rows = [claim for claim in found if claim["paper"] == paper]
        parts.append(f"## {authors}\n\n| where | claim | verdict | checked by |\n| --- | --- | --- | --- |\n")
        for claim in rows:
            verdict = f"**{claim['verdict']}**" + (f". {claim['comment']}" if claim["comment"] else "")
            checks = "<br>".join(_check(check) for check in claim["checks"]) or "–"
            parts.append(f"| {claim['where']} | {claim['says']} | {verdict} | {checks} |\n")
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


def _check(check: str) -> str:
    if check.startswith("study:"):
        name = check.removeprefix("study:")
        return f"[`softlabel reproduce {name}`](results/{name}/README.md)"
    return f"`{check.removeprefix('tests/')}`"


if __name__ == "__main__":
    (HERE / "claims.md").write_text(render(claims()), encoding="utf-8")
