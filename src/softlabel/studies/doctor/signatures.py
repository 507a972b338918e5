"""What the courses of students tell, judged by the median over their seeds.

With L the loss at the watches, about twelve of them, and L₀ that before the first step (halves and quarters are of the
path, the sum of the step sizes that the schedule allowed):

    step too large      half of the students show one of: the loss climbs to 1.5 L₀; all its climbs together are half of
                        its fall and a twentieth of L₀ (healthy runs: below a twentieth of the fall), and it was above
                        L₀ or brought less than a third of its fall in the second half (else it is on its way down,
                        with the noise of a few batches); it ends at L₀ or above, its neurons have moved, and most are
                        alive. A hint where it ends below L₀/10 with a training error below 1 %: it was survived.
    step too small or   the second half brought a fifth of the whole fall and its last quarter a twentieth
    training too short  (a steady fall: 1/2 and 1/4; an exponential one with less than 6 % of the fall to come: less),
                        and the training error is 1 % or more; or neither loss nor neurons have moved at all.
    dead neurons        half of them silent on all watched rows is a hint (large steps do that to students that learn
                        well), three quarters a mistake.
    seeds disagree      final losses (over L₀) fall into two heaps: a gap of a quarter between them, which makes 85 % of
                        the variance (of evenly spread values: 75 %), with 5 points between their training errors; or
                        20 points lie between neighbouring training errors of trainings that came to an end; three seeds
                        or more.
    radius too small    half of the neurons are held by the projection and the training error is 5 points above what
                        larger radii of the run, or the teacher, reach; where nothing can be compared, above half of
                        what guessing gives.
    radius too large    no neuron gets half as far as the radius allows: a hint; a mistake where the student overfits
                        (error on held-out rows 5 points above that on training rows, and twice it).
    width too small     none of these mistakes holds it back, its training error is 5 points above what wider students
                        of the run, or the teacher, reach (a hint where nothing can be compared and the error is above
                        half of what guessing gives), and it is known to be the width: wider students of the same run
                        do better by 5 points, or the training has come to rest. It has if after 400 steps or more the
                        second half brought less than 15 % of the fall and the last quarter less than 6 %, or after
                        any number of steps less than 3 % and 1 %: students of ample width often stay for a while at
                        what a linear one would reach before they get on, with 6 to 20 % of the fall in the second half.
    training too short  the same error, but whether time or neurons are missing cannot be told from the record; time
    or width too small  is named first, since the loss had not come to rest.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from softlabel.studies.doctor.courses import NOTHING_TO_LEARN, Course, Group, Signs, median, middle
from softlabel.studies.doctor.findings import Finding

SHORT = "step too small or training too short"
OPEN = "training too short or width too small"
RISES, CLIMBS, LEAST_CLIMB, SURVIVED = 1.5, 0.5, 0.05, 0.1
ABOVE, ON_ITS_WAY = 1.05, 1 / 3
LAST_HALF, LAST_QUARTER, STEADY, LEARNED, MOVED, BARELY = 0.2, 0.05, 0.4, 0.01, 1e-3, 0.1
FAR = 1.0  # of a neuron from its start, ·√m: steps that are too small do not get there
SOME_DEAD, MOST_DEAD = 0.5, 0.75
APART, HEAPS, WIDE_GAP, FEWEST_SEEDS = 0.25, 0.85, 0.2, 3
HELD, NEVER_BINDS = 0.5, 0.5
POINTS = 0.05
ENOUGH_STEPS, REST_HALF, REST_QUARTER = 400, 0.15, 0.06
STILL_HALF, STILL_QUARTER = 0.03, 0.01


def examine_group(
    group: Group,
    *,
    wider: float | None = None,
    wider_students: float | None = None,
    looser: float | None = None,
    chance: float | None = None,
    narrow_on_purpose: bool = False,
) -> Iterator[Finding]:
    """What is wrong with these students.

    wider, looser       the least training error of wider students, and of those with a larger radius (or the teacher's)
    wider_students      that of wider students of the same run alone
    chance              the error of always saying the most frequent class
    narrow_on_purpose   the width was tried to see whether it is enough: what a small width does is no mistake
    """
    if group.signs.start < NOTHING_TO_LEARN:
        return
    large = _too_large(group)
    others = () if large is not None else (_radius_small(group, looser, chance), _unfinished(group))
    found = [finding for finding in (large, _dead(group), *others) if finding is not None]
    yield from found
    if (finding := _radius_large(group)) is not None:
        yield finding
    if narrow_on_purpose:
        return
    if (finding := _disagree(group, by_error=not any(finding.name == SHORT for finding in found))) is not None:
        yield finding
    held_back = any(finding.severity == "mistake" for finding in found)
    if not held_back and (finding := _width_small(group, wider, wider_students, chance)) is not None:
        yield finding


def _too_large(group: Group) -> Finding | None:
    """Where half of the students or more show one of the signs."""
    shown = [
        signs for student, signs in zip(group.students, group.each, strict=True) if _unsteady(group, student, signs)
    ]
    if 2 * len(shown) < len(group.students):
        return None
    signs = middle(shown)
    survived = signs.end < SURVIVED and (group.error is None or group.error < LEARNED)
    severity = "hint" if survived else "mistake"
    evidence = {
        "students that show it": len(shown), "loss at the start": signs.start,
        "at the highest": signs.highest * signs.start, "in the end": signs.end * signs.start,
        "all climbs together": signs.climbs_of_start * signs.start, "training error": group.error,
    }  # fmt: skip
    remedy = (
        f"take a smaller step, {_short(group.step / 3)} or {_short(group.step / 10)} instead of {_short(group.step)}"
    )
    return Finding("step too large", severity, group.where, evidence, remedy, signs.highest)


def _short(number: float) -> str:
    """Three digits, 1000 as it is written."""
    return f"{float(f'{number:.3g}'):g}"


def _unsteady(group: Group, student: Course, signs: Signs) -> bool:
    rises = signs.highest >= RISES
    jumps = signs.climbs >= CLIMBS and signs.climbs_of_start >= LEAST_CLIMB
    jumps = jumps and (signs.highest >= ABOVE or signs.last_half < ON_ITS_WAY)
    above = signs.end >= 1 and signs.moved >= MOVED
    still = signs.moved < MOVED and group.way(student) >= FAR
    return rises or jumps or ((above or still) and (student.dead or 0.0) < MOST_DEAD)


def _unfinished(group: Group) -> Finding | None:
    signs = group.signs
    if group.dead >= MOST_DEAD or group.held >= HELD:
        return None
    learned = group.error < LEARNED if group.error is not None else signs.end < SURVIVED
    falls = signs.last_half >= LAST_HALF and signs.last_quarter >= LAST_QUARTER and not learned
    still = signs.moved < MOVED and (median([group.way(student) for student in group.students]) or 0.0) < FAR
    if not (falls or still):
        return None
    evidence = {
        "loss at the start": signs.start, "in the end": signs.end * signs.start,
        "share of its fall in the second half of the training": signs.last_half,
        "in the last quarter": signs.last_quarter, "training error": group.error,
    }  # fmt: skip
    factor = 1000 if signs.moved < MOVED else 100 if signs.moved < BARELY else 10 if signs.last_half >= STEADY else 3
    remedy = f"take a larger step, e.g. {_short(group.step * factor)} instead of {_short(group.step)}"
    remedy += "" if factor >= 100 else f", or train about {factor} times as long"
    return Finding(SHORT, "mistake", group.where, evidence, remedy, signs.last_half)


def _dead(group: Group) -> Finding | None:
    if group.dead < SOME_DEAD or group.dead * group.width < 2:
        return None
    severity = "mistake" if group.dead >= MOST_DEAD else "hint"
    evidence = {"share of neurons silent on every watched row": group.dead, "training error": group.error}
    remedy = "take a smaller step, which kills fewer neurons; "
    remedy += "or another start" if severity == "mistake" else "or a narrower student: these neurons do nothing"
    return Finding("dead neurons", severity, group.where, evidence, remedy, group.dead)


def _radius_small(group: Group, looser: float | None, chance: float | None) -> Finding | None:
    if group.radius is None or group.held < HELD or group.error is None:
        return None
    if not _high(group.error, looser, chance):
        return None
    evidence = {"share of neurons held by the projection": group.held, "training error": group.error}
    evidence |= _compared(looser, chance, "with a larger radius, or the teacher's")
    remedy = f"take a larger radius, e.g. {_short(group.radius * 4)} instead of {_short(group.radius)}, or none"
    return Finding("radius too small", "mistake", group.where, evidence, remedy, group.error)


def _radius_large(group: Group) -> Finding | None:
    reached = median([student.displacement for student in group.students])
    if group.radius is None or reached is None or reached >= NEVER_BINDS:
        return None
    held_out = median([student.held_out for student in group.students])
    over = group.error is not None and held_out is not None
    over = over and held_out - group.error >= POINTS and held_out >= 2 * group.error  # type: ignore[operator]
    evidence = {
        "farthest neuron, of what the radius allows": reached, "training error": group.error,
        "error on held-out rows": held_out,
    }  # fmt: skip
    if over:
        remedy = f"the student overfits, and the radius does not hold it: take {reached * group.radius / 2:.2g} or less"
    else:
        remedy = f"it does nothing: leave it out, or take {reached * group.radius:.2g} or less for it to count"
    return Finding("radius too large", "mistake" if over else "hint", group.where, evidence, remedy, 1 - reached)


def _width_small(
    group: Group, wider: float | None, wider_students: float | None, chance: float | None
) -> Finding | None:
    if group.error is None or group.held >= HELD or not _high(group.error, wider, chance):
        return None
    severity = "hint" if wider is None else "mistake"
    evidence = {"training error": group.error} | _compared(wider, chance, "of wider students, or the teacher's")
    evidence |= {
        "steps": group.steps, "share of the loss's fall in the second half": group.signs.last_half,
        "in the last quarter": group.signs.last_quarter,
    }  # fmt: skip
    more = f"take more neurons, e.g. {group.width * 4} instead of {group.width}"
    if wider_students is not None and group.error >= wider_students + POINTS:
        remedy = f"wider students of this run, trained as long, do better: {more}"
        return Finding("width too small", severity, group.where, evidence, remedy, group.error)
    if _at_rest(group):
        remedy = f"the training has come to rest above what can be reached: {more}"
        return Finding("width too small", severity, group.where, evidence, remedy, group.error)
    remedy = (
        f"the record does not tell which: the loss had not come to rest after {group.steps:,} steps, so train about "
        f"4 times as long first; if the error stays, {more}"
    )
    return Finding(OPEN, severity, group.where, evidence, remedy, group.error)


def _at_rest(group: Group) -> bool:
    """Whether the loss has come to rest, so that more steps of this training would not help."""
    half, quarter = group.signs.last_half, group.signs.last_quarter
    if half < STILL_HALF and quarter < STILL_QUARTER:
        return True
    return group.steps >= ENOUGH_STEPS and half < REST_HALF and quarter < REST_QUARTER


def _high(error: float, reference: float | None, chance: float | None) -> bool:
    if reference is not None:
        return error >= reference + POINTS
    return chance is not None and error >= chance / 2


def _compared(reference: float | None, chance: float | None, whose: str) -> dict[str, Any]:
    return {"that of guessing": chance} if reference is None else {f"that {whose}": reference}


def _disagree(group: Group, by_error: bool) -> Finding | None:
    if len(group.students) < FEWEST_SEEDS:
        return None
    start = group.signs.start
    order = sorted(group.students, key=lambda student: (_last_error(student) or 0.0, student.loss[-1]))
    cut = _gap([_last_error(student) for student in order]) if by_error else None
    if cut is None:
        order = sorted(group.students, key=lambda student: student.loss[-1])
        cut = _heaps(np.array([student.loss[-1] for student in order]) / start)
    if cut is None:
        return None
    ends = np.array([student.loss[-1] for student in order]) / start
    good, bad = order[:cut], order[cut:]
    errors = [median([_last_error(student) for student in heap]) for heap in (good, bad)]
    if errors[0] is not None and errors[1] is not None and errors[1] - errors[0] < POINTS:
        return None
    evidence = {
        "seeds that failed": len(bad), "of": len(order), "the first of them": bad[0].seed,
        "their training error": errors[1], "that of the others": errors[0],
        "their loss, of the start's": float(np.median(ends[cut:])), "of the others": float(np.median(ends[:cut])),
    }  # fmt: skip
    remedy = (
        "the mean over seeds means little here: take a smaller step or more neurons, and look at the seeds one by one"
    )
    return Finding("seeds disagree", "mistake", group.where, evidence, remedy, len(bad) / len(order))


def _last_error(student: Course) -> float | None:
    return student.error[-1] if student.error else None


def _gap(errors: Sequence[float | None]) -> int | None:
    """Where the widest gap between sorted training errors lies, if it is wide."""
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    gaps = np.diff(known)
    return int(gaps.argmax()) + 1 if gaps.max() >= WIDE_GAP else None


def _heaps(ends: np.ndarray) -> int | None:
    """Where sorted values fall into two heaps; None where they do not."""
    whole = float(((ends - ends.mean()) ** 2).sum())
    found = {
        cut: 1 - sum(float(((heap - heap.mean()) ** 2).sum()) for heap in (ends[:cut], ends[cut:])) / whole
        for cut in range(1, len(ends))
        if ends[cut] - ends[cut - 1] >= APART
    }
    best = max(found, key=lambda cut: found[cut], default=None)
    return best if best is not None and found[best] >= HEAPS else None
