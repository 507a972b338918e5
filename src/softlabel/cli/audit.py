"""`softlabel audit`: train as the theorems say, check every step."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped

if TYPE_CHECKING:
    from softlabel.studies.audit import Audit
    from softlabel.teachers import KernelLimitTeacher


AUDIT_WORK = 1e12  # floating-point operations for finding the teacher


@grouped
def audit(
    given: DataChoice,
    rows: Annotated[int | None, typer.Option(min=2, help="Only so many rows, drawn by the seed.")] = None,
    arm: Annotated[str, typer.Option(help="soft (the kernel-limit teacher's labels) or hard.")] = "soft",
    width: Annotated[int, typer.Option(help="Neurons; any even number will do for the deterministic checks.")] = 256,
    iterations: Annotated[int, typer.Option(min=1, help="Steps.")] = 300,
    radius: Annotated[float | None, typer.Option(help="Radius B; the theorem's by default.")] = None,
    step: Annotated[float | None, typer.Option(help="Step size; the theorem's by default.")] = None,
    epsilon: Annotated[float, typer.Option(help="Target error, for the hard arm's radius and the target loss.")] = 0.1,
    delta: Annotated[float, typer.Option(help="Failure probability of the probabilistic statements.")] = 0.05,
    kappa: Annotated[float, typer.Option(help="Inverse temperature of the soft labels.")] = 1.0,
    teacher: Annotated[
        Path | None, typer.Option(help="A teacher that `softlabel margin --out` saved; found anew by default.")
    ] = None,
    budget: options.Budget = None,
    work_limit: options.WorkLimit = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Train a student as the theorems say and check every invariant at every step.

    Settings that the theorems do not cover are refused. Each check is allowed what rounding can do to it; exit code 1
    if a deterministic check fails beyond that, which would be a mistake in the program or in the proof.

    Example: softlabel audit digits

    Example: softlabel audit digits --arm hard --width 64 --radius 50
    """
    import numpy as np

    from softlabel.cli.progress import step_progress
    from softlabel.errors import SoftlabelError, unknown
    from softlabel.memory import check_memory
    from softlabel.networks import Student
    from softlabel.ranges import check_count
    from softlabel.studies.audit import audit as run
    from softlabel.studies.audit import check_settings

    if arm not in ("soft", "hard"):
        raise unknown("arm", arm, ("soft", "hard"))
    posed = given.load_task()
    chosen = np.random.default_rng(seed).permutation(len(posed.train))[:rows] if rows else slice(None)
    x, y = posed.train.inputs[chosen], posed.train.y[chosen]  # pyright: ignore[reportOptionalSubscript]
    check_settings(arm, n=len(x), width=width, radius=radius, step=step, kappa=kappa, epsilon=epsilon, delta=delta)
    Student(width=width, seed=seed, labels=arm, radius=radius, step=1.0 if step is None else step)
    check_count(iterations, "iterations")
    check_memory(6 * width * (x.shape[1] + len(x)), f"width = {width:,} neurons", "take fewer, or fewer --rows")
    options.note(str(posed))
    limits = {"budget": budget, "work_limit": work_limit or (AUDIT_WORK if budget is None else None)}
    found = _teacher(teacher, x, y, kappa, limits, seed)
    with step_progress("auditing", iterations) as watch:
        result = run(
            x,
            y,
            found,
            arm=arm,
            width=width,
            iterations=iterations,
            radius=radius,
            step=step,
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            watch=lambda t: watch(t, None),
        )
    if as_json:
        options.answer(_document(result))
    else:
        _show(result)
    if not result.holds:
        failed = [check.name for check in result.checks if not check.holds] or ["certificate"]
        raise SoftlabelError(f"these checks failed: {', '.join(failed)}")


def _teacher(path: Path | None, x, y, kappa: float, limits: dict[str, float | None], seed: int) -> "KernelLimitTeacher":
    from dataclasses import replace

    from softlabel.cli.margin import compute_margin
    from softlabel.teachers import KernelLimitTeacher

    if path is not None:
        return replace(KernelLimitTeacher.load(path), kappa=kappa)
    margin = compute_margin(x, y, "γ*", {"width": 0.05, **limits, "confidence": 0.95, "seed": seed})
    return KernelLimitTeacher.of(margin, x, y, kappa)


def _document(result: "Audit") -> dict[str, Any]:
    return {
        "steps": result.steps,
        "width": result.width,
        "arm": result.arm,
        "radius": result.radius,
        "step": result.step_size,
        "gamma_labels": result.gamma,
        "holds": result.holds,
        "checks": [asdict(check) for check in result.checks],
        "probable": [asdict(count) | {"holds": count.holds} for count in result.counts],
        "certificate": asdict(result.certificate),
    }


def _show(result: "Audit") -> None:
    title = (
        f"{result.arm} labels, {result.width} neurons, {result.steps} steps, radius {result.radius:.4g}, "
        f"step {result.step_size:.4g}, margin of the labels {result.gamma:.4g}"
    )
    options.table(
        title,
        ["holds at every step, whatever the start", "worst left − right", "at step", ""],
        [[c.formula, f"{c.worst:.2e}", str(c.step), "holds" if c.holds else "FAILS"] for c in result.checks],
    )
    options.table(
        "holds with high probability over the start, at sufficient width",
        ["", "cases", "beyond", "worst left − right"],
        [[c.formula, f"{c.cases:,}", f"{c.failed:,}", f"{c.worst:.2e}"] for c in result.counts],
    )
    certificate = result.certificate
    options.say(
        f"Certificate: mean loss ≤ {certificate.bound:.6g} by this run's own comparison; "
        f"measured {certificate.measured:.6g}."
    )
    if certificate.error_bound is not None:
        limit = f"{certificate.error_bound:.4g}" if certificate.error_bound < 1 else "1 (nothing)"
        options.say(f"Mean training error ≤ {limit}; measured {certificate.error_measured:.4g}.")
