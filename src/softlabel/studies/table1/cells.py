"""The cells of Table 1, stage by stage: teachers, choice of settings on validation data, the test.

    teach    one teacher per seed on each of the data sets; its logits on the training images are stored
    choose   every setting of every protocol and arm, on tuning seeds; only the validation images are used
    test     the chosen settings on new seeds: the only students that are evaluated on the test images

For the primary protocol, settings are chosen twice: freely, and for every radius separately (one radius for both arms).
"""

from collections.abc import Iterator
from typing import Literal

from softlabel.lab.cells import Bundle, Settings, StageResults
from softlabel.studies.table1.settings import PRIMARY, Protocol, Table1Settings, Teaching, cost

Arm = Literal["hard", "soft"]
ARMS: tuple[Arm, ...] = ("hard", "soft")
TUNING_SEEDS_FROM = 1_000_000


class TeacherCell(Settings):
    """One teacher on one data set."""

    leave_out: tuple[int, ...]
    seed: int
    teaching: Teaching


class Table1Cell(Settings):
    """One student on one data set: its stage, its protocol, and the settings it is trained with."""

    stage: Literal["choose", "test"]
    protocol: str
    leave_out: tuple[int, ...]
    width: int
    arm: Arm
    seed: int
    init: str
    radius: float | None
    temperature: float | None
    learning_rate: float


def tuning_seeds(settings: Table1Settings) -> range:
    """Seeds with which settings are chosen."""
    first = settings.seed + TUNING_SEEDS_FROM
    return range(first, first + settings.tuning_seeds)


def teacher_bundles(settings: Table1Settings, results: StageResults) -> list[Bundle]:
    """Teachers of all seeds, as many together as a bundle holds."""
    together = max(1, settings.bundle_neurons // settings.teacher.width)
    seeds = [*settings.seeds, *tuning_seeds(settings)]
    return [
        Bundle(
            f"{set_name(leave_out)}, teachers {part[0]}…{part[-1]}",
            tuple(TeacherCell(leave_out=leave_out, seed=seed, teaching=settings.teacher) for seed in part),
            cost=cost(len(part) * settings.teacher.width, settings.teacher.epochs),
        )
        for leave_out in settings.leave_out
        for part in (seeds[k : k + together] for k in range(0, len(seeds), together))
    ]


def choice_bundles(settings: Table1Settings, results: StageResults) -> list[Bundle]:
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


def final_bundles(settings: Table1Settings, results: StageResults) -> list[Bundle]:
    """The chosen settings on new seeds."""
    choices = Choices(settings, results)
    bundles = []
    for protocol in settings.protocols:
        for leave_out in settings.leave_out:
            cells = [
                chosen.model_copy(update={"stage": "test", "seed": seed})
                for width in settings.widths
                for arm in ARMS
                for chosen in choices.tested(protocol, leave_out, width, arm)
                for seed in settings.seeds
            ]
            bundles += _bundles(settings, protocol, leave_out, list(dict.fromkeys(cells)))
    return bundles


class Choices:
    """The settings with the best mean validation accuracy over the tuning seeds; the first of equals."""

    def __init__(self, settings: Table1Settings, results: StageResults) -> None:
        self._accuracies: dict[tuple, dict[Table1Cell, list[float]]] = {}
        first_seed = tuning_seeds(settings)[0]
        for cell, result in results["choose"]:
            row = (cell.protocol, cell.leave_out, cell.width, cell.arm)
            choice = cell.model_copy(update={"seed": first_seed})
            self._accuracies.setdefault(row, {}).setdefault(choice, []).append(result.metrics["validation"])

    def validation(
        self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm
    ) -> dict[Table1Cell, float]:
        """Mean validation accuracy of every choice, by its cell of the first tuning seed."""
        accuracies = self._accuracies[(protocol.name, leave_out, width, arm)]
        return {choice: sum(values) / len(values) for choice, values in accuracies.items()}

    def best(
        self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm, radius: float | str | None = "any"
    ) -> Table1Cell:
        """The best choice, of all or with this radius."""
        means = self.validation(protocol, leave_out, width, arm)
        return max((cell for cell in means if radius in ("any", cell.radius)), key=lambda cell: means[cell])

    def tested(self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm) -> Iterator[Table1Cell]:
        """Every choice that is tested: the free choice, and for the primary protocol one for every radius."""
        yield self.best(protocol, leave_out, width, arm)
        if protocol.name == PRIMARY:
            for radius in protocol.all_radii:
                yield self.best(protocol, leave_out, width, arm, radius)


def set_name(leave_out: tuple[int, ...]) -> str:
    """A data set by the classes it leaves out, as the paper names it."""
    return f"all except {','.join(map(str, leave_out))}" if leave_out else "all digits"


def _grid(protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm, seed: int) -> Iterator[Table1Cell]:
    pairs: list[tuple[float | None, float]]
    if arm == "soft":
        pairs = [(temperature, eta) for temperature in protocol.temperatures for eta in protocol.soft_learning_rates]
    else:
        pairs = [(None, eta) for eta in protocol.hard_learning_rates]
    for init in protocol.inits:
        for radius in protocol.all_radii:
            for temperature, learning_rate in pairs:
                yield Table1Cell(
                    stage="choose",
                    protocol=protocol.name,
                    leave_out=leave_out,
                    width=width,
                    arm=arm,
                    seed=seed,
                    init=init,
                    radius=radius,
                    temperature=temperature,
                    learning_rate=learning_rate,
                )


def _bundles(
    settings: Table1Settings, protocol: Protocol, leave_out: tuple[int, ...], cells: list[Table1Cell]
) -> Iterator[Bundle]:
    """Cells of one protocol and data set in bundles of about equal size."""
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
