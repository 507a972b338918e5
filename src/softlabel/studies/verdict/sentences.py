"""A verdict in plain sentences."""

from typing import TYPE_CHECKING

from softlabel.studies.students.theory import theory_sentence

if TYPE_CHECKING:
    from softlabel.studies.verdict.result import Verdict

ARM_NAMES = {
    "hard": "hard labels",
    "soft": "soft labels",
    "smooth": "smoothed labels",
    "transfer": "soft labels, more rows",
    "augmented": "soft labels, synthetic rows too",
}


def summary(verdict: "Verdict") -> list[str]:
    """What the verdict says, its first sentence being the answer."""
    gap, settings = verdict.gap, verdict.settings
    text = f"soft − hard {gap.mean:+.2f} points of {settings.metric} ({gap.low:+.2f} … {gap.high:+.2f})"
    if settings.metric == "log loss":
        text += " (positive: soft labels lose less)"
    tested = f"all {settings.test_rows:,} rows tested in {settings.fold_count} folds"
    tested = tested if settings.fold_rows else f"{settings.test_rows:,} test rows"
    text += f", {verdict.runs} paired seeds, {tested}, students "
    text += settings.family.phrase(settings.width)
    answers = {
        "soft wins": "Yes, distill: soft labels win",
        "hard wins": "No, do not distill: hard labels win",
        "no difference": f"No, distilling does not help here: no difference beyond ±{settings.equivalence:g} points",
        "undecided": "Undecided",
    }
    lines = [f"{answers[verdict.verdict]}. {text}."]
    own = (verdict.size_warning, verdict.length_warning)
    lines += [f"Warning: {warning}." for warning in own if warning is not None]
    if verdict.verdict == "undecided":
        lines += [_at_stake(verdict), _what_would_decide(verdict)]
    lines += [
        _smoothing(verdict),
        *_transfer(verdict),
        _fidelity(verdict),
        _cost(verdict),
        theory_sentence(verdict.facts.get("theory")),
    ]
    lines += [f"Warning: {warning}." for warning in verdict.facts.get("warnings", [])]
    return [line for line in lines if line]


def _at_stake(verdict: "Verdict") -> str:
    gap, settings = verdict.gap, verdict.settings
    gain, loss = max(gap.high, 0.0), max(-gap.low, 0.0)
    return (
        f"Soft labels gain at most {gain:.2f} points of {settings.metric} and lose at most {loss:.2f}, with "
        f"{settings.confidence:.0%} confidence; until this is decided, hard labels are the cheaper choice, since they "
        "need no teacher."
    )


def _what_would_decide(verdict: "Verdict") -> str:
    at, settings = verdict.analysis, verdict.settings
    rows = "rows" if settings.fold_rows else "test rows"
    if at.rows is not None:
        return (
            f"More seeds would not decide it: the choice of {settings.test_rows:,} {rows} alone leaves "
            f"±{at.examples:.2f} points open, as measured by {verdict.runs} seeds; if gap and spread stay as they are, "
            f"deciding takes at least {at.rows:,} {rows} and {at.seeds:,} seeds."
        )
    assert at.needed is not None
    return (
        f"If gap and spread stay as they are, {at.needed} seeds would decide, {at.needed - verdict.runs} more; the "
        f"{rows} are enough for that (their choice leaves ±{at.examples:.2f} points open)."
    )


def _smoothing(verdict: "Verdict") -> str:
    comparison = next((c for c in verdict.comparisons if (c.first, c.second) == ("soft", "smooth")), None)
    if comparison is None:
        return ""
    meaning = {
        "soft wins": "the teacher's knowledge matters, not softness alone",
        "smooth wins": "plain label smoothing does better, without a teacher",
        "no difference": "label smoothing does the same without a teacher",
        "undecided": "it is open whether label smoothing would do the same",
    }[comparison.verdict]
    interval = f"{comparison.mean:+.2f} ({comparison.low:+.2f} … {comparison.high:+.2f})"
    return f"Against label smoothing: {interval}; {meaning}."


def _transfer(verdict: "Verdict") -> list[str]:
    return [
        f"With the teacher's labels on {'unlabeled' if comparison.first == 'transfer' else 'synthetic'} rows too, "
        f"against {ARM_NAMES[comparison.second]}: "
        f"{comparison.mean:+.2f} ({comparison.low:+.2f} … {comparison.high:+.2f}); {comparison.verdict}."
        for comparison in verdict.comparisons
        if comparison.first in ("transfer", "augmented")
    ]


def _fidelity(verdict: "Verdict") -> str:
    soft, hard = verdict.arms["soft"].numbers, verdict.arms["hard"].numbers
    text = (
        "Calibration error (mean difference between the stated probability of the predicted class and how often it is "
        "right) after one temperature per student was fitted on validation rows: "
        f"soft {soft['calibration_error']:.3f}, hard {hard['calibration_error']:.3f}"
    )
    if "agreement" in soft:
        text += f"; agreement with the teacher: soft {soft['agreement']:.1%}, hard {hard['agreement']:.1%}"
    return text + "."


def _cost(verdict: "Verdict") -> str:
    facts = verdict.facts.get("teacher")
    if not facts:
        return ""
    text = f"The teacher ({facts['description']}) took {facts['seconds']:.1f} s to train and query"
    if verdict.teacher_metric is not None:
        text += f" and has {verdict.settings.metric} {verdict.teacher_metric:.4f} on the test rows"
    if facts.get("parameters"):
        text += f"; it has {facts['parameters']:,} parameters, a student {verdict.arms['soft'].parameters:,}"
    return text + "; hard labels need none of this."
