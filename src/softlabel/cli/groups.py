"""Options that go together, given to a verb as one object.

A verb decorated with `grouped` names a group by its type, as in `def verb(given: DataChoice, …)`; the command line has
the group's fields as options.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

from softlabel.cli import options

if TYPE_CHECKING:
    from softlabel.data import Task


@dataclass(frozen=True)
class DataChoice:
    """Which data, and what of them."""

    data: options.Data
    label: options.Label = None
    task: options.Task = None
    classes: options.Classes = None
    leave_out: options.LeaveOut = None
    scale: options.Scale = None
    drop: options.Drop = None

    def load_task(self, several_classes: bool = False) -> "Task":
        """The two-class task (or one with several) that they pose."""
        from softlabel.data import load_task

        return load_task(self.data, self.label, self.task, self.classes, self.leave_out, self.scale, self.drop or (),
                         several_classes=several_classes)  # fmt: skip


@dataclass(frozen=True)
class TeacherChoice:
    """Which teacher, and how its answers are read."""

    teacher: options.Teacher = "auto"
    teacher_output: options.TeacherOutput = None
    teacher_kind: options.TeacherKind = None
    id_column: options.Id = None


@dataclass(frozen=True)
class Training:
    """How students of `verdict` and `plan` are trained."""

    search_radius: options.SearchRadius = False
    epochs: options.Epochs = None
    batch_size: options.BatchSize = None

    def settings(self) -> dict[str, Any]:
        """As the studies name them."""
        return {"search_radius": self.search_radius, "epochs": self.epochs, "batch": self.batch_size}


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with the fields of its groups as parameters of their own."""
    signature = inspect.signature(verb, eval_str=True)
    groups: dict[str, Any] = {
        name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)
    }
    flat: list[inspect.Parameter] = []
    for name, each in signature.parameters.items():
        flat += _parameters(groups[name]) if name in groups else [each.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

    @wraps(verb)
    def call(**words: Any) -> None:
        made = {
            name: group(**{field.name: words.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        verb(**made, **words)

    call.__signature__ = signature.replace(parameters=flat)  # type: ignore[attr-defined]
    return call


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]  # fmt: skip
