"""The cells of Table 1, stage by stage: teachers, choice of settings on validation data, the test.

    teach    a teacher for every seed, on each of the two sets; its logits on the training images are kept
    choose   every setting of every protocol and arm, on tuning seeds; only the validation images are looked at
    test     the settings chosen, on fresh seeds: the only students that ever see the test images

For the primary protocol settings are chosen twice: freely, and for every radius separately (one radius for both arms).
"""

from collections.abc import Iterator
from typing import Literal

from softlabel.lab import Bundle, Results, Settings
from softlabel.studies.table1.settings import PRIMARY, Protocol, Table1, Teaching, cost

Arm = Literal["hard", "soft"]
ARMS: tuple[Arm, ...] = ("hard", "soft")
TUNING_SEEDS_FROM = 1_000_000


class TeacherCell(Settings):
    """One teacher on one set."""

    leave_out: tuple[int, ...]
    seed: int
    teaching: Teaching


class StudentCell(Settings):
    """One student on one set: which stage it belongs to, which protocol, and what it was given to train with."""

    stage: Literal["choose", "test"]
    protocol: str
    leave_out: tuple[int, ...]
    width: int
    arm: Arm
    seed: int
    start: str
    radius: float | None
    temperature: float | None
    step: float

    @property
    def choice(self) -> tuple[str, float | None, float | None, float]:
        """What was chosen for it: start, radius, temperature, step."""
        return self.start, self.radius, self.temperature, self.step


def run_seeds(settings: Table1) -> range:
    return range(settings.seed, settings.seed + settings.runs)


def tuning_seeds(settings: Table1) -> range:
    first = settings.seed + TUNING_SEEDS_FROM
    return range(first, first + settings.tuning_seeds)


def teacher_bundles(settings: Table1, results: Results) -> list[Bundle]:
    """Teachers of all seeds, as many together as a bundle holds."""
    together = max(1, settings.bundle_neurons // settings.teacher.width)
    seeds = [*run_seeds(settings), *tuning_seeds(settings)]
    return [
        Bundle(
            f"{set_name(leave_out)}, teachers {part[0]}…{part[-1]}",
            tuple(TeacherCell(leave_out=leave_out, seed=seed, teaching=settings.teacher) for seed in part),
            cost=cost(len(part) * settings.teacher.width, settings.teacher.epochs),
        )
        for leave_out in settings.leave_out
        for part in (seeds[k : k + together] for k in range(0, len(seeds), together))
    ]


def choice_bundles(settings: Table1, results: Results) -> list[Bundle]:
    """Every setting that may be chosen, on the tuning seeds."""
    bundles = []
    for protocol in settings.protocols:
        for leave_out in settings.leave_out:
            cells = [
                cell
                for width in settings.widths
                for seed in tuning_seeds(settings)
                for arm in ARMS
                for cell in _grid(protocol, leave_out, width, arm, seed)
            ]
            bundles += _bundles(settings, protocol, leave_out, cells)
    return bundles


def final_bundles(settings: Table1, results: Results) -> list[Bundle]:
    """The chosen settings on fresh seeds."""
    choices = Choices(settings, results)
    bundles = []
    for protocol in settings.protocols:
        for leave_out in settings.leave_out:
            cells: dict[str, StudentCell] = {}
            for width in settings.widths:
                for arm in ARMS:
                    for chosen in choices.all_of(protocol, leave_out, width, arm):
                        for seed in run_seeds(settings):
                            cell = chosen.model_copy(update={"stage": "test", "seed": seed})
                            cells[cell.key] = cell
            bundles += _bundles(settings, protocol, leave_out, list(cells.values()))
    return bundles


class Choices:
    """Which settings did best on the validation images, on average over the tuning seeds; the first among equals."""

    def __init__(self, settings: Table1, results: Results) -> None:
        self.settings = settings
        self._accuracy: dict[tuple, dict[tuple, list[float]]] = {}
        for cell, outcome in results["choose"]:
            place = (cell.protocol, cell.leave_out, cell.width, cell.arm)
            self._accuracy.setdefault(place, {}).setdefault(cell.choice, []).append(outcome.metrics["validation"])

    def validation(self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm) -> dict[tuple, float]:
        """Mean validation accuracy of every choice (start, radius, temperature, step)."""
        found = self._accuracy[(protocol.name, leave_out, width, arm)]
        return {choice: sum(values) / len(values) for choice, values in found.items()}

    def best(
        self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm, radius: float | str | None = "any"
    ) -> StudentCell:
        """The best choice, of all or with this radius."""
        found = self.validation(protocol, leave_out, width, arm)
        candidates = {choice: value for choice, value in found.items() if radius in ("any", choice[1])}
        start, chosen_radius, temperature, step = max(candidates, key=lambda choice: candidates[choice])
        return StudentCell(
            stage="test",
            protocol=protocol.name,
            leave_out=leave_out,
            width=width,
            arm=arm,
            seed=0,
            start=start,
            radius=chosen_radius,
            temperature=temperature,
            step=step,
        )

    def all_of(self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm) -> Iterator[StudentCell]:
        """Everything that goes to the test: the free choice, and for the primary protocol one for every radius."""
        yield self.best(protocol, leave_out, width, arm)
        if protocol.name == PRIMARY:
            for radius in protocol.all_radii:
                yield self.best(protocol, leave_out, width, arm, radius)


def set_name(leave_out: tuple[int, ...]) -> str:
    """A set by what it leaves out, as the paper names it."""
    return f"all except {','.join(map(str, leave_out))}" if leave_out else "all digits"


def _grid(protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm, seed: int) -> Iterator[StudentCell]:
    pairs: list[tuple[float | None, float]]
    if arm == "soft":
        pairs = [(temperature, step) for temperature in protocol.temperatures for step in protocol.soft_steps]
    else:
        pairs = [(None, step) for step in protocol.hard_steps]
    for start in protocol.starts:
        for radius in protocol.all_radii:
            for temperature, step in pairs:
                yield StudentCell(
                    stage="choose",
                    protocol=protocol.name,
                    leave_out=leave_out,
                    width=width,
                    arm=arm,
                    seed=seed,
                    start=start,
                    radius=radius,
                    temperature=temperature,
                    step=step,
                )


def _bundles(
    settings: Table1, protocol: Protocol, leave_out: tuple[int, ...], cells: list[StudentCell]
) -> Iterator[Bundle]:
    """Cells of one protocol and set in bundles of about equal size."""
    neurons = sum(cell.width for cell in cells)
    count = max(1, round(neurons / settings.bundle_neurons))
    for number in range(count):
        part = tuple(cells[number::count])
        seeds = sorted({cell.seed for cell in part if cell.arm == "soft"})
        teachers = [TeacherCell(leave_out=leave_out, seed=seed, teaching=settings.teacher) for seed in seeds]
        yield Bundle(
            f"{protocol.name}, {set_name(leave_out)}, {number + 1} of {count}",
            part,
            needs=tuple(teacher.key for teacher in teachers),
            cost=cost(sum(cell.width for cell in part), protocol.epochs),
        )
