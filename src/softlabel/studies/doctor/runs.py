"""What is wrong with a run: of `verdict` or `plan`, of `train --out`, or of a study of the papers.

Settings that were tried on purpose are no mistakes: of the stage "choose" only the step that came out best is looked
at, and of a plan's ladder the narrow widths are not called narrow.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from softlabel.errors import InputError
from softlabel.lab import LEDGER, Ledger, Results
from softlabel.lab.ledger import LedgerError
from softlabel.networks.optimisers import SCHEDULES
from softlabel.studies.doctor.courses import Course, Group, median
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.records import RECORDS, read_records, record_groups
from softlabel.studies.doctor.signatures import examine_group
from softlabel.studies.running import QUESTIONS, STUDIES, fitting, open_ledger, study_module

CHOICE, LADDER = "choose", "search"
_GROUPED = ("stage", "arm", "width", "step", "temperature", "smoothing", "radius")
FEWEST_WATCHES = 3
DIVERGED = "left the finite numbers"
EDGE_GAIN = 0.005
# studies of two classes: what makes a group, its outcomes, and what they are out of
OUTCOMES: dict[str, tuple[tuple[str, ...], tuple[str, ...], float]] = {
    "table1": (
        ("protocol", "leave_out", "width", "arm", "start", "radius", "temperature", "step"), ("test",), 100.0,
    ),
    "figure1": (("family", "level"), ("teacher: accuracy", "hard: accuracy", "soft: accuracy"), 1.0),
}  # fmt: skip
GUESSING, LEARNED = 0.55, 0.65


def examine_run(folder: Path) -> tuple[str, list[Finding]]:
    """What was looked at, and what was found."""
    if (folder / LEDGER).is_file():
        try:
            with fitting(folder), open_ledger(folder) as ledger:
                said, findings = _examine_ledger(ledger, folder)
        except LedgerError as problem:
            raise InputError(str(problem)) from None
    elif (folder / RECORDS).is_file():
        said, findings = _examine_records(folder)
    else:
        raise InputError(
            f"'{folder}' is not a run folder: it has neither {LEDGER} (verdict, plan, reproduce) nor {RECORDS} "
            "(train --out); `softlabel results list` shows runs"
        )
    return said, [replace(one, where={"run": str(folder), **one.where}) for one in _merged(findings)]


def _examine_records(folder: Path) -> tuple[str, list[Finding]]:
    document = read_records(folder)
    groups = record_groups(document, folder / RECORDS)
    findings = list(_examine_groups(groups, document.get("teacher_error"), document.get("chance_error")))
    failed = document.get("failed")
    if failed is not None:
        findings += _failures([("", "training", failed)])
    return f"run '{folder}' of train, {len(document['students'])} students", findings


def _examine_ledger(ledger: Ledger, folder: Path) -> tuple[str, list[Finding]]:
    study = ledger.meta("study")
    if study is None:
        raise InputError(f"'{folder}' holds a ledger without a study: its run ended before it began; run it again")
    rows = ledger.rows()
    findings = [*_failures(ledger.failures()), *_unfinished(ledger, study)]
    said = f"run '{folder}' of {study}, {len(rows):,} outcomes"
    watched = [row for row in rows if len(row.get("course", {}).get("loss", ())) >= FEWEST_WATCHES]
    if study in QUESTIONS:
        settings, facts = ledger.meta("settings") or {}, ledger.meta("facts") or {}
        schedule = "cosine" if settings.get("family", "two-layer") == "two-layer" else "constant"
        groups = ledger_groups(watched, schedule, settings.get("metric", "accuracy"))
        findings += _examine_groups(groups, _teacher_error(facts), None)
        findings += _edges(rows)
        said += f", {sum(row['stage'] != CHOICE for row in watched):,} courses of students with chosen settings"
    elif study in OUTCOMES:
        findings += _collapsed(rows, *OUTCOMES[study])
    return said, findings


def ledger_groups(rows: Iterable[dict[str, Any]], schedule: str, metric: str = "accuracy") -> list[Group]:
    """Students of a ledger by their settings, without their seeds."""
    groups: dict[tuple, list[Course]] = {}
    for row in rows:
        held_out = row.get("validation") if metric == "accuracy" else row.get("accuracy")
        course = Course(
            seed=row["seed"],
            steps=row["course"]["step"],
            loss=row["course"]["loss"],
            error=row["course"].get("error"),
            dead=row.get("dead"),
            displacement=row.get("displacement"),
            held=row.get("held"),
            held_out=None if held_out is None else 1 - held_out,
        )
        groups.setdefault(tuple(row[name] for name in _GROUPED), []).append(course)
    assert schedule in SCHEDULES
    return [Group(*key, students=tuple(students), schedule=schedule) for key, students in groups.items()]


def _examine_groups(groups: list[Group], teacher: float | None, chance: float | None) -> Iterator[Finding]:
    for group in groups:
        if group.stage == CHOICE:
            continue
        own = [other for other in groups if other.arm == group.arm and other is not group]
        wider = [g.error for g in own if g.width > group.width and g.stage != CHOICE]
        yield from examine_group(
            group,
            wider=_least([g.error for g in own if g.width > group.width], teacher),
            wider_students=_least(wider, None),
            looser=_least([g.error for g in own if g.width == group.width and _looser(g, group)], teacher),
            chance=chance,
            narrow_on_purpose=group.stage == LADDER and any(g.stage != CHOICE and g.width > group.width for g in own),
        )


def _looser(other: Group, group: Group) -> bool:
    return group.radius is not None and (other.radius is None or other.radius > group.radius)


def _least(errors: list[float | None], teacher: float | None) -> float | None:
    return min((error for error in (*errors, teacher) if error is not None), default=None)


def _teacher_error(facts: dict[str, Any]) -> float | None:
    """The teacher's error, on that part on which it errs most: it may know the training rows by heart."""
    parts = (facts.get("audit") or {}).get("parts") or {}
    errors = [1 - part["accuracy"] for part in parts.values() if part is not None]
    return max(errors, default=None)


def _failures(failed: list[tuple[str, str, str]]) -> Iterator[Finding]:
    for diverged in (True, False):
        own = [one for one in failed if (DIVERGED in one[2]) == diverged]
        if not own:
            continue
        stage, name, reason = own[0]
        where = {"stage": stage, "work": name} if stage else {"work": name}
        evidence = {"failed": len(own), "the first": reason}
        if diverged:
            yield Finding("step too large", "mistake", where, evidence, "take a step a tenth as large", np.inf)
        else:
            remedy = "mend the reason, then give the same command again: what is done is kept"
            yield Finding("failed work", "mistake", where, evidence, remedy, float(len(own)))


def _unfinished(ledger: Ledger, study: str) -> Iterator[Finding]:
    """The first stage that lacks bundles."""
    if study not in STUDIES | QUESTIONS:
        return
    module = study_module(study)
    try:
        settings = module.Settings.model_validate(ledger.meta("settings"))
    except ValidationError:  # written by another version
        return
    status, results = ledger.status(), Results()
    for stage in module.study(settings).stages:
        bundles = stage.bundles(settings, results)
        missing = [bundle.name for bundle in bundles if status.get(bundle.key) != "done"]
        if missing:
            evidence = {"parts that lack": len(missing), "of": len(bundles), "the first": missing[0]}
            again = ledger.meta("again")
            remedy = f"give the same command again: {again}" if again else "give the same command again"
            yield Finding("unfinished run", "hint", {"stage": stage.name}, evidence, remedy)
            return
        for bundle in bundles:
            for cell, outcome in zip(bundle.cells, ledger.outcomes(bundle.key), strict=True):
                results.add(stage.name, cell, outcome)


def _edges(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    """Where the best step of the choice is the smallest or the largest that was tried."""
    tried: dict[tuple[str, int], dict[tuple, dict[float, list[float]]]] = {}
    for row in rows:
        if row["stage"] != CHOICE:
            continue
        score = row["metric"] if "metric" in row else row["validation"]
        others = (row["temperature"], row["smoothing"], row["radius"])
        steps = tried.setdefault((row["arm"], row["width"]), {}).setdefault(others, {})
        steps.setdefault(row["step"], []).append(score)
    for (arm, width), kinds in tried.items():
        means = {others: {s: float(np.mean(v)) for s, v in steps.items()} for others, steps in kinds.items()}
        best = max(means, key=lambda others: max(means[others].values()))
        steps = sorted(means[best])
        step = max(means[best], key=lambda s: means[best][s])
        if len(steps) < 2 or step not in (steps[0], steps[-1]):
            continue
        next_to = steps[1] if step == steps[0] else steps[-2]
        gain = means[best][step] - means[best][next_to]
        if len(steps) == 2 and gain < EDGE_GAIN:
            continue
        side, beyond = ("smallest", step / 3) if step == steps[0] else ("largest", step * 3)
        evidence = {"best step": step, "tried": f"{len(steps)} from {steps[0]:g} to {steps[-1]:g}",
                    "its score": means[best][step], f"that of step {next_to:g}": means[best][next_to]}  # fmt: skip
        remedy = f"the best step is the {side} that was tried: widen the range, e.g. to {beyond:.2g}"
        yield Finding("step at the edge", "hint", {"stage": CHOICE, "arm": arm, "width": width}, evidence, remedy, gain)


def _collapsed(
    rows: list[dict[str, Any]], keys: tuple[str, ...], outcomes: tuple[str, ...], out_of: float
) -> Iterator[Finding]:
    """Groups in which some seeds do no better than guessing and the others do."""
    groups: dict[tuple, list[tuple[int, float]]] = {}
    for row in rows:
        for name in outcomes:
            if row.get(name) is not None:
                key = (name, *(str(row.get(part)) for part in keys))
                groups.setdefault(key, []).append((row["seed"], row[name] / out_of))
    for (name, *parts), values in groups.items():
        bad = [seed for seed, value in values if value <= GUESSING]
        good = median([value for _, value in values if value > GUESSING])
        if not bad or good is None or good < LEARNED:
            continue
        where = {"outcome": name} | dict(zip(keys, parts, strict=True))
        evidence = {"seeds no better than guessing": len(bad), "of": len(values), "the first of them": bad[0],
                    "accuracy of the others": good}  # fmt: skip
        remedy = "the mean over seeds means little here: look at the seeds one by one"
        yield Finding("seeds disagree", "mistake", where, evidence, remedy, len(bad) / len(values))


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for all widths of an arm; its evidence is that of the worst."""
    kept: dict[tuple, list[Finding]] = {}
    for place, finding in enumerate(findings):
        where = finding.where
        alike = (where.get("protocol"), where.get("arm")) if "width" in where else place
        kept.setdefault((finding.name, finding.severity, alike), []).append(finding)
    return [_joined(alike) for alike in kept.values()]


def _joined(alike: list[Finding]) -> Finding:
    worst = max(alike, key=lambda finding: finding.degree)
    widths = {one.where["width"] for one in alike if "width" in one.where} - {worst.where.get("width")}
    return replace(worst, where=worst.where | {"also at width": sorted(widths)}) if widths else worst
