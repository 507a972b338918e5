"""All bounds for one case: the result of `overview`, and the JSON document of the command `softlabel bounds`."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from softlabel.theory.bounds.caveats import CAVEATS, WITHOUT_PROJECTION, scaling_without_projection
from softlabel.theory.bounds.crossover import Crossover, crossover_in
from softlabel.theory.bounds.families import ARMS, FAMILIES, Arm, Family, requirement
from softlabel.theory.bounds.inverse import guaranteed_error, needed_margin
from softlabel.theory.bounds.n_free import soft_without_n
from softlabel.theory.bounds.needs import Requirement, finite
from softlabel.theory.bounds.setting import Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS: dict[Arm, str] = {"soft": "#1f6f8b", "hard": "#c1553b"}


@dataclass(frozen=True)
class Overview:
    """Result of `overview`.

    Attributes
    ----------
    inputs : dict
        The arguments: gamma, epsilon, n, delta, c, kappa, alpha, width.
    families : dict
        For every family and arm the `Requirement`, e.g. ``families["tight"]["soft"]``.
    crossovers : dict
        For every family the `Crossover`.
    without_n : Requirement
        The soft-label requirement that does not depend on n.
    without_projection : float
        γ⁻⁸, a reference line for hard labels.
    guarantees : dict or None
        For every family and arm the smallest `epsilon` and the smallest `gamma` that `width` neurons guarantee.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.overview(gamma=0.1, epsilon=0.1, n=1000).families["tight"]["soft"].width
    66826
    """

    inputs: Mapping[str, Any]
    families: Mapping[Family, Mapping[Arm, Requirement]]
    crossovers: Mapping[Family, Crossover]
    without_n: Requirement
    without_projection: float
    guarantees: Mapping[Family, Mapping[Arm, Mapping[str, float | None]]] | None = None

    @property
    def setting(self) -> Setting:
        """The inputs other than γ, ε and the width."""
        return Setting(**{name: self.inputs[name] for name in ("n", "delta", "c", "kappa", "alpha")})

    def to_dict(self) -> dict[str, Any]:
        """The overview as JSON values; a number beyond floating point is None, with a note beside it."""
        families = {
            family: {arm: required.to_dict() for arm, required in arms.items()}
            | {"crossover_gamma": self.crossovers[family].gamma, "crossover_note": self.crossovers[family].note}
            for family, arms in self.families.items()
        }
        document = {
            "inputs": dict(self.inputs),
            "families": families,
            "n_free": {"soft": self.without_n.to_dict()},
            "without_projection": {"hard": finite(self.without_projection), "note": WITHOUT_PROJECTION},
            "says": list(CAVEATS),
        }
        if self.guarantees is not None:
            document["guarantees"] = {
                family: {arm: dict(values) for arm, values in arms.items()} for family, arms in self.guarantees.items()
            }
        return document

    def __repr__(self) -> str:
        arms = self.families["tight"]
        return (
            f"<Overview: {_neurons(arms['soft'])} neurons suffice with soft labels, {_neurons(arms['hard'])} with hard "
            f"labels (γ = {self.inputs['gamma']:g}, ε = {self.inputs['epsilon']:g}, n = {self.inputs['n']:,})>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{family}</td>{''.join(f'<td>{_neurons(arms[arm])}</td>' for arm in ARMS)}</tr>"
            for family, arms in self.families.items()
        )
        head = "<tr><th>family</th><th>neurons, soft labels</th><th>neurons, hard labels</th></tr>"
        return f"<p>{escape(repr(self)[1:-1])}</p><table>{head}{rows}</table><p>{escape(CAVEATS[0])}</p>"

    def plot(self) -> "Figure":
        """The number of neurons that suffices with soft and with hard labels, for every family."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        axes = figure.subplots()
        for arm, color in COLORS.items():
            widths = [finite(self.families[family][arm].width) or float("nan") for family in FAMILIES]
            axes.plot(widths, FAMILIES, "o", color=color, ms=9, label=f"{arm} labels")
        axes.set(xscale="log", xlabel="neurons that suffice", ylim=(len(FAMILIES) - 0.5, -0.5))
        axes.set_title(
            f"γ = {self.inputs['gamma']:g}, ε = {self.inputs['epsilon']:g}, n = {self.inputs['n']:,}", loc="left"
        )
        axes.grid(alpha=0.25)
        figure.legend(loc="outside lower center", ncol=2, frameon=False)
        return figure


def _neurons(required: Requirement) -> str:
    width = required.width
    return "–" if width is None else f"{width:,}" if isinstance(width, int) else f"{width:.3g}"


def overview(
    gamma: float,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    width: int | None = None,
) -> Overview:
    """All bounds for one case: requirements and crossovers of every family, and the bound without n.

    Parameters
    ----------
    gamma, epsilon, n, delta, c, kappa, alpha
        See `softlabel.theory.bounds`.
    width : int, optional
        Even number of neurons. If set, the overview includes the error and the margin that this width guarantees.

    Returns
    -------
    Overview

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.overview(gamma=0.1, epsilon=0.1, n=1000)
    <Overview: 66,826 neurons suffice with soft labels, 1,393,702 with hard labels (γ = 0.1, ε = 0.1, n = 1,000)>
    """
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha)
    circumstances = {"n": n, "delta": delta, "c": c, "kappa": kappa, "alpha": alpha}
    guarantees: dict[Family, dict[Arm, dict[str, float | None]]] | None = None
    if width is not None:
        guarantees = {
            family: {
                arm: {
                    "epsilon": guaranteed_error(width, gamma, family=family, arm=arm, **circumstances),
                    "gamma": needed_margin(width, epsilon, family=family, arm=arm, **circumstances),
                }
                for arm in ARMS
            }
            for family in FAMILIES
        }
    return Overview(
        inputs={"gamma": gamma, "epsilon": epsilon, **circumstances, "width": width},
        families={
            family: {arm: requirement(family, arm, gamma, epsilon, setting) for arm in ARMS} for family in FAMILIES
        },
        crossovers={family: crossover_in(family, epsilon, setting) for family in FAMILIES},
        without_n=soft_without_n(gamma, epsilon, delta, kappa, alpha),
        without_projection=scaling_without_projection(gamma),
        guarantees=guarantees,
    )
