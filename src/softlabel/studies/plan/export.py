"""Export of the planned students."""

import logging
from pathlib import Path
from typing import Any

from softlabel.studies.plan.cells import ARMS
from softlabel.studies.plan.result import Plan
from softlabel.studies.students.families.family import REFUSED
from softlabel.studies.students.taught_problem import TaughtProblem

log = logging.getLogger("softlabel")


def export_planned(plan: Plan, problem: TaughtProblem, run_dir: Path) -> dict[str, Any]:
    """Export one student of each arm's planned width into run_dir/students; returns files, sizes and latencies."""
    exported: list[dict[str, Any]] = []
    for arm in ARMS:
        kept = plan.kept(arm)
        if kept is None:
            continue
        cell, result = kept
        arrays = {name.removeprefix("weights "): v for name, v in result.arrays.items() if name.startswith("weights ")}
        if REFUSED in arrays:
            log.warning("%s", arrays[REFUSED].tobytes().decode())
            continue
        about = {"arm": arm, "width": cell.width, "seed": cell.seed, "accuracy": result.metrics["accuracy"],
                 "validation": result.metrics["validation"]}  # fmt: skip
        files = plan.settings.family.export(problem, cell, arrays, run_dir / "students", f"{arm}-{cell.width}")
        exported.append(about | files)
    return {"exported": exported}
