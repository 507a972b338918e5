"""Export of the planned students."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.export import export_onnx, export_student, save_student
from softlabel.studies.plan.cells import ARMS
from softlabel.studies.plan.families import build_prepared, network_from, objective_of, part_images
from softlabel.studies.plan.result import Plan
from softlabel.studies.plan.settings import NETWORKS
from softlabel.studies.students.checks import latency
from softlabel.studies.students.recipe import StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.students.training import student_model


def export_planned(plan: Plan, problem: TaughtProblem, run_dir: Path) -> dict[str, Any]:
    """Export one student of each arm's planned width into run_dir/students; returns files, sizes and latencies."""
    exported: list[dict[str, Any]] = []
    for arm in ARMS:
        kept = plan.kept(arm)
        if kept is None:
            continue
        cell, result = kept
        arrays = {name.removeprefix("weights "): v for name, v in result.arrays.items() if name.startswith("weights ")}
        about = {"arm": arm, "width": cell.width, "seed": cell.seed, "accuracy": result.metrics["accuracy"],
                 "validation": result.metrics["validation"]}  # fmt: skip
        write = _deep if plan.settings.family != "two-layer" else _two_layer
        exported.append(about | write(plan, problem, run_dir / "students", f"{arm}-{cell.width}", cell, arrays))
    return {"exported": exported}


def _two_layer(
    plan: Plan, problem: TaughtProblem, folder: Path, name: str, cell: StudentCell, arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    model, example = student_model(problem, network_from(arrays), cell), problem.example
    assert example is not None
    files = export_student(model, folder, name, example)
    return {"files": [str(path) for path in files.paths], "bytes": files.bytes, **latency(model.probabilities, example)}


def _deep(
    plan: Plan, problem: TaughtProblem, folder: Path, name: str, cell: StudentCell, arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    student, full = NETWORKS[plan.settings.family]
    network = build_prepared(plan.settings, problem, cell.width, cell.seed)
    network.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in arrays.items()})
    images = part_images(problem, "test")
    objective, classes = objective_of(cell), problem.classes
    line = f"{student}, {cell.width} channels; {objective}"
    export_onnx(network, images.pixels, folder / f"{name}.onnx", classes, objective.softening, line)
    about = {"network": student, "width": cell.width / full, "classes": list(classes), "image": list(images.shape)}
    about |= {"arm": cell.arm, **objective.softening.to_dict()}
    save_student(folder / f"{name}.safetensors", network, about)

    @torch.no_grad()
    def predict(pixels: np.ndarray) -> Any:
        return network(torch.from_numpy(pixels))

    files = [folder / f"{name}.onnx", folder / f"{name}.safetensors"]
    return {
        "files": [str(path) for path in files],
        "bytes": files[0].stat().st_size,
        **latency(predict, images.pixels[:64].numpy()),
    }
