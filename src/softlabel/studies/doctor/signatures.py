"""Mistakes that the loss curves of students show, judged by the median over their seeds.

L is the loss at the records, about twelve of them, and L₀ the loss before the first step. Halves and quarters are
measured along the path, the sum of the learning rates according to the schedule.

    learning rate too large     at least half of the students show one of these: the loss climbs to 1.5 L₀; all its
                                climbs together are half of its decrease and a twentieth of L₀ (healthy runs: below a
                                twentieth of the decrease), and it was above L₀ or less than a third of its decrease
                                happened in the second half (otherwise it is still decreasing, with the noise of small
                                batches); it ends at L₀ or above, its neurons have moved, and most are active. A hint
                                if the loss ends below L₀/10 with a training error below 1%: the training recovered.
    learning rate too small     a fifth of the decrease happened in the second half and a twentieth in the last quarter
    or training too short       (a steady decrease has 1/2 and 1/4; an exponential one with less than 6% of the decrease
                                to come has less), and the training error is 1% or more; or neither loss nor neurons
                                have moved at all.
    dead neurons                half of the neurons inactive on all recorded rows is a hint (large learning rates do
                                that to students that learn well), three quarters are a mistake.
    seeds disagree              final losses (relative to L₀) form two clusters: a gap of a quarter between them, which
                                explains 85% of the variance (for evenly spread values: 75%), and 5 points between
                                their training errors; or 20 points between neighboring training errors of converged
                                trainings; three seeds or more.
    radius too small            the projection restrains half of the neurons, and the training error is 5 points above
                                that with larger radii of the run, or the teacher's; if there is nothing to compare
                                with, above half of that of guessing.
    radius too large            no neuron gets half as far as the radius allows: a hint; a mistake if the student
                                overfits (error on evaluation rows 5 points above the training error, and twice it).
    width too small             no mistake above holds, the training error is 5 points above that of wider students of
                                the run, or the teacher's (a hint if there is nothing to compare with and the error is
                                above half of that of guessing), and the training has converged. It has converged if
                                after 400 steps or more (100, if wider students of the same run are better by 5 points)
                                less than 15% of the decrease happened in the second half and less than 6% in the last
                                quarter, or after any number of steps less than 3% and 1%: students that are wide enough
                                often pause at the error of a linear model before they improve, with 6 to 20% of the
                                decrease in the second half.
    training too short          the same error, but the loss has not converged, so that the records do not show whether
    or width too small          steps or neurons are missing; the remedy names steps first. Better wider students of the
                                same run prove little here: they need fewer steps.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from softlabel.studies.doctor import advice
from softlabel.studies.doctor.courses import NOTHING_TO_LEARN, Course, CourseGroup, Signs, median, middle
from softlabel.studies.doctor.findings import Finding

SHORT = "learning rate too small or training too short"
OPEN = "training too short or width too small"
RISES, CLIMBS, LEAST_CLIMB, SURVIVED = 1.5, 0.5, 0.05, 0.1
ABOVE, ON_ITS_WAY = 1.05, 1 / 3
LAST_HALF, LAST_QUARTER, STEADY, LEARNED, MOVED, BARELY = 0.2, 0.05, 0.4, 0.01, 1e-3, 0.1
FAR = 1.0  # distance of a neuron from its initialization, ·√m, that too small learning rates do not reach
SOME_DEAD, MOST_DEAD = 0.5, 0.75
APART, CLUSTERS, LARGE_GAP, FEWEST_SEEDS = 0.25, 0.85, 0.2, 3
PROJECTED, NEVER_BINDS = 0.5, 0.5
POINTS = 0.05
ENOUGH_STEPS, SOME_STEPS, REST_HALF, REST_QUARTER = 400, 100, 0.15, 0.06
STILL_HALF, STILL_QUARTER = 0.03, 0.01


def examine_group(
    group: CourseGroup,
    *,
    wider: float | None = None,
    wider_students: float | None = None,
    looser: float | None = None,
    chance: float | None = None,
    narrow_on_purpose: bool = False,
) -> Iterator[Finding]:
    """The mistakes of these students.

    wider, looser       least training error of wider students, and of those with a larger radius (or the teacher's)
    wider_students      least training error of wider students of the same run only
    chance              error of always predicting the most frequent class
    narrow_on_purpose   the width was tried to see whether it suffices: the effects of a small width are not mistakes
    """
    if group.signs.initial < NOTHING_TO_LEARN:
        return
    large = _too_large(group)
    others = () if large is not None else (_radius_small(group, looser, chance), _unfinished(group))
    findings = [finding for finding in (large, _dead(group), *others) if finding is not None]
    yield from findings
    if (finding := _radius_large(group)) is not None:
        yield finding
    if narrow_on_purpose:
        return
    if (finding := _disagree(group, by_error=not any(finding.name == SHORT for finding in findings))) is not None:
        yield finding
    mistaken = any(finding.severity == "mistake" for finding in findings)
    if not mistaken and (finding := _width_small(group, wider, wider_students, chance)) is not None:
        yield finding


def _too_large(group: CourseGroup) -> Finding | None:
    """At least half of the students show one of the signs."""
    shown = [
        signs for student, signs in zip(group.students, group.each, strict=True) if _unsteady(group, student, signs)
    ]
    if 2 * len(shown) < len(group.students):
        return None
    signs = middle(shown)
    survived = signs.end < SURVIVED and (group.error is None or group.error < LEARNED)
    severity = "hint" if survived else "mistake"
    evidence = {
        "students that show it": len(shown), "initial loss": signs.initial,
        "highest loss": signs.highest * signs.initial, "final loss": signs.end * signs.initial,
        "all climbs together": signs.climbs_of_initial * signs.initial, "training error": group.error,
    }  # fmt: skip
    remedy = advice.slower(group.verb, group.learning_rate)
    return Finding("learning rate too large", severity, group.where, evidence, remedy, signs.highest)


def _unsteady(group: CourseGroup, student: Course, signs: Signs) -> bool:
    rises = signs.highest >= RISES
    jumps = signs.climbs >= CLIMBS and signs.climbs_of_initial >= LEAST_CLIMB
    jumps = jumps and (signs.highest >= ABOVE or signs.last_half < ON_ITS_WAY)
    above = signs.end >= 1 and signs.moved >= MOVED
    still = signs.moved < MOVED and group.distance(student) >= FAR
    return rises or jumps or ((above or still) and (student.dead or 0.0) < MOST_DEAD)


def _unfinished(group: CourseGroup) -> Finding | None:
    signs = group.signs
    if group.dead >= MOST_DEAD or group.projected >= PROJECTED:
        return None
    learned = group.error < LEARNED if group.error is not None else signs.end < SURVIVED
    falls = signs.last_half >= LAST_HALF and signs.last_quarter >= LAST_QUARTER and not learned
    still = signs.moved < MOVED and (median([group.distance(student) for student in group.students]) or 0.0) < FAR
    if not (falls or still):
        return None
    evidence = {
        "initial loss": signs.initial, "final loss": signs.end * signs.initial,
        "share of its decrease in the second half of the training": signs.last_half,
        "in the last quarter": signs.last_quarter, "training error": group.error,
    }  # fmt: skip
    factor = 1000 if signs.moved < MOVED else 100 if signs.moved < BARELY else 10 if signs.last_half >= STEADY else 3
    remedy = advice.faster(group.verb, group.learning_rate, factor)
    return Finding(SHORT, "mistake", group.where, evidence, remedy, signs.last_half)


def _dead(group: CourseGroup) -> Finding | None:
    if group.dead < SOME_DEAD or group.dead * group.width < 2:
        return None
    severity = "mistake" if group.dead >= MOST_DEAD else "hint"
    evidence = {"share of neurons inactive on every recorded row": group.dead, "training error": group.error}
    remedy = advice.revived(group.verb, severity == "hint")
    return Finding("dead neurons", severity, group.where, evidence, remedy, group.dead)


def _radius_small(group: CourseGroup, looser: float | None, chance: float | None) -> Finding | None:
    if group.radius is None or group.projected < PROJECTED or group.error is None:
        return None
    if not _high(group.error, looser, chance):
        return None
    evidence = {"share of neurons that the projection restrains": group.projected, "training error": group.error}
    evidence |= _compared(looser, chance, "with a larger radius, or the teacher's")
    remedy = advice.looser(group.verb, group.radius)
    return Finding("radius too small", "mistake", group.where, evidence, remedy, group.error)


def _radius_large(group: CourseGroup) -> Finding | None:
    reached = median([student.displacement for student in group.students])
    if group.radius is None or reached is None or reached >= NEVER_BINDS:
        return None
    error = median([student.evaluation_error for student in group.students])
    overfits = group.error is not None and error is not None
    overfits = overfits and error - group.error >= POINTS and error >= 2 * group.error  # type: ignore[operator]
    evidence = {
        "largest displacement, relative to the radius": reached, "training error": group.error,
        "error on evaluation rows": error,
    }  # fmt: skip
    remedy = advice.tighter(group.verb, reached * group.radius, overfits)
    return Finding("radius too large", "mistake" if overfits else "hint", group.where, evidence, remedy, 1 - reached)


def _width_small(
    group: CourseGroup, wider: float | None, wider_students: float | None, chance: float | None
) -> Finding | None:
    if group.error is None or group.projected >= PROJECTED or not _high(group.error, wider, chance):
        return None
    severity = "hint" if wider is None else "mistake"
    evidence = {"training error": group.error} | _compared(wider, chance, "of wider students, or the teacher's")
    evidence |= {
        "steps": group.steps, "share of the decrease of the loss in the second half": group.signs.last_half,
        "in the last quarter": group.signs.last_quarter,
    }  # fmt: skip
    more = advice.wider(group.verb, group.width)
    better = wider_students is not None and group.error >= wider_students + POINTS
    if _converged(group, better):
        reason = "wider students of this run are better" if better else "the error is larger than necessary"
        remedy = f"the loss has stopped falling, and {reason}: {more}"
        return Finding("width too small", severity, group.where, evidence, remedy, group.error)
    remedy = (
        f"the records do not show which: the loss had not converged after {group.steps:,} steps"
        + (", and wider students learn in fewer of them" if better else "")
        + f", so {advice.longer(4)} first; if the error does not change, {more}"
    )
    return Finding(OPEN, severity, group.where, evidence, remedy, group.error)


def _converged(group: CourseGroup, better: bool) -> bool:
    """Whether the loss has converged, so that more steps would not help.

    better  wider students of the same run are better, so that fewer steps convince
    """
    half, quarter = group.signs.last_half, group.signs.last_quarter
    if half < STILL_HALF and quarter < STILL_QUARTER:
        return True
    return group.steps >= (SOME_STEPS if better else ENOUGH_STEPS) and half < REST_HALF and quarter < REST_QUARTER


def _high(error: float, reference: float | None, chance: float | None) -> bool:
    if reference is not None:
        return error >= reference + POINTS
    return chance is not None and error >= chance / 2


def _compared(reference: float | None, chance: float | None, whose: str) -> dict[str, Any]:
    return {"error of guessing": chance} if reference is None else {f"error {whose}": reference}


def _disagree(group: CourseGroup, by_error: bool) -> Finding | None:
    if len(group.students) < FEWEST_SEEDS:
        return None
    initial = group.signs.initial
    order = sorted(group.students, key=lambda student: (_last_error(student) or 0.0, student.loss[-1]))
    cut = _gap([_last_error(student) for student in order]) if by_error else None
    if cut is None:
        order = sorted(group.students, key=lambda student: student.loss[-1])
        cut = _clusters(np.array([student.loss[-1] for student in order]) / initial)
    if cut is None:
        return None
    ends = np.array([student.loss[-1] for student in order]) / initial
    good, bad = order[:cut], order[cut:]
    errors = [median([_last_error(student) for student in cluster]) for cluster in (good, bad)]
    if errors[0] is not None and errors[1] is not None and errors[1] - errors[0] < POINTS:
        return None
    evidence = {
        "seeds that failed": len(bad), "of": len(order), "the first of them": bad[0].seed,
        "their training error": errors[1], "that of the others": errors[0],
        "their loss, relative to the initial one": float(np.median(ends[cut:])),
        "that of the others, relative": float(np.median(ends[:cut])),
    }  # fmt: skip
    remedy = advice.agreeing(group.verb)
    return Finding("seeds disagree", "mistake", group.where, evidence, remedy, len(bad) / len(order))


def _last_error(student: Course) -> float | None:
    return student.error[-1] if student.error else None


def _gap(errors: Sequence[float | None]) -> int | None:
    """Index of the largest gap between sorted training errors, if it is large."""
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    gaps = np.diff(known)
    return int(gaps.argmax()) + 1 if gaps.max() >= LARGE_GAP else None


def _clusters(ends: np.ndarray) -> int | None:
    """Index at which sorted values split into two clusters; None if they do not."""
    total = float(((ends - ends.mean()) ** 2).sum())
    explained = {
        cut: 1 - sum(float(((part - part.mean()) ** 2).sum()) for part in (ends[:cut], ends[cut:])) / total
        for cut in range(1, len(ends))
        if ends[cut] - ends[cut - 1] >= APART
    }
    best = max(explained, key=lambda cut: explained[cut], default=None)
    return best if best is not None and explained[best] >= CLUSTERS else None
