"""The cells of Table 1, stage by stage: teachers, choice of settings on validation data, the test.

    teach    one teacher per seed on each of the data sets; its logits on the training images are stored
    choose   every setting of every protocol and arm, on tuning seeds; only the validation images are used
    confirm  the best settings again, on more tuning seeds
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

    stage: Literal["choose", "confirm", "test"]
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
    """Seeds with which every setting is tried."""
    first = settings.seed + TUNING_SEEDS_FROM
    return range(first, first + settings.tuning_seeds)


def confirmation_seeds(settings: Table1Settings) -> range:
    """Seeds with which the best settings are tried again."""
    first = tuning_seeds(settings).stop
    return range(first, first + settings.confirmation_seeds)


def teacher_bundles(settings: Table1Settings, results: StageResults) -> list[Bundle]:
    """Teachers of all seeds, as many together as a bundle holds."""
    together = max(1, settings.bundle_neurons // settings.teacher.width)
    seeds = [*settings.seeds, *tuning_seeds(settings), *confirmation_seeds(settings)]
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


def confirmation_bundles(settings: Table1Settings, results: StageResults) -> list[Bundle]:
    """The best settings of every choice, on more tuning seeds."""
    return _chosen_bundles(settings, results, "confirm", confirmation_seeds(settings))


def final_bundles(settings: Table1Settings, results: StageResults) -> list[Bundle]:
    """The chosen settings on new seeds."""
    return _chosen_bundles(settings, results, "test", settings.seeds)


def _chosen_bundles(settings: Table1Settings, results: StageResults, stage: str, seeds: range) -> list[Bundle]:
    if not seeds:
        return []
    choices = Choices(settings, results)
    bundles = []
    for protocol in settings.protocols:
        for leave_out in settings.leave_out:
            cells = [
                chosen.model_copy(update={"stage": stage, "seed": seed})
                for width in settings.widths
                for arm in ARMS
                for radius in tested_radii(protocol)
                for chosen in choices.ranked(protocol, leave_out, width, arm, radius, final=stage == "test")
                for seed in seeds
            ]
            bundles += _bundles(settings, protocol, leave_out, list(dict.fromkeys(cells)))
    return bundles


def tested_radii(protocol: Protocol) -> tuple[float | str | None, ...]:
    """What is chosen and tested: freely, and for the primary protocol also with every radius."""
    return ("any", *protocol.all_radii) if protocol.name == PRIMARY else ("any",)


class Choices:
    """The settings with the best mean validation accuracy over the tuning seeds; the first of equals.

    The best of the shortlist after its confirmation, collapsed runs included; settings are kept as their cells of the
    first tuning seed.
    """

    def __init__(self, settings: Table1Settings, results: StageResults) -> None:
        self.settings = settings
        self._tried: dict[tuple, dict[Table1Cell, list[float]]] = {}
        self._confirmed: dict[Table1Cell, list[float]] = {}
        first_seed = tuning_seeds(settings)[0]
        for cell, result in results["choose"]:
            row = (cell.protocol, cell.leave_out, cell.width, cell.arm)
            choice = cell.model_copy(update={"seed": first_seed})
            self._tried.setdefault(row, {}).setdefault(choice, []).append(result.metrics["validation"])
        for cell, result in results["confirm"]:
            choice = cell.model_copy(update={"stage": "choose", "seed": first_seed})
            self._confirmed.setdefault(choice, []).append(result.metrics["validation"])

    def validation(
        self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm
    ) -> dict[Table1Cell, float]:
        """Mean validation accuracy of every choice over the seeds that all choices have, by its cell."""
        tried = self._tried[(protocol.name, leave_out, width, arm)]
        return {choice: sum(values) / len(values) for choice, values in tried.items()}

    def ranked(
        self,
        protocol: Protocol,
        leave_out: tuple[int, ...],
        width: int,
        arm: Arm,
        radius: float | str | None = "any",
        final: bool = True,
    ) -> list[Table1Cell]:
        """The shortlist, of all choices or with this radius; with `final` only its best after the confirmation."""
        means = self.validation(protocol, leave_out, width, arm)
        of_radius = (cell for cell in means if radius in ("any", cell.radius))
        shortlist = sorted(of_radius, key=lambda cell: means[cell], reverse=True)[: self.settings.shortlist]
        if not final:
            return shortlist
        tried = self._tried[(protocol.name, leave_out, width, arm)]
        values = {cell: [*tried[cell], *self._confirmed.get(cell, ())] for cell in shortlist}
        return [max(shortlist, key=lambda cell: sum(values[cell]) / len(values[cell]))]

    def best(
        self, protocol: Protocol, leave_out: tuple[int, ...], width: int, arm: Arm, radius: float | str | None = "any"
    ) -> Table1Cell:
        """The best choice, of all or with this radius."""
        return self.ranked(protocol, leave_out, width, arm, radius)[0]


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
