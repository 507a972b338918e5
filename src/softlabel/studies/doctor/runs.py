"""Mistakes in a run of `verdict`, `plan` or `train`, or of a study of the papers.

Settings that were tried on purpose are not mistakes: in the stage "choose" only the best learning rate is examined, and
the small widths of a plan's search are not called too small.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from softlabel.errors import InputError
from softlabel.lab import LEDGER, Ledger, StageResults
from softlabel.lab.ledger import LedgerError
from softlabel.networks.optimizers import SCHEDULES
from softlabel.studies.doctor.advice import Verb, slower, verb_of
from softlabel.studies.doctor.courses import Course, CourseGroup, median
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.records import read_records, record_groups
from softlabel.studies.doctor.signatures import examine_group
from softlabel.studies.registry import PAPER_STUDIES, STUDIES
from softlabel.studies.run import RECORDS, open_ledger, reading, without_ledger

CHOICE, LADDER = "choose", "search"
_GROUPED = ("stage", "arm", "width", "learning_rate", "temperature", "smoothing", "radius")
FEWEST_RECORDS = 3
DIVERGED = "diverged"
EDGE_GAIN = 0.005
# studies of two classes: the fields that make a group, its accuracies, and their maximum
ACCURACIES: dict[str, tuple[tuple[str, ...], tuple[str, ...], float]] = {
    "table1": (
        ("protocol", "leave_out", "width", "arm", "init", "radius", "temperature", "learning_rate"), ("test",), 100.0,
    ),
    "figure1": (("family", "level"), ("teacher: accuracy", "hard: accuracy", "soft: accuracy"), 1.0),
}  # fmt: skip
GUESSING, LEARNED = 0.55, 0.65


def examine_run(run_dir: Path) -> tuple[str, list[Finding]]:
    """A description of the run, and the findings."""
    if (run_dir / LEDGER).is_file():
        try:
            with reading(run_dir), open_ledger(run_dir) as ledger:
                description, findings = _examine_ledger(ledger, run_dir)
        except LedgerError as problem:
            raise InputError(str(problem)) from None
    elif (run_dir / RECORDS).is_file():
        description, findings = _examine_records(run_dir)
    else:
        raise InputError(
            without_ledger(run_dir)
            or f"'{run_dir}' is not a run directory: it has neither {LEDGER} (verdict, plan, reproduce) nor {RECORDS} "
            "(train); `softlabel results list` shows runs"
        )
    return description, [replace(one, where={"run": str(run_dir), **one.where}) for one in _merged(findings)]


def _examine_records(run_dir: Path) -> tuple[str, list[Finding]]:
    document = read_records(run_dir)
    groups = record_groups(document, run_dir / RECORDS)
    findings = list(_examine_groups(groups, document.get("teacher_error"), document.get("chance_error")))
    failed = document.get("failed")
    if failed is not None:
        findings += _failures([("", "training", failed)], "train")
    return f"run '{run_dir}' of train, {len(document['students'])} students", findings


def _examine_ledger(ledger: Ledger, run_dir: Path) -> tuple[str, list[Finding]]:
    study = ledger.meta("study")
    if study is None:
        raise InputError(
            f"'{run_dir}' contains a ledger without a study: the run ended before its first bundle; rerun it"
        )
    rows = ledger.rows()
    findings = [*_failures(ledger.failures(), verb_of(study)), *_unfinished(ledger, study)]
    description = f"run '{run_dir}' of {study}, {len(rows):,} results"
    recorded = [row for row in rows if len(row.get("course", {}).get("loss", ())) >= FEWEST_RECORDS]
    if study in STUDIES and study not in PAPER_STUDIES:
        settings, facts = ledger.meta("settings") or {}, ledger.meta("facts") or {}
        family = settings.get("student", settings.get("family", "two-layer"))
        schedule = "cosine" if family == "two-layer" else "constant"
        groups = ledger_groups(recorded, schedule, settings.get("metric", "accuracy"), verb_of(study))
        findings += _examine_groups(groups, _teacher_error(facts), None)
        findings += _edges(rows) if _is_network(family) else []
        courses = sum(row["stage"] != CHOICE for row in recorded)
        description += f", {courses:,} courses of students with chosen settings"
    elif study in ACCURACIES:
        findings += _collapsed(rows, *ACCURACIES[study])
    return description, findings


def ledger_groups(
    rows: Iterable[dict[str, Any]], schedule: str, metric: str = "accuracy", verb: Verb = "verdict"
) -> list[CourseGroup]:
    """Students of a ledger, grouped by their settings without the seed."""
    groups: dict[tuple, list[Course]] = {}
    for row in rows:
        accuracy = row.get("validation") if metric == "accuracy" else row.get("accuracy")
        course = Course(
            seed=row["seed"],
            steps=row["course"]["step"],
            loss=row["course"]["loss"],
            error=row["course"].get("error"),
            dead=row.get("dead"),
            displacement=row.get("displacement"),
            projected=row.get("projected"),
            evaluation_error=None if accuracy is None else 1 - accuracy,
        )
        groups.setdefault(tuple(row[name] for name in _GROUPED), []).append(course)
    assert schedule in SCHEDULES
    return [
        CourseGroup(*key, students=tuple(students), schedule=schedule, verb=verb) for key, students in groups.items()
    ]


def _examine_groups(groups: list[CourseGroup], teacher: float | None, chance: float | None) -> Iterator[Finding]:
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


def _is_network(family: str) -> bool:
    """Whether students of this family have a learning rate and epochs."""
    return family == "two-layer" or family.startswith(("vgg", "resnet"))


def _looser(other: CourseGroup, group: CourseGroup) -> bool:
    return group.radius is not None and (other.radius is None or other.radius > group.radius)


def _least(errors: list[float | None], teacher: float | None) -> float | None:
    return min((error for error in (*errors, teacher) if error is not None), default=None)


def _teacher_error(facts: dict[str, Any]) -> float | None:
    """The teacher's error on the part where it is largest: a teacher may have memorized the training rows."""
    parts = (facts.get("audit") or {}).get("parts") or {}
    errors = [1 - part["accuracy"] for part in parts.values() if part is not None]
    return max(errors, default=None)


def _failures(failed: list[tuple[str, str, str]], verb: Verb) -> Iterator[Finding]:
    for diverged in (True, False):
        own = [one for one in failed if (DIVERGED in one[2].lower()) == diverged]
        if not own:
            continue
        stage, name, reason = own[0]
        where = {"stage": stage, "work": name} if stage else {"work": name}
        evidence = {"failed": len(own), "the first": reason}
        if diverged:
            remedy = "use a tenth of this `learning_rate`" if verb == "train" else slower(verb, 1.0)
            yield Finding("learning rate too large", "mistake", where, evidence, remedy, np.inf)
        else:
            remedy = "fix the cause, then rerun the same command: finished work is kept"
            yield Finding("failed work", "mistake", where, evidence, remedy, float(len(own)))


def _unfinished(ledger: Ledger, study: str) -> Iterator[Finding]:
    """The first stage with missing bundles."""
    if study not in STUDIES:
        return
    try:
        recorded = STUDIES[study].from_settings(ledger.meta("settings"))
    except ValidationError:  # written by another version
        return
    status, results = ledger.status(), StageResults()
    for stage in recorded.stages:
        bundles = stage.bundles(recorded.settings, results)
        missing = [bundle.name for bundle in bundles if status.get(bundle.key) != "done"]
        if missing:
            evidence = {"missing parts": len(missing), "of": len(bundles), "the first": missing[0]}
            command = ledger.meta("command")
            remedy = f"rerun the same command: {command}" if command else "rerun the same command"
            yield Finding("unfinished run", "hint", {"stage": stage.name}, evidence, remedy)
            return
        for bundle in bundles:
            for cell, result in zip(bundle.cells, ledger.cell_results(bundle.key), strict=True):
                results.add(stage.name, cell, result)


def _edges(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    """Choices whose best learning rate is the smallest or the largest that was tried."""
    tried: dict[tuple[str, int], dict[tuple, dict[float, list[float]]]] = {}
    for row in rows:
        if row["stage"] != CHOICE:
            continue
        score = row["metric"] if "metric" in row else row["validation"]
        others = (row["temperature"], row["smoothing"], row["radius"], row.get("both_sides"))
        etas = tried.setdefault((row["arm"], row["width"]), {}).setdefault(others, {})
        etas.setdefault(row["learning_rate"], []).append(score)
    for (arm, width), kinds in tried.items():
        means = {others: {r: float(np.mean(v)) for r, v in etas.items()} for others, etas in kinds.items()}
        scores = means[max(means, key=lambda others: max(means[others].values()))]
        etas = sorted(scores)
        best = max(scores, key=lambda eta: scores[eta])
        if len(etas) < 2 or best not in (etas[0], etas[-1]):
            continue
        neighbor = etas[1] if best == etas[0] else etas[-2]
        gain = scores[best] - scores[neighbor]
        if len(etas) == 2 and gain < EDGE_GAIN:
            continue
        side, change, beyond, instead = (
            ("smallest", "smaller", best / 3, "use larger batches (`batch_size`)")
            if best == etas[0]
            else ("largest", "larger", best * 3, "train for more `epochs`")
        )
        where = {"stage": CHOICE, "arm": arm, "width": width}
        evidence = {
            "best learning rate": best,
            "tried": f"{len(etas)} from {etas[0]:g} to {etas[-1]:g}",
            "its score": scores[best],
            f"score of {neighbor:g}": scores[neighbor],
        }
        remedy = (
            f"the best learning rate is the {side} that was tried, and a {change} one, e.g. {beyond:.2g}, may be "
            f"better; the range is fixed here, so {instead} instead"
        )
        yield Finding("learning rate at the edge", "hint", where, evidence, remedy, gain)


def _collapsed(
    rows: list[dict[str, Any]], keys: tuple[str, ...], accuracies: tuple[str, ...], maximum: float
) -> Iterator[Finding]:
    """Groups in which some seeds are no better than guessing and the others are."""
    groups: dict[tuple, list[tuple[int, float]]] = {}
    for row in rows:
        for name in accuracies:
            if row.get(name) is not None:
                key = (name, *(str(row.get(part)) for part in keys))
                groups.setdefault(key, []).append((row["seed"], row[name] / maximum))
    for (name, *parts), values in groups.items():
        bad = [seed for seed, value in values if value <= GUESSING]
        good = median([value for _, value in values if value > GUESSING])
        if not bad or good is None or good < LEARNED:
            continue
        where = {"accuracy": name} | dict(zip(keys, parts, strict=True))
        evidence = {"seeds no better than guessing": len(bad), "of": len(values), "the first of them": bad[0],
                    "accuracy of the others": good}  # fmt: skip
        remedy = "a mean over these seeds is not informative: inspect the seeds individually"
        yield Finding("seeds disagree", "mistake", where, evidence, remedy, len(bad) / len(values))


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for all widths of an arm, with the evidence of the worst."""
    kept: dict[tuple, list[Finding]] = {}
    for k, finding in enumerate(findings):
        where = finding.where
        arm = (where.get("protocol"), where.get("arm")) if "width" in where else k
        kept.setdefault((finding.name, finding.severity, arm), []).append(finding)
    return [_joined(similar) for similar in kept.values()]


def _joined(similar: list[Finding]) -> Finding:
    worst = max(similar, key=lambda finding: finding.degree)
    widths = {one.where["width"] for one in similar if "width" in one.where} - {worst.where.get("width")}
    return replace(worst, where=worst.where | {"also at width": sorted(widths)}) if widths else worst
