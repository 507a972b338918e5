"""`softlabel audit`: train as the theorems prescribe, and check every step."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped
from softlabel.cli.options import TEACHER, TRAINING, option

if TYPE_CHECKING:
    from softlabel.studies.audit import Audit


@grouped
def audit(
    *,
    data: DataChoice,
    rows: options.Rows = None,
    teacher: Annotated[
        Path | None, option("Teacher that `softlabel margin --out` saved. Default: computed here.", TEACHER)
    ] = None,
    kappa: Annotated[float, option("Inverse temperature of the soft labels.", TEACHER)] = 1.0,
    arm: Annotated[str, option("soft (the labels of the kernel-limit teacher) or hard.", TRAINING)] = "soft",
    width: Annotated[int, option("Hidden neurons, an even number.", TRAINING)] = 256,
    iterations: Annotated[int, option("Number of steps.", TRAINING, min=1)] = 300,
    radius: Annotated[float | None, option("Radius B. Default: that of the theorem.", TRAINING)] = None,
    learning_rate: Annotated[float | None, option("Learning rate. Default: that of the theorem.", TRAINING)] = None,
    epsilon: Annotated[float, option("Target error, for the radius of the hard arm and the target loss.")] = 0.1,
    delta: Annotated[float, option("Failure probability of the probabilistic statements.")] = 0.05,
    time_limit: options.TimeLimit = None,
    work_limit: options.WorkLimit = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Train a student as the theorems prescribe, and check every invariant at every step.

    Settings that the theorems do not cover are refused. Every check has an allowance for rounding; the exit code is 1
    if a deterministic check fails beyond it, which would be a mistake in the program or in the proof.

    Example: softlabel audit digits

    Example: softlabel audit digits --arm hard --width 64 --radius 50
    """
    from softlabel.errors import SoftlabelError
    from softlabel.studies.audit import AuditOptions
    from softlabel.studies.audit import audit as check

    chosen = AuditOptions(epsilon=epsilon, delta=delta, kappa=kappa, time_limit=time_limit, work_limit=work_limit)
    result = check(
        data.loader(seed=seed), rows=rows, teacher=teacher, arm=cast(Any, arm), width=width, iterations=iterations,
        radius=radius, learning_rate=learning_rate, seed=seed, options=chosen,
    )  # fmt: skip
    if as_json:
        options.answer(result.to_dict())
    else:
        _show(result)
    if not result.holds:
        raise SoftlabelError(f"these checks failed: {', '.join(result.failed)}")


def _show(result: "Audit") -> None:
    options.table(
        f"{result.arm} labels, {result.width} neurons, {result.steps} steps, radius {result.radius:.4g}, learning rate "
        f"{result.learning_rate:.4g}, margin of the labels {result.gamma:.4g}",
        ["holds at every step, for any initialization", "worst left − right", "at step", ""],
        [[c.formula, f"{c.worst:.2e}", str(c.step), "holds" if c.holds else "FAILS"] for c in result.checks],
    )
    options.table(
        "holds with high probability over the initialization, at sufficient width",
        ["", "cases", "exceeded", "worst left − right"],
        [[c.formula, f"{c.cases:,}", f"{c.failed:,}", f"{c.worst:.2e}"] for c in result.counts],
    )
    options.say(*result.summary[1:])
