"""`dynamics`: how a student with privileged knowledge learns, predicted in the kernel regime and simulated."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from softlabel.errors import require, unknown
from softlabel.lab.writable import check_directory
from softlabel.ranges import check_count, check_positive
from softlabel.report.progress import status_progress
from softlabel.studies.dynamics.choices import choice_sweep
from softlabel.studies.dynamics.comparison import DynamicsResult, compare_dynamics
from softlabel.studies.dynamics.forecast import DynamicsProgress
from softlabel.studies.dynamics.student import SCALES, StudentSettings
from softlabel.studies.dynamics.sweeps import Sweep, distance_sweep, strength_sweep, width_sweep
from softlabel.studies.signed_rows import signed_rows

SweepName = Literal["widths", "strengths", "distances", "choices"]
SWEEPS = ("widths", "strengths", "distances", "choices")
ACTIVATION, WIDTH_ACTIVATIONS = "softplus", ("softplus", "tanh")
log = logging.getLogger("softlabel")


@dataclass(frozen=True, kw_only=True)
class DynamicsOptions:
    """Less common settings of `dynamics`.

    Parameters
    ----------
    activation : {"relu", "softplus", "tanh", "erf", "gelu"}, optional
        Activation of the units. Default: "softplus", and for a sweep along widths "softplus" and "tanh".
    init : {"teacher", "random"}, default="teacher"
        Initialize the student with the weights of the teacher's chosen units, or at random.
    init_scale : float, default=1.0
        Standard deviation of random initial weights.
    learning_rate : float, optional
        Learning rate of the student. Default: a fifth of 2/λ_max.
    test_rows : int, default=0
        Number of rows that the student is not trained on, drawn by the seed, on which its error is predicted and
        simulated too. Not with a sweep.
    progress : callable, optional
        Function that is called with a `DynamicsProgress` from time to time; from the beginning of the simulation on, it
        has the prediction. Default: a line on standard error in a terminal. Not with a sweep.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.DynamicsOptions(activation="tanh").init
    'teacher'
    """

    activation: str | None = None
    init: str = "teacher"
    init_scale: float = 1.0
    learning_rate: float | None = None
    test_rows: int = 0
    progress: Callable[[DynamicsProgress], None] | None = None

    def __post_init__(self) -> None:
        check_positive(self.init_scale, "init_scale", *SCALES)
        if self.learning_rate is not None:
            check_positive(self.learning_rate, "learning_rate")
        check_count(self.test_rows, "test_rows", least=0)


class _Keywords(TypedDict, total=False):
    """The keyword arguments that are the same with and without a sweep."""

    label: str | int | None
    rows: int | None
    width: int
    teacher_width: int
    strength: float
    iterations: int
    seed: int
    out: str | Path | None
    options: DynamicsOptions | None


@overload
def dynamics(X: Any, y: Any = None, *, sweep: None = None, **keywords: Unpack[_Keywords]) -> DynamicsResult: ...


@overload
def dynamics(
    X: Any, y: Any = None, *, sweep: Mapping[SweepName, Sequence[float]], **keywords: Unpack[_Keywords]
) -> Sweep: ...


def dynamics(
    X: Any,
    y: Any = None,
    *,
    label: str | int | None = None,
    rows: int | None = 200,
    width: int = 100,
    teacher_width: int = 400,
    strength: float = 1.0,
    iterations: int = 1000,
    sweep: Mapping[SweepName, Sequence[float]] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    options: DynamicsOptions | None = None,
) -> DynamicsResult | Sweep:
    """Predict how a student with privileged knowledge learns (limit, poles, curve), and train it for comparison.

    Parameters
    ----------
    X : array, frame, str, path, tuple or Problem
        The data, as in `margin`.
    y : array or str, optional
        One label per row, or the name of the label column.
    label : str or int, optional
        Name of the label column of a file or a frame.
    rows : int or None, default=200
        Number of rows to use, drawn by the seed; None for all.
    width : int, default=100
        Units of the student.
    teacher_width : int, default=400
        Units of the teacher from which the student's units are chosen.
    strength : float, default=1.0
        λ, the weight of the privileged knowledge, from 0 to infinity.
    iterations : int, default=1000
        Steps of gradient descent.
    sweep : mapping, optional
        One quantity to vary, with its values: ``{"widths": [50, 200]}`` (how fast the deviation of the prediction
        decreases), ``{"strengths": [0, 0.1, inf]}`` (final error and speed by λ), ``{"distances": [0, 1]}``
        (initializations away from what is known), or ``{"choices": [10, 40]}`` (units chosen from the teacher).
    seed : int, default=0
        Random seed.
    out : str or path, optional
        Directory for the figure.
    options : DynamicsOptions, optional
        Less common settings.

    Returns
    -------
    DynamicsResult or Sweep
        The comparison of one student; with `sweep`, the numbers along the sweep.

    See Also
    --------
    softlabel.theory.dynamics.kernel_dynamics : The prediction alone.

    Examples
    --------
    >>> import softlabel as sl
    >>> X = [[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]]
    >>> result = sl.dynamics(X, [1, 1, -1, -1], width=10, teacher_width=20, iterations=20)
    >>> result.deviation < 0.1
    True
    """
    options = options or DynamicsOptions()
    student = StudentSettings(
        width, teacher_width, strength, options.activation or ACTIVATION, options.init_scale, iterations,
        options.learning_rate, seed,
    )  # fmt: skip
    _check_sweep(sweep, options)
    check_directory(out, folders=("figures",))
    data = signed_rows(X, y, label=label, rows=rows, seed=seed, test_rows=options.test_rows).in_double_precision()
    with status_progress("predicting and simulating") as show:
        if sweep is None:
            progress = options.progress or (lambda state: show(state.sentence))
            result = compare_dynamics(data, student, options.init, progress)
        else:
            result = _run_sweep(data.X, data.y, sweep, student, options.activation)
    if out is not None:
        from softlabel.report.drawing import draw

        for path in draw(result.chart, Path(out) / "figures"):
            log.info("figure saved as %s", path)
    return result


def _check_sweep(sweep: Mapping[SweepName, Sequence[float]] | None, options: DynamicsOptions) -> None:
    """Raise unless one known quantity is varied, with values that it can have."""
    if sweep is None:
        return
    require(options.test_rows == 0, f"test_rows must be 0 with a sweep, got {options.test_rows}; use no sweep")
    require(options.progress is None, "a sweep does not call `progress`; leave it out")
    names = " and ".join(f"`{name}`" for name in sweep)
    require(len(sweep) == 1, f"a sweep varies one quantity, got {names or 'none'}: choose one")
    ((name, values),) = sweep.items()
    if name not in SWEEPS:
        raise unknown("sweep", name, SWEEPS)
    require(len(values) > 0, f"{name} must contain at least one value, got none")
    for value in values:
        if name in ("widths", "choices"):
            check_count(value, name)
        else:  # λ may be infinite
            limit = math.inf if name == "distances" else math.nan
            require(value >= 0 and value != limit, f"{name} must be nonnegative numbers, got {value}")


def _run_sweep(
    x: np.ndarray,
    signs: np.ndarray,
    sweep: Mapping[SweepName, Sequence[float]],
    student: StudentSettings,
    activation: str | None,
) -> Sweep:
    ((name, values),) = sweep.items()
    values = sorted(set(values))
    if name == "widths":
        activations = WIDTH_ACTIVATIONS if activation is None else (activation,)
        return width_sweep(x, signs, [int(value) for value in values], student, activations)
    if name == "choices":
        return choice_sweep(x, signs, [int(value) for value in values], student)
    return (strength_sweep if name == "strengths" else distance_sweep)(x, signs, values, student)
