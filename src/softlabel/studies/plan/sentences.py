"""A plan in plain sentences."""

from typing import TYPE_CHECKING, Any

from softlabel.studies.plan.quantize import float_bytes
from softlabel.studies.plan.search import ATTEMPTS, allowed_misses
from softlabel.studies.students.theory import theory_sentence

if TYPE_CHECKING:
    from softlabel.studies.plan.result import Plan, PlannedArm


def summary(plan: "Plan") -> list[str]:
    """What the plan says."""
    lines = [_arm_sentence(plan, planned) for planned in (plan.arms["soft"], plan.arms["hard"])]
    lines += [f"Warning: {warning}." for warning in plan.own_warnings]
    saved = plan.saved
    if saved is not None:
        lines.append(_saving(plan, saved))
    lines += [
        _rival(plan),
        _files(plan),
        *_fits(plan),
        theory_sentence(plan.facts.get("theory")),
    ]
    lines += [f"Warning: {warning}." for warning in plan.facts.get("warnings", [])]
    return [line for line in lines if line]


def _arm_sentence(plan: "Plan", planned: "PlannedArm") -> str:
    settings, unit = plan.settings, plan.settings.family.unit
    accuracy = plan.interval(planned.accuracy)
    seen = f"{accuracy:.4f}"
    compared = f", {planned.size.words}" if planned.size.words else ""
    size = f"{planned.arm.capitalize()} labels: {planned.width} {unit} ({planned.parameters or 0:,} parameters"
    size += f"{compared})."
    failed = [attempt for attempt in planned.attempts if not attempt[3]]
    tried = "; ".join(f"{width} {unit}, {reached} of {of}" for width, reached, of, _ in failed)
    if planned.width is not None and not settings.confirm:
        return (
            f"{size} Students of this size appear to reach {settings.target:g}: {planned.reached} of the {planned.of} "
            "by which it was chosen did; no fresh students confirmed it. Mean accuracy with new seeds and new "
            f"rows {seen}."
        )
    if planned.width is not None:
        below = "; on new rows it may fall short of the target" if accuracy.low < settings.target else ""
        return (
            f"{size} A fresh student of this size reaches {settings.target:g} on these test rows with probability ≥ "
            f"{settings.share:.0%}, stated with {settings.confidence:.0%} confidence ({planned.reached} of "
            f"{planned.of} fresh ones did); mean accuracy with new seeds and new rows {seen}{below}."
            + (f" Smaller ones failed this confirmation: {tried} ({_required(plan)})." if tried else "")
        )
    text = (
        f"{planned.arm.capitalize()} labels: no size up to {settings.limit} {unit} is shown to reach "
        f"{settings.target:g} with probability ≥ {settings.share:.0%}. The best, {planned.accuracy_width} {unit}, has "
        f"mean accuracy {seen}; {planned.reached} of {planned.of} students reached the target"
    )
    if tried:
        text += f". Sizes that fresh students did not confirm: {tried} ({_required(plan)})"
    return text + "."


def _required(plan: "Plan") -> str:
    """How many fresh students must reach the target to confirm a width."""
    settings = plan.settings
    misses = allowed_misses(settings.confirm, settings.share, (1 - settings.confidence) / ATTEMPTS)
    return f"at least {settings.confirm - misses} of {settings.confirm} must reach the target"


def _saving(plan: "Plan", saved: dict[str, Any]) -> str:
    unit = plan.settings.family.unit
    if saved["width"] == 0:
        return "Soft and hard labels need the same size."
    word = "save" if saved["width"] > 0 else "cost"
    return (
        f"Soft labels {word} {abs(saved['width'])} {unit}, {abs(saved['parameters']):,} parameters "
        f"({abs(saved['share']):.0%})."
    )


def _rival(plan: "Plan") -> str:
    rival, settings = plan.rival, plan.settings
    if rival is None:
        return ""
    width = plan.arms["soft"].width or plan.arms["hard"].width or 0
    size = float_bytes(width, settings.inputs, settings.outputs)
    return (
        f"Rival at the same size ({size:,} bytes): {rival.width} neurons trained on hard labels, weights in 8 bits: "
        f"{plan.interval(rival.accuracy):.4f}, {rival.reached} of {rival.accuracy.runs} reach the "
        "target."
    )


def _files(plan: "Plan") -> str:
    parts = [
        f"{entry['arm']}: {entry['files'][0]} ({entry['bytes']:,} bytes, {entry['milliseconds']:.3f} ms per row, test "
        f"accuracy {entry['accuracy']:.4f})"
        for entry in plan.facts.get("exported", [])
    ]
    if not parts:
        return ""
    teacher = (plan.facts.get("teacher") or {}).get("milliseconds")
    times = "" if teacher is None else f" The teacher takes {teacher:.3f} ms per row on this machine."
    return f"Exported, each the best of its arm on validation rows: {'; '.join(parts)}.{times}"


def _fits(plan: "Plan") -> list[str]:
    return [
        f"Fitted curve, {arm} labels: accuracy rises from chance to {fit.top:.4f}, halfway at {fit.half:.2g} "
        f"(power {fit.power:.2g}); at {fit.excluded}, which was excluded from the fit, it misses by "
        f"{100 * fit.missed_by:+.2f} points."
        for arm, fit in plan.fits.items()
        if fit is not None and fit.informative
    ]
