"""What the processes of the panel of the kernel regime do: they predict and simulate one student."""

from dataclasses import dataclass
from typing import Any

import softlabel as sl
from softlabel.app.children import Line
from softlabel.report.charts import Chart

TEST_ROWS = 200


@dataclass(frozen=True)
class KernelView:
    """What is shown of a prediction, or of a prediction and its simulation.

    headline        the result in one sentence; empty before the simulation
    numbers         names and values
    limits          the true and the printed limit of the training error, if they are known
    assumptions     the theorems' assumptions: name, whether it holds, and what follows
    """

    headline: str
    chart: Chart
    poles: Chart
    numbers: list[tuple[str, str]]
    limits: tuple[float, float] | None
    assumptions: list[tuple[str, str, str]]


def predict_and_simulate(line: Line, data: str, settings: dict[str, Any], options: dict[str, Any]) -> None:
    """Send what is being done ("progress"), the prediction and then the simulation ("view")."""
    shown: list[sl.DynamicsPrediction] = []

    def report(state: sl.DynamicsProgress) -> None:
        line.send("progress", state.sentence)
        if state.prediction is not None and not shown:
            shown.append(state.prediction)
            line.send("view", view_of(state.prediction))

    result = sl.dynamics(data, **settings, options=sl.DynamicsOptions(**options, test_rows=TEST_ROWS, progress=report))
    line.send("view", view_of(result))


def view_of(result: sl.DynamicsPrediction) -> KernelView:
    """What is shown of a result of `sl.dynamics`."""
    states = {True: "holds", False: "fails", None: "unknown"}
    assumptions = [(one.name, states[one.holds], one.meaning) for one in result.assumptions]
    headline = result.summary[0] if isinstance(result, sl.DynamicsResult) else ""
    return KernelView(headline, result.chart, result.pole_chart, _numbers(result), result.limits, assumptions)


def _numbers(result: sl.DynamicsPrediction) -> list[tuple[str, str]]:
    end = result.curve[-1]
    largest = result.dynamics.max_learning_rate
    numbers = [
        ("Rows and inputs", f"{result.problem.n:,} × {result.problem.x.shape[1]:,}"),
        ("Learning rate", f"{result.learning_rate:.3g} of at most {largest:.3g}"),
        ("Largest pole", f"{result.dynamics.poles.max():.4g}"),
        ("Training error at the end, predicted", _error(end, "predicted")),
        ("Training error at the end, simulated", _error(end, "simulated")),
        ("Test error at the end, predicted", _error(end, "test_predicted")),
        ("Test error at the end, simulated", _error(end, "test_simulated")),
    ]
    deviation = drift = "…"
    if isinstance(result, sl.DynamicsResult):
        deviation = f"{result.deviation:.2%} of ‖f(0) − y‖"
        drift = "too expensive" if result.drift is None else f"{result.drift:.2%}"
    return [*numbers, ("Largest deviation from the prediction", deviation), ("Movement of the kernel", drift)]


def _error(row: dict[str, float], name: str) -> str:
    return f"{row[name]:.4g}" if name in row else "…"
