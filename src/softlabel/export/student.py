"""Two-layer students as ONNX, safetensors and (small ones) NumPy files, each compared with the student."""

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from softlabel.data.encoding import TableEncoder
from softlabel.data.encoding.encoder import CategoryStep, TextStep, category_text
from softlabel.data.encoding.raw import check_types, encoded_rows, raw_frame
from softlabel.errors import SoftlabelError, require
from softlabel.export.encoder_graph import encoder_feeds
from softlabel.export.layers import student_layers
from softlabel.export.numpy_code import MARK, can_be_numpy, numpy_code, numpy_weights
from softlabel.export.onnx_graph import output_names, student_onnx
from softlabel.networks.student_model import StudentModel
from softlabel.numerics.files import replacing_all

if TYPE_CHECKING:
    import polars

TOLERANCE = 1e-4  # largest allowed difference of probabilities
SAMPLE = 1024
UNKNOWN = "(in no training row)"
SMALL = 1_000_000  # largest size of the weights, in bytes, for a NumPy predictor


@dataclass(frozen=True, eq=False)
class Exported:
    """The files written by `export_student`.

    Attributes
    ----------
    paths : tuple of Path
        ``name.onnx``, ``name.safetensors``, and for small students ``name.npz`` and ``name.py``.
    parity : dict of str to float
        Largest difference of probabilities from the student, for "onnx", "safetensors" and "numpy".
    bytes : int
        Size of the ONNX file.
    notes : tuple of str
        Which files were omitted, and why.

    Examples
    --------
    >>> from pathlib import Path
    >>> import softlabel as sl
    >>> exported = sl.Exported((Path("iris.onnx"), Path("iris.safetensors")), {"onnx": 2e-7, "safetensors": 0.0}, 1728)
    >>> exported.path("onnx").name, exported.path("py")
    ('iris.onnx', None)
    """

    paths: tuple[Path, ...]
    parity: dict[str, float]
    bytes: int
    notes: tuple[str, ...] = ()

    def path(self, ending: str) -> Path | None:
        """The file with this ending, for example "py"; None if it was omitted."""
        return next((path for path in self.paths if path.name.endswith(f".{ending}")), None)


def export_student(model: StudentModel, directory: str | Path, name: str, example: Any) -> Exported:
    """Write a two-layer student as ONNX, safetensors and NumPy files.

    Each file is compared with the student on `example`. If the probabilities of one of them differ by more than 1e-4,
    no file is written. The ONNX file contains float32 weights, or float64 weights if float32 is not accurate enough.
    The NumPy predictor (a .py and an .npz file) is written for students of up to 1 MB whose activation NumPy can
    compute.

    The files of a student with an encoder take its raw columns by name. In the ONNX file each column is an input of
    shape (n, 1): numbers (also integers, and 1 and 0 for true and false) are float32 with NaN for missing values, dates
    are float64 days since 1970-01-01, and categories and text are strings, empty if missing. `example` is then
    complemented with rows that have missing values and unknown categories.

    Parameters
    ----------
    model : StudentModel
        The student, for example `TwoLayerClassifier.model_`.
    directory : str or Path
        Directory of the files.
    name : str
        Name of the files, without ending.
    example : array-like of shape (n, d), or frame
        Raw inputs, for a student with an encoder a polars or pandas frame or a dictionary of columns; the first 1,024
        rows are used.

    Returns
    -------
    Exported
        Paths of the files and their differences from the student.

    Raises
    ------
    SoftlabelError
        If a file differs from the student.

    See Also
    --------
    load_model : Read such a file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import softlabel as sl
    >>> X, y = load_iris(return_X_y=True)
    >>> student = sl.TwoLayerClassifier(width=8).fit(X, y).model_
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     exported = sl.export_student(student, directory, "iris", X)
    >>> [path.name for path in exported.paths]
    ['iris.onnx', 'iris.safetensors', 'iris.npz', 'iris.py']
    """
    directory = Path(directory)
    require(name not in ("", ".", "..") and Path(name).name == name, f"name must be a file name, got '{name}'")
    sample = _sample(model, example)
    truth = model.probabilities(sample)
    weights = student_layers(model).bytes
    notes = []
    if not can_be_numpy(model.network.activation):
        notes.append(f"no NumPy predictor: NumPy has no {model.network.activation}")
    elif weights > SMALL:
        notes.append(f"no NumPy predictor: the weights take {weights:,} bytes, more than {SMALL:,}")
    known = _is_ours(directory, name)
    if not notes:
        for ending in ("py", "npz"):
            path = directory / f"{name}.{ending}"
            require(known or not path.exists(), f"'{path}' was not written by softlabel: choose another name")
    with replacing_all(directory) as temporary:
        parity = {"onnx": _write_onnx(model, temporary / f"{name}.onnx", sample, truth)}
        model.save(temporary / f"{name}.safetensors")
        saved = StudentModel.load(temporary / f"{name}.safetensors")
        parity["safetensors"] = _difference(saved.probabilities(sample), truth)
        if not notes:
            (temporary / f"{name}.npz").write_bytes(numpy_weights(model))
            code = temporary / f"{name}.py"
            code.write_text(numpy_code(model), encoding="utf-8")
            rows = sample if isinstance(sample, np.ndarray) else sample.to_dict(as_series=False)
            parity["numpy"] = _difference(runpy.run_path(str(code))["predict_proba"](rows), truth)
        for kind, difference in parity.items():
            if not difference <= TOLERANCE:
                raise SoftlabelError(
                    f"the exported {kind} file of '{name}' differs from the student by {difference:.2g} in a "
                    f"probability ({TOLERANCE:g} is allowed) and was removed; `scale` 'standard' keeps rounding small"
                )
    if notes and known:  # files of an earlier student with this name
        for ending in ("py", "npz"):
            (directory / f"{name}.{ending}").unlink(missing_ok=True)
    endings = ["onnx", "safetensors", *([] if notes else ["npz", "py"])]
    paths = tuple(directory / f"{name}.{ending}" for ending in endings)
    return Exported(paths, parity, paths[0].stat().st_size, tuple(notes))


def _sample(model: StudentModel, example: Any) -> "np.ndarray | polars.DataFrame":
    """The rows to compare on, as float32, or as a frame for a student with an encoder."""
    if model.encoder is not None:
        return _raw_sample(model.encoder, example)
    table = np.asarray(example)
    require(
        table.ndim == 2 and len(table) > 0 and table.shape[1] == model.network.inputs,
        f"example must have shape (n, {model.network.inputs}) with at least one row, got {table.shape}",
    )
    with np.errstate(over="ignore"):
        sample = np.ascontiguousarray(table[:SAMPLE], dtype=np.float32)
    require(bool(np.isfinite(sample).all()), "`example` contains missing or infinite values: remove these rows")
    return sample


def _raw_sample(encoder: TableEncoder, example: Any) -> "polars.DataFrame":
    """Raw rows, and below them rows with unknown categories and with missing values, alone and all together."""
    import polars as pl

    frame = raw_frame(example, encoder.columns, "`example`")[:SAMPLE]
    require(len(frame) > 0, "`example` must have at least one row")
    check_types(frame, "`example`")
    words = [step.column for step in encoder.steps if isinstance(step, CategoryStep | TextStep)]
    frame = frame.with_columns([category_text(frame[name]) for name in words])
    unknown = frame[:1].with_columns([pl.lit(UNKNOWN).alias(name) for name in words])
    missing = [frame[:1].with_columns(frame[name].clear(1)) for name in frame.columns]
    probes = pl.concat([unknown, frame.clear(1), *missing])
    zero = (encoded_rows(encoder, probes, "`example`") == 0).all(axis=1)  # which `scale` 'unit' refuses
    return pl.concat([frame, probes.filter(~zero)])


def _is_ours(directory: Path, name: str) -> bool:
    """Whether there is a predictor with this name that was written by softlabel."""
    try:
        return (directory / f"{name}.py").read_text(encoding="utf-8").startswith(MARK)
    except (OSError, UnicodeDecodeError):
        return False


def _write_onnx(model: StudentModel, path: Path, sample: Any, truth: np.ndarray) -> float:
    """Write the file in the first precision that is accurate enough, and return its difference."""
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


def _onnx_difference(model: StudentModel, path: Path, sample: Any, truth: np.ndarray) -> float:
    """Largest difference of the probabilities; infinite if the label is not the most probable class."""
    from softlabel.teachers.onnx_session import OnnxSession

    outputs = output_names(model.softening, model.encoder)
    feeds = {"inputs": sample} if model.encoder is None else encoder_feeds(model.encoder, sample, "`example`")
    label, probabilities = OnnxSession(path).runtime.run(outputs, feeds)
    indices = np.array([model.classes.index(name) for name in np.asarray(label).tolist()])
    behind = truth.max(axis=1) - truth[np.arange(len(truth)), indices]
    return _difference(probabilities, truth) if (behind <= 2 * TOLERANCE).all() else np.inf


def _difference(probabilities: Any, truth: np.ndarray) -> float:
    return float(np.abs(np.asarray(probabilities, dtype=np.float64) - truth).max())
