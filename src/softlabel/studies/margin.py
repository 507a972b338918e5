"""`margin`: how separable a data set is in the kernel limit, as a certified interval."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.errors import require
from softlabel.lab.file_names import file_names
from softlabel.lab.writable import check_directory
from softlabel.memory import check_memory
from softlabel.networks.initialization import draw_weights
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.drawing import chart_figure, draw
from softlabel.report.page import Table
from softlabel.report.progress import status_progress
from softlabel.studies.arguments import problem_from
from softlabel.studies.signed_rows import PARTS, SignedRows, inputs_in_ball, signed_rows
from softlabel.teachers import KernelLimitTeacher
from softlabel.theory.bounds import Overview, overview
from softlabel.theory.margin import Margin, MarginProgress, init_margin
from softlabel.theory.margin import margin as certified_margin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INIT_SEEDS = 3
Search = Callable[[np.ndarray, np.ndarray, str, int], Margin]
log = logging.getLogger("softlabel")


@dataclass(frozen=True, kw_only=True)
class MarginOptions:
    """Less common settings of `margin`.

    Parameters
    ----------
    confidence : float, default=0.95
        Confidence of the interval.
    kappa : float, default=1.0
        Inverse temperature κ of the teacher that is saved.
    init_widths : sequence of int
        Even widths of students. For each, the margin γ_m of three symmetric initializations is computed, and drawn
        into the directory `out`.
    progress : callable, optional
        Called with a `MarginProgress` as the interval narrows, instead of showing a line in a terminal or a notebook.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.MarginOptions(confidence=0.99).kappa
    1.0
    """

    confidence: float = 0.95
    kappa: float = 1.0
    init_widths: Sequence[int] = ()
    progress: Callable[[MarginProgress], None] | None = None

    def __post_init__(self) -> None:
        require(0 < self.kappa < float("inf"), f"kappa must be positive and finite, got {self.kappa}")
        require(
            all(isinstance(width, int) and width > 0 and width % 2 == 0 for width in self.init_widths),
            f"init_widths must be positive even integers, got {', '.join(map(str, self.init_widths))}",
        )


@dataclass(frozen=True, eq=False, repr=False)
class DatasetMargin(Margin):
    """Result of `softlabel.margin`: the `Margin` of a data set.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    classes : mapping of str to Margin
        With several classes, the margin of every class against the rest; all of them together have the `confidence`.
        `lower`, `upper`, `floor` and `teacher_lower` are then bounds on the smallest of these margins, `seconds` is the
        time for all classes, and the other attributes are those of the class with the smallest upper end.
    init_margins : sequence of dict
        The margin γ_m ("gamma") of initializations by "width" and "seed", for the `init_widths` of the options.
    smallest_norm : float
        The smallest norm c of an input.

    See Also
    --------
    softlabel.theory.margin.Margin : The other attributes.

    Examples
    --------
    >>> import softlabel as sl
    >>> X = [[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]
    >>> result = sl.margin(X, [1, -1, -1], work_limit=1e8)
    >>> 0 < result.lower <= result.upper <= 0.5
    True
    """

    dataset: str = "data"
    classes: Mapping[str, Margin] = field(default_factory=dict)
    init_margins: Sequence[Mapping[str, float]] = ()
    smallest_norm: float = 1.0

    @classmethod
    def from_margin(cls, margin: Margin, **more: Any) -> "DatasetMargin":
        """The margin with the name of its data set, and what else is known about it."""
        return cls(**{each.name: getattr(margin, each.name) for each in fields(Margin)} | more)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values, without the teacher's arrays."""
        document = {"dataset": self.dataset, **super().to_dict(), "smallest_norm": self.smallest_norm}
        if self.init_margins:
            document["init_margins"] = [dict(row) for row in self.init_margins]
        if self.classes:
            document["classes"] = [
                {"class": name, "dataset": self.dataset, **one.to_dict()} for name, one in self.classes.items()
            ]
        return document

    def bounds(
        self,
        epsilon: float = 0.1,
        *,
        delta: float = 0.05,
        kappa: float = 1.0,
        alpha: float = 1.0,
        width: int | None = None,
    ) -> Overview:
        """The numbers of neurons, learning rates, iterations and radii that suffice for these data.

        The margin is the certified one of the teacher that the search found (`teacher_lower`), or the lower end of γ*
        where no teacher is certified; n and c are those of the data.

        Parameters
        ----------
        epsilon, delta, kappa, alpha
            See `softlabel.theory.bounds`.
        width : int, optional
            Even number of neurons. If set, the overview includes what this width guarantees.

        Returns
        -------
        Overview

        Raises
        ------
        InputError
            If no positive margin is certified, so that no width is proved sufficient.

        Examples
        --------
        >>> import softlabel as sl
        >>> result = sl.margin([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]], [1, -1, -1], work_limit=1e7)
        >>> result.bounds(epsilon=0.2).families["tight"]["soft"].width < result.bounds(epsilon=0.1).families["tight"][
        ...     "soft"
        ... ].width
        True
        """
        require(self.zero is None, f"no width suffices for '{self.dataset}': {self._headline}")
        gamma = self.teacher_lower if self.teacher_lower > 0 else self.lower
        require(
            gamma > 0,
            f"no positive margin of '{self.dataset}' is certified yet (γ* lies between {self.lower:.4g} and "
            f"{self.upper:.4g}): use fewer `rows`, or a larger `work_limit`",
        )
        require(self.smallest_norm > 0, f"'{self.dataset}' has an input of norm 0, for which the theorems do not hold")
        c = min(self.smallest_norm, 1.0)
        return overview(gamma, epsilon, self.n, delta, c, kappa, alpha, width)

    @property
    def summary(self) -> list[str]:
        """What the table leaves out, in plain sentences."""
        zeros = [one.zero.reason for one in (self.classes or {"": self}).values() if one.zero is not None]
        inits = [
            f"Initialization of width {row['width']:,}, seed {row['seed']}: γ_m = {row['gamma']:.4g}."
            for row in self.init_margins
        ]
        return [*(f"γ* = 0: {reason}." for reason in zeros), *inits, f"Asymptotic: {self.asymptotic}."]

    @property
    def table(self) -> Table:
        """The intervals, one row per class with several classes."""
        title = f"margin of {self.dataset}, {self.n:,} points of {self.d} inputs, confidence {self.confidence:.0%}"
        rows = {f"{name} / rest": one for name, one in self.classes.items()} or {"γ*": self}
        lines = [
            [
                name,
                f"{one.lower:.4g} … {one.upper:.4g}",
                f"{one.relative_gap:.1%}",
                f"{one.teacher_lower:.4g}",
                f"{one.kernel[1]:.4g}",
                f"{one.floor:.3g}",
                f"{one.seconds:.0f} s",
            ]
            for name, one in rows.items()
        ]
        header = ["", "γ*", "gap", "teacher's γ(v) ≥", "γ_1", "floor", "time"]
        about = (
            "γ* is the separation margin, and gap the length of its interval divided by the upper end. γ(v) is the "
            "margin of the teacher v that the search yields, γ_1 ≥ γ* the margin of the kernel, and floor a lower "
            "bound on γ* without sampling."
        )
        return Table(title, about, header, lines)

    def plot(self) -> "Figure":
        """The interval of γ*; with several classes, that of every class against the rest."""
        if not self.classes:
            return super().plot()
        low, high = ([getattr(one, end) for one in self.classes.values()] for end in ("lower", "upper"))
        middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        series = Series("γ*, class against the rest", list(self.classes), middle, low, high, role="soft", marks=True)
        panel = Panel(f"confidence {self.confidence:.0%}", [series], "class", "margin")
        return chart_figure(Chart("margins", f"Separation margins of {self.dataset}", "", [panel]))

    def _repr_html_(self) -> str:
        from softlabel.report.notebook import result_html

        return result_html([self._headline, *self.summary], self.plot(), self.table)


def margin(
    X: Any,
    y: Any = None,
    *,
    label: str | int | None = None,
    rows: int | None = None,
    part: str = "full",
    several_classes: bool = False,
    rtol: float = 0.05,
    time_limit: float | None = None,
    work_limit: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    options: MarginOptions | None = None,
) -> DatasetMargin:
    """Certify the separation margin γ* of a data set, and find its kernel-limit teacher.

    The interval becomes narrower until it meets `rtol` or a limit is reached; the best interval so far is returned.

    Parameters
    ----------
    X : array, frame, str, path, tuple or Problem
        The data: an array or a frame with labels `y`, the name of a data set, a file, or a `Problem`. An array with
        norms of at most 1 and labels −1 and +1 is used unchanged. Other inputs are scaled, and divided by their largest
        norm where it exceeds 1.
    y : array or str, optional
        One label per row, or the name of the label column.
    label : str or int, optional
        Name of the label column of a file or a frame.
    rows : int, optional
        Use only this many rows, drawn by the seed.
    part : {"full", "train"}, default="full"
        Use all rows except official test rows, or only the training rows of `verdict` and `train`.
    several_classes : bool, default=False
        Compute the margin of every class against the rest. Default: the two classes of `Problem.binary`.
    rtol : float, default=0.05
        Relative width at which the interval is narrow enough.
    time_limit : float, optional
        Time limit in seconds. The result then depends on the machine.
    work_limit : float, optional
        Limit on floating-point operations, with which the result is reproducible. Default: 1e13 if there is no time
        limit.
    seed : int, default=0
        Random seed.
    out : str or path, optional
        Directory for the teacher (teacher.safetensors, or one file per class) and the figure of initializations.
    options : MarginOptions, optional
        Less common settings.

    Returns
    -------
    DatasetMargin
        The interval `lower`, `upper`; the margin of the teacher; and with several classes the margin of each.

    See Also
    --------
    softlabel.theory.margin.margin : The computation for arrays, with a `progress` callback.
    audit : Train a student as the theorems prescribe, and check every step.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.margin([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]], [1, -1, -1], work_limit=1e7)
    >>> 0 < result.lower <= result.upper <= 0.5
    True
    >>> sl.margin("digits", rows=10, rtol=0.5, work_limit=1e7).dataset
    'digits'
    """
    options = options or MarginOptions()
    widths = sorted(set(options.init_widths))
    require(not widths or out is not None, "`init_widths` draws a figure: set `out` to a directory for it")
    require(not widths or not several_classes, "`init_widths` needs two classes: leave out `several_classes`")
    check_directory(out, folders=("figures",) if widths else ())
    out = None if out is None else Path(out)

    def search(x: np.ndarray, signs: np.ndarray, name: str, statements: int = 1) -> Margin:
        confidence = 1 - (1 - options.confidence) / statements
        return search_margin(x, signs, name, rtol=rtol, time_limit=time_limit, work_limit=work_limit, seed=seed,
                             confidence=confidence, progress=options.progress)  # fmt: skip

    if several_classes:
        problem = problem_from(X, y, label=label, seed=seed)
        table, chosen = inputs_in_ball(problem, part, rows, seed)
        classes = problem.part(PARTS[part]).y[chosen]
        result = _one_against_rest(problem.name, table, classes, problem.classes, search, options.kappa, out)
        return replace(result, smallest_norm=_smallest_norm(table), confidence=options.confidence)
    data = signed_rows(X, y, label=label, rows=rows, part=part, seed=seed)
    if widths:
        check_memory(4 * len(data.X) * max(widths), f"`init_widths` up to {max(widths):,}", "use smaller widths")
    result = search(data.X, data.y, "γ*")
    _save_teacher(result, data.X, data.y, options.kappa, out, "teacher.safetensors")
    inits = _init_margins(data, widths, result, seed, out) if out is not None and widths else ()
    return DatasetMargin.from_margin(
        result, dataset=data.name, init_margins=inits, smallest_norm=_smallest_norm(data.X)
    )


def _smallest_norm(x: np.ndarray) -> float:
    return float(np.linalg.norm(x, axis=1).min())


def search_margin(
    x: np.ndarray,
    signs: np.ndarray,
    name: str,
    *,
    progress: Callable[[MarginProgress], None] | None = None,
    **settings: Any,
) -> Margin:
    """The certified margin; without a `progress` callback there is a line in a terminal or a notebook."""
    if progress is not None:
        return certified_margin(x, signs, progress=progress, **settings)

    def line(at: MarginProgress) -> str:
        return f"{name} in [{at.lower:.4g}, {at.upper:.4g}] after {at.seconds:.0f} s: {at.stage}"

    with status_progress(name) as show:
        return certified_margin(x, signs, progress=lambda at: show(line(at)), **settings)


def _one_against_rest(
    dataset: str,
    table: np.ndarray,
    classes: np.ndarray,
    names: Sequence[str],
    search: Search,
    kappa: float,
    out: Path | None,
) -> DatasetMargin:
    """The margin of every class against the rest, and their smallest."""
    margins: dict[str, Margin] = {}
    files, drawn = file_names(names), len(np.unique(classes))
    for number, name in enumerate(names):
        if number not in classes:
            continue  # no row of this class was drawn
        signs = np.where(classes == number, 1.0, -1.0)
        margins[name] = search(table, signs, f"class {name} against the rest", drawn)
        _save_teacher(margins[name], table, signs, kappa, out, f"teacher-{files[name]}.safetensors")
    smallest = min(margins.values(), key=lambda one: one.upper)
    least = {name: min(getattr(one, name) for one in margins.values()) for name in ("lower", "floor", "teacher_lower")}
    seconds = sum(one.seconds for one in margins.values())
    return DatasetMargin.from_margin(smallest, dataset=dataset, classes=margins, seconds=seconds, **least)


def _save_teacher(margin: Margin, x: np.ndarray, signs: np.ndarray, kappa: float, out: Path | None, name: str) -> None:
    if out is None or margin.zero is not None:
        return
    KernelLimitTeacher.from_margin(margin, x, signs, kappa).save(out / name)
    log.info("teacher saved as %s", out / name)


def _init_margins(
    data: SignedRows, widths: Sequence[int], margin: Margin, seed: int, out: Path
) -> list[dict[str, float]]:
    """γ_m of symmetric initializations by width and seed, and their figure."""
    rows: list[dict[str, float]] = []
    for width in widths:
        for init_seed in range(seed, seed + INIT_SEEDS):
            weights = draw_weights("symmetric", width=width, inputs=data.X.shape[1], seed=init_seed).hidden
            gamma = init_margin(data.X, data.y, weights[: width // 2])
            rows.append({"width": width, "seed": init_seed, "gamma": gamma})
    for path in draw(_init_chart(rows, widths, margin), out / "figures"):
        log.info("figure saved as %s", path)
    return rows


def _init_chart(rows: Sequence[Mapping[str, float]], widths: Sequence[int], margin: Margin) -> Chart:
    """γ_m against the width, and the certified interval of γ*."""
    by_width = [[row["gamma"] for row in rows if row["width"] == width] for width in widths]
    means = [float(np.mean(gammas)) for gammas in by_width]
    low, high = list(map(min, by_width)), list(map(max, by_width))
    series = [Series(f"γ_m at initialization, {INIT_SEEDS} seeds", widths, means, low, high, role="soft")]
    panel = Panel("mean and range of γ_m (Lemma 6)", series, "neurons m", "margin", log_x=True, ticks=widths,
                  band=(margin.lower, margin.upper), band_name="γ*, certified interval")  # fmt: skip
    return Chart("init-margins", "Separability of a student's initial features", "", [panel])
