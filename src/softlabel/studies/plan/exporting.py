"""The planned students as files."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.export import export_onnx, export_student, save_student
from softlabel.studies.plan.cells import ARMS
from softlabel.studies.plan.families import build_prepared, images_of, network_of, objective_of
from softlabel.studies.plan.judging import Judgement
from softlabel.studies.plan.settings import NETWORKS
from softlabel.studies.practice import Held, student_model
from softlabel.studies.practice.facts import latency

EXAMPLES = 256


def export_planned(judged: Judgement, held: Held, folder: Path) -> dict[str, Any]:
    """Export one student of each arm's planned width into folder/students; what was written and how fast it is."""
    exported: list[dict[str, Any]] = []
    for arm in ARMS:
        kept = judged.kept(arm)
        if kept is None:
            continue
        cell, outcome = kept
        arrays = {name.removeprefix("weights "): v for name, v in outcome.arrays.items() if name.startswith("weights ")}
        about = {"arm": arm, "width": cell.width, "seed": cell.seed, "accuracy": outcome.metrics["accuracy"],
                 "validation": outcome.metrics["validation"]}  # fmt: skip
        write = _deep if judged.settings.family != "two-layer" else _two_layer
        exported.append(about | write(judged, held, folder / "students", f"{arm}-{cell.width}", cell, arrays))
    return {"exported": exported}


def _two_layer(judged, held: Held, folder: Path, name: str, cell, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    model = student_model(held, network_of(arrays), cell)
    example = held.problem.inputs[held.problem.parts["test"][:EXAMPLES]]
    files = export_student(model, folder, name, example)
    return {"files": [str(path) for path in files.paths], "bytes": files.bytes, **latency(model.probabilities, example)}


def _deep(judged, held: Held, folder: Path, name: str, cell, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    student, full = NETWORKS[judged.settings.family]
    network = build_prepared(judged.settings, held, cell.width, cell.seed)
    network.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in arrays.items()})
    images = images_of(held.problem, "test")
    objective, classes = objective_of(cell), held.problem.classes
    line = f"{student}, {cell.width} channels; {objective}"
    export_onnx(network, images.pixels, folder / f"{name}.onnx", classes, objective.softening, line)
    about = {"network": student, "width": cell.width / full, "classes": list(classes), "image": list(images.shape)}
    about |= {"arm": cell.arm, **objective.softening.to_dict()}
    save_student(folder / f"{name}.safetensors", network, about)

    @torch.no_grad()
    def answer(pixels: np.ndarray) -> Any:
        return network(torch.from_numpy(pixels))

    files = [folder / f"{name}.onnx", folder / f"{name}.safetensors"]
    return {
        "files": [str(path) for path in files],
        "bytes": files[0].stat().st_size,
        **latency(answer, images.pixels[:64].numpy()),
    }
