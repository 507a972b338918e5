"""The result of a margin computation, and the progress that it reports."""

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.theory.margin.zero import ZeroMargin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ASYMPTOTIC = (
    "Student's t for the mean gap of the samples, in the lower end of γ*; the teacher's margin and other means over "
    "fresh directions have empirical Bernstein bounds, which hold for every number of draws; the floor and γ_1 involve "
    "no sampling"
)


@dataclass(frozen=True)
class MarginProgress:
    """The state of a margin computation, as its `progress` callback receives it.

    Attributes
    ----------
    seconds : float
        Time elapsed.
    stage : str
        The current stage.
    lower, upper : float
        The interval so far.

    Examples
    --------
    >>> from softlabel.theory.margin import margin
    >>> result = margin([[1.0, 0.0], [0.0, 1.0]], [1, -1], work_limit=1e8, progress=lambda state: None)
    >>> result.history[0].stage
    'γ_1'
    """

    seconds: float
    stage: str
    lower: float
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Margin:
    """Result of `softlabel.margin`: an interval for the separation margin γ*, and the kernel-limit teacher.

    Attributes
    ----------
    n, d : int
        Number of examples and of inputs.
    lower, upper : float
        γ* lies between them with probability at least `confidence`; for `lower` this is an approximation, see
        `asymptotic`. Lower bounds without one are `floor` and `teacher_lower`.
    confidence : float
        Confidence of all statements together.
    floor : float
        A lower bound on γ* that involves no sampling.
    kernel : tuple of float
        Interval for γ_1, the margin of the kernel, with γ_1² ≤ γ* ≤ γ_1; its length is the error of the optimization.
    teacher_lower : float
        A lower bound on the margin γ(v) of the teacher; if it is not positive, the teacher may misclassify an example.
    q, smoothing : numpy.ndarray of shape (n,), float
        The teacher v(z) = G_q(z)/max(‖G_q(z)‖, s), with q in the simplex and s > 0.
    teacher_margins, teacher_errors : numpy.ndarray of shape (n,)
        The teacher's estimated margin y_i z_i at every example, and its standard error.
    seconds, operations : float
        Time and floating-point operations used.
    limited_by : str or None
        None if the interval meets `rtol` or γ* = 0; otherwise the limits of the search that kept it wider: "work",
        "time" or "work and time".
    zero : ZeroMargin or None
        Why γ* = 0, if it is.
    history : tuple of MarginProgress
        The progress of the search.
    asymptotic : str
        Which statements are approximations.

    Examples
    --------
    >>> from softlabel.theory.margin import margin
    >>> margin([[1.0, 0.0], [0.5, 0.0]], [1, -1])
    <Margin: γ* = 0: rows 0 and 1 are parallel and labeled differently>
    """

    n: int
    d: int
    lower: float
    upper: float
    confidence: float
    floor: float
    kernel: tuple[float, float]
    teacher_lower: float
    q: np.ndarray
    smoothing: float
    teacher_margins: np.ndarray
    teacher_errors: np.ndarray
    seconds: float
    operations: float
    limited_by: str | None
    zero: ZeroMargin | None = None
    history: tuple[MarginProgress, ...] = ()
    asymptotic: str = ASYMPTOTIC

    @property
    def relative_gap(self) -> float:
        """(upper − lower)/upper, the quantity that `rtol` limits."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values, without the teacher's arrays."""
        return {
            "n": self.n,
            "d": self.d,
            "gamma_lower": self.lower,
            "gamma_upper": self.upper,
            "relative_width": self.relative_gap,
            "confidence": self.confidence,
            "gamma_kernel": self.kernel[1],
            "gamma_kernel_lower": self.kernel[0],
            "gamma_floor": self.floor,
            "gamma_teacher_lower": self.teacher_lower,
            "zero": None if self.zero is None else {"rows": list(self.zero.rows), "reason": self.zero.reason},
            "asymptotic": self.asymptotic,
            "limited_by": self.limited_by,
            "operations": self.operations,
            "seconds": self.seconds,
        }

    @property
    def _headline(self) -> str:
        if self.zero is not None:
            return f"γ* = 0: {self.zero.reason}"
        return (
            f"γ* in [{self.lower:.4g}, {self.upper:.4g}] with confidence {self.confidence:.0%}, "
            f"teacher's γ(v) ≥ {self.teacher_lower:.4g}"
        )

    @property
    def _quantities(self) -> list[tuple[str, float, float]]:
        """Name, lower end and upper end of every quantity."""
        return [
            ("separation margin γ*", self.lower, self.upper),
            ("margin γ_1 of the kernel, γ* ≤ γ_1", *self.kernel),
            ("teacher's margin γ(v), lower bound", self.teacher_lower, self.teacher_lower),
            ("lower bound without sampling", self.floor, self.floor),
        ]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._headline}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{low:.4g}{f' … {high:.4g}' if high > low else ''}</td></tr>"
            for name, low, high in self._quantities
        )
        size = f"{self.n:,} examples of {self.d:,} inputs, {self.seconds:.0f} s"
        return f"<p><b>{escape(self._headline)}</b><br>{size}</p><table>{rows}</table>"

    def plot(self) -> "Figure":
        """Plot the interval of γ*, γ_1, the teacher's margin and the deterministic lower bound on one axis."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import NullFormatter

        figure = Figure(figsize=(7.2, 2.8), layout="constrained")
        figure.suptitle(self._headline, x=0.01, ha="left", fontsize=10, fontweight="bold")
        axes = figure.subplots()
        positive = [value for _, *ends in self._quantities for value in ends if value > 0] or [0.1, 0.5]
        left, right = min(*positive, max(positive) / 10) / 1.5, max(positive) * 1.5
        for row, (_, low, high) in enumerate(self._quantities):
            color, thickness = ("#1f6f8b", 5) if row == 0 else ("#555555", 2)
            ends = [max(low, left), max(high, left)]
            axes.plot(ends, [row, row], color=color, lw=thickness)
            axes.plot(ends[0], row, "|" if low > 0 else "<", color=color, ms=9, mew=2, clip_on=False)
            axes.plot(ends[1], row, "|", color=color, ms=9, mew=2)
            text = f"{low:.3g} … {high:.3g}" if high > low + 1e-3 * abs(high) else f"{low:.3g}"
            side = "left" if ends[1] < 2 * left else "center"
            axes.annotate(text, (ends[1], row), (0, 8), textcoords="offset points", ha=side, color=color)
        axes.set_yticks(range(4), [name for name, *_ in self._quantities])
        axes.set(xscale="log", xlim=(left, right), ylim=(3.5, -0.8), xlabel="margin")
        axes.grid(axis="y", color="#dddddd", lw=0.6)
        axes.tick_params(axis="y", length=0, pad=8)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.spines[["top", "right", "left"]].set_visible(False)
        return figure
