"""The result of `audit`: every check with its worst step, and the certificate."""

from dataclasses import asdict, dataclass
from typing import Any

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Table
from softlabel.report.result import ReportedResult
from softlabel.theory.invariants import Certificate, Check, Count


@dataclass(frozen=True, repr=False)
class Audit(ReportedResult):
    """What the checks of one training found.

    Attributes
    ----------
    arm : {"soft", "hard"}
        The labels of the training.
    width, steps : int
        Neurons of the student and steps of the training.
    radius, learning_rate : float
        B and η.
    gamma : float
        Margin of the labels.
    checks : tuple of Check
        Inequalities that hold at every step for any initialization, each with the step at which it came closest to
        failing.
    counts : tuple of Count
        Statements that hold with high probability over the initialization.
    certificate : Certificate
        The bound on the mean loss that the training itself proves, and the measured mean loss.
    sufficient_width : float or None
        Neurons from which on the theorem proves R^t(W̄) ≤ θβ with high probability; None without a positive margin.

    Examples
    --------
    >>> import softlabel as sl
    >>> X = [[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]]
    >>> result = sl.audit(X, [1, 1, -1, -1], width=16, iterations=5, options=sl.AuditOptions(work_limit=1e8))
    >>> result.holds, result.failed
    (True, [])
    >>> result.certificate.measured <= result.certificate.bound
    True
    """

    arm: str
    width: int
    steps: int
    radius: float
    learning_rate: float
    gamma: float
    checks: tuple[Check, ...]
    counts: tuple[Count, ...]
    certificate: Certificate
    sufficient_width: float | None = None

    @property
    def holds(self) -> bool:
        """Whether every deterministic check and the certificate hold."""
        return all(check.holds for check in self.checks) and self.certificate.holds

    @property
    def failed(self) -> list[str]:
        """Names of the deterministic checks that fail ("certificate" for the certificate)."""
        names = [check.name for check in self.checks if not check.holds]
        return names if self.certificate.holds else [*names, "certificate"]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "steps": self.steps,
            "width": self.width,
            "arm": self.arm,
            "radius": self.radius,
            "step": self.learning_rate,
            "gamma_labels": self.gamma,
            "holds": self.holds,
            "checks": [asdict(check) for check in self.checks],
            "probable": [asdict(count) | {"holds": count.holds} for count in self.counts],
            "certificate": asdict(self.certificate),
        }

    @property
    def summary(self) -> list[str]:
        """What the checks found, in plain sentences."""
        state = "all deterministic checks hold" if self.holds else f"these checks fail: {', '.join(self.failed)}"
        certificate = self.certificate
        lines = [
            f"{self.arm} labels, {self.width} neurons, {self.steps} steps: {state}.",
            f"Certificate: this training proves a mean loss ≤ {certificate.bound:.6g}; measured: "
            f"{certificate.measured:.6g}.",
        ]
        if certificate.error_bound is not None:
            bound = f"{certificate.error_bound:.4g}" if certificate.error_bound < 1 else "1 (no information)"
            lines.append(f"Mean training error ≤ {bound}; measured: {certificate.error_measured:.4g}.")
        else:
            reason = "not positive: the teacher misclassifies at least one row" if self.gamma <= 0 else "too small"
            lines.append(
                f"Warning: the margin of the labels is {self.gamma:.3g}, {reason}. Theory then bounds no training "
                "error, so the check R ≤ R^KL/ψ(κγ), the statement R^t(W̄) ≤ θβ and the bound on the mean training "
                "error are missing here. Use a teacher that was computed on these rows, e.g. by the audit itself."
            )
        exceeded = any(count.name == "comparison" and not count.holds for count in self.counts)
        if exceeded and self.sufficient_width is not None and self.width < self.sufficient_width:
            lines.append(
                "R^t(W̄) ≤ θβ is exceeded, which contradicts no theorem: the width that theory proves sufficient is "
                f"{self.sufficient_width:,} neurons, and this student has {self.width:,}."
            )
        return lines

    @property
    def table(self) -> Table:
        """The deterministic checks at their worst steps, and the statements that hold with high probability."""
        rows = [
            [
                check.formula,
                f"{check.worst:.2e}",
                str(check.step),
                Cell("holds", tone="good") if check.holds else Cell("fails", tone="bad"),
            ]
            for check in self.checks
        ]
        for count in self.counts:
            state = "holds in all cases" if count.holds else f"exceeded in {count.failed:,} of {count.cases:,} cases"
            rows.append([count.formula, f"{count.worst:.2e}", "–", state])
        about = (
            f"The first {len(self.checks)} rows hold at every step for any initialization, the others with high "
            "probability over the initialization at sufficient width."
        )
        return Table("Checks", about, ["", "worst left − right", "at step", ""], rows)

    @property
    def chart(self) -> Chart:
        """How far each check stayed from failing at its worst step."""
        spare = {check.name: check.allowance - check.worst for check in self.checks}
        sides = {"right − left + allowance for rounding": (1, "soft"), "fails by": (-1, "hard")}
        series = []
        for name, (sign, role) in sides.items():
            distances = {check: sign * distance for check, distance in spare.items() if sign * distance > 0}
            if distances:
                series.append(Series(name, list(distances), list(distances.values()), role=role, marks=True))
        title = f"{self.arm} labels, {self.width} neurons, {self.steps} steps"
        exact = [name for name, distance in spare.items() if distance == 0]  # not on a logarithmic axis
        if exact:
            title += f"; exactly equal: {', '.join(exact)}"
        panel = Panel(title, series, "", "distance from failure", log_y=True)
        return Chart("audit", "Worst step of each check", "", [panel])
