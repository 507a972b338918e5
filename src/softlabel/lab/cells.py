"""The units of a study: cells with frozen settings, trained in bundles, one stage after another.

A cell's identity is the hash of its settings. Which cells make a bundle is fixed by the study's settings alone (and by
the results of earlier stages, which those fix in turn), because students that train together share the rounding
of their products: a bundle run again gives the same bits, the same cells in other company might not.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Frozen settings, of a study or of a cell; unknown names are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @cached_property
    def key(self) -> str:
        """Identity: equal for equal settings, on every machine."""
        return identity(self.model_dump(mode="json"))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some settings changed; its identity is its own."""
        copy = super().model_copy(update=update, deep=deep)
        vars(copy).pop("key", None)
        return copy


def identity(value: Any) -> str:
    """Hash of a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, eq=False)
class CellResult:
    """Result of one cell: numbers (or words) by name, and arrays by name."""

    metrics: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


CellArrays = Mapping[str, Mapping[str, np.ndarray]]  # key of a cell or name of an artifact → its arrays
Work = Callable[[Any, Sequence[Any], CellArrays], list[CellResult]]


@dataclass(frozen=True, eq=False)
class Bundle:
    """Cells that are trained together, keys of the cells whose arrays they need, and a rough cost in any unit."""

    name: str
    cells: tuple[Settings, ...]
    needs: tuple[str, ...] = ()
    cost: float = 1.0

    @cached_property
    def key(self) -> str:
        return identity([self.name, [cell.key for cell in self.cells], list(self.needs)])


class StageResults:
    """Results so far, stage by stage, in the order of bundles and cells."""

    def __init__(self) -> None:
        self._stages: dict[str, list[tuple[Any, CellResult]]] = {}
        self._arrays: dict[str, Mapping[str, np.ndarray]] = {}

    def add(self, stage: str, cell: Settings, result: CellResult) -> None:
        self._stages.setdefault(stage, []).append((cell, result))
        self._arrays[cell.key] = result.arrays

    def arrays(self, cell_key: str) -> Mapping[str, np.ndarray]:
        """The arrays of a cell of an earlier stage."""
        return self._arrays[cell_key]

    def __getitem__(self, stage: str) -> list[tuple[Any, CellResult]]:
        return self._stages.get(stage, [])


@dataclass(frozen=True)
class Stage:
    """One round of a study: its bundles, which depend on the results of earlier stages, and the work on each.

    `work` is a function of a module, so that other processes and machines can import it by name.
    """

    name: str
    bundles: Callable[[Any, StageResults], list[Bundle]]
    work: Work
