"""The tables and sentences of an overview of bounds, as text."""

from softlabel.report.page import Table
from softlabel.theory.bounds import ARMS, CAVEATS, Overview, Requirement


def requirement_table(overview: Overview) -> Table:
    """What suffices in every family: neurons, learning rate, iterations and radius."""
    symbols = {"gamma": "γ", "epsilon": "ε", "n": "n", "delta": "δ", "c": "c", "kappa": "κ", "alpha": "α"}
    numbers = {symbol: overview.inputs[name] for name, symbol in symbols.items()}
    case = ", ".join(f"{symbol} = {_number(value, 'g')}" for symbol, value in numbers.items())
    rows = [[f"{family}, {arm}", *_cells(arms[arm])] for family, arms in overview.families.items() for arm in ARMS]
    rows.append(["without n, soft", *_cells(overview.without_n)])
    rows.append(["γ⁻⁸ (order only), hard", _number(overview.without_projection), "", "", ""])
    header = ["family, labels", "neurons", "learning rate", "iterations", "radius"]
    return Table(f"sufficient for {case}", CAVEATS[0], header, rows)


def guarantee_table(overview: Overview) -> Table | None:
    """What a width guarantees in every family; None where no width was chosen."""
    if overview.guarantees is None:
        return None
    inputs = overview.inputs
    rows = [
        [f"{family}, {arm}", *("none" if arms[arm][name] is None else f"{arms[arm][name]:.4g}" for name in names)]
        for names in [("epsilon", "gamma")]
        for family, arms in overview.guarantees.items()
        for arm in ARMS
    ]
    header = [
        "family, labels",
        f"error at γ = {inputs['gamma']:g}",
        f"margin needed for ε = {inputs['epsilon']:g}",
    ]
    return Table(f"what {inputs['width']:,} neurons guarantee", CAVEATS[0], header, rows)


def crossover_sentences(overview: Overview) -> list[str]:
    """Where soft labels need fewer neurons than hard labels, and why a number may be missing."""
    lines = ["Soft labels need fewer neurons below the crossover margin:"]
    for family, crossing in overview.crossovers.items():
        lines.append(f"  {family}: {crossing.note if crossing.gamma is None else f'γ < {crossing.gamma:.4g}'}")
    notes = [arms[arm].note for arms in overview.families.values() for arm in ARMS]
    return lines + [f"Note: {note}." for note in dict.fromkeys(notes) if note]


def _cells(required: Requirement) -> list[str]:
    values = required.to_dict()
    return [_number(values[name]) for name in ("width", "step", "iterations", "radius")]


def _number(value: float | None, form: str = ".4g") -> str:
    if value is None or value == float("inf"):
        return "–"
    if isinstance(value, int) and value < 10**13:
        return f"{value:,}"
    return format(value, form)
