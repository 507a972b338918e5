"""Two-layer students as files: ONNX, safetensors, and for small ones ten lines of NumPy; all compared with them."""

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.errors import SoftlabelError, require
from softlabel.export.layers import layers_of
from softlabel.export.numpy_code import MARK, can_be_numpy, numpy_code, numpy_weights
from softlabel.export.onnx_graph import student_onnx
from softlabel.networks.student_model import StudentModel
from softlabel.numerics.files import replacing_all

TOLERANCE = 1e-4  # difference of probabilities that a parity check allows
SAMPLE = 1024
SMALL = 1_000_000


@dataclass(frozen=True, eq=False)
class Exported:
    """What was written.

    paths       name.onnx, name.safetensors, and for small students name.npz and name.py
    parity      largest difference of probabilities from the student: of "onnx", "safetensors", "numpy"
    bytes       of the ONNX file
    notes       what was left out, and why
    """

    paths: tuple[Path, ...]
    parity: dict[str, float]
    bytes: int
    notes: tuple[str, ...] = ()

    def path(self, ending: str) -> Path | None:
        """The file with this ending, e.g. "py"; None where it was left out."""
        return next((path for path in self.paths if path.name.endswith(f".{ending}")), None)


def export_student(model: StudentModel, folder: str | Path, name: str, example: np.ndarray) -> Exported:
    """Write a student as files `name`.* and compare each with it on `example`, raw inputs (n, d).

    A file whose probabilities differ by more than `TOLERANCE` is refused, and then none is written. The ONNX file holds
    float32 weights, or float64 ones where the student has them and float32 is not enough.
    """
    folder = Path(folder)
    require(name not in ("", ".", "..") and Path(name).name == name, f"a student's name must be a file's, got '{name}'")
    sample = _sample(model, example)
    truth = model.probabilities(sample)
    weights = layers_of(model).bytes
    notes = []
    if not can_be_numpy(model.network.activation):
        notes.append(f"no NumPy predictor: NumPy has no {model.network.activation}")
    elif weights > SMALL:
        notes.append(f"no NumPy predictor: {weights:,} bytes of weights, it is for up to {SMALL:,}")
    known = _is_ours(folder, name)
    if not notes:
        for ending in ("py", "npz"):
            path = folder / f"{name}.{ending}"
            require(known or not path.exists(), f"'{path}' was not written by softlabel: choose another name")
    with replacing_all(folder) as place:
        parity = {"onnx": _write_onnx(model, place / f"{name}.onnx", sample, truth)}
        model.save(place / f"{name}.safetensors")
        parity["safetensors"] = _difference(
            StudentModel.load(place / f"{name}.safetensors").probabilities(sample), truth
        )
        if not notes:
            (place / f"{name}.npz").write_bytes(numpy_weights(model))
            (place / f"{name}.py").write_text(numpy_code(model), encoding="utf-8")
            parity["numpy"] = _difference(runpy.run_path(str(place / f"{name}.py"))["predict_proba"](sample), truth)
        for kind, difference in parity.items():
            if not difference <= TOLERANCE:
                raise SoftlabelError(
                    f"the exported {kind} file of '{name}' differs from the student by {difference:.2g} in a "
                    f"probability ({TOLERANCE:g} is allowed) and was removed; scale 'standard' keeps rounding small"
                )
    if notes and known:  # of an earlier student of this name
        for ending in ("py", "npz"):
            (folder / f"{name}.{ending}").unlink(missing_ok=True)
    endings = ["onnx", "safetensors", *([] if notes else ["npz", "py"])]
    paths = tuple(folder / f"{name}.{ending}" for ending in endings)
    return Exported(paths, parity, paths[0].stat().st_size, tuple(notes))


def _sample(model: StudentModel, example: Any) -> np.ndarray:
    """Some rows to compare on, as float32."""
    table = np.asarray(example)
    require(
        table.ndim == 2 and len(table) > 0 and table.shape[1] == model.network.inputs,
        f"example inputs must be (n, {model.network.inputs}) with at least one row, got shape {table.shape}",
    )
    with np.errstate(over="ignore"):
        sample = np.ascontiguousarray(table[:SAMPLE], dtype=np.float32)
    require(bool(np.isfinite(sample).all()), "example inputs hold missing or infinite values: leave those rows out")
    return sample


def _is_ours(folder: Path, name: str) -> bool:
    """Whether a predictor that softlabel wrote has this name."""
    try:
        return (folder / f"{name}.py").read_text(encoding="utf-8").startswith(MARK)
    except (OSError, UnicodeDecodeError):
        return False


def _write_onnx(model: StudentModel, path: Path, sample: np.ndarray, truth: np.ndarray) -> float:
    """Write the first precision that is enough, and return its difference."""
    import onnx

    double = model.network.hidden.dtype == torch.float64
    difference = np.inf
    for work in (np.float32, np.float64) if double else (np.float32,):
        built = student_onnx(model, work)
        onnx.checker.check_model(built, full_check=True)
        path.write_bytes(built.SerializeToString())
        difference = _onnx_difference(model, path, sample, truth)
        if difference <= TOLERANCE:
            break
    return difference


def _onnx_difference(model: StudentModel, path: Path, sample: np.ndarray, truth: np.ndarray) -> float:
    """Of the probabilities; infinite where a class is named that is not the likeliest."""
    from softlabel.teachers.onnx_session import OnnxSession

    said, found = OnnxSession(path).runtime.run(["label", model.softening.output_name], {"inputs": sample})
    difference = _difference(found, truth)
    places = np.array([model.classes.index(name) for name in np.asarray(said).tolist()])
    behind = truth.max(axis=1) - truth[np.arange(len(truth)), places]
    return difference if (behind <= 2 * TOLERANCE).all() else np.inf


def _difference(found: Any, truth: np.ndarray) -> float:
    return float(np.abs(np.asarray(found, dtype=np.float64) - truth).max())
