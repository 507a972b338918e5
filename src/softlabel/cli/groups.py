"""Options that belong together, passed to a verb as one object.

A verb decorated with `grouped` names a group by its type, as in `def verb(data: DataChoice, …)`; the command line has
the fields of the group as options.
"""

import inspect
import shlex
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, get_type_hints

from softlabel.cli import options

if TYPE_CHECKING:
    from softlabel.data.problem import Problem
    from softlabel.studies.run import Execution
    from softlabel.teachers.sources import TeacherOptions


@dataclass(frozen=True)
class DataChoice:
    """The data, and what of them."""

    data: options.Data
    label: options.Label = None
    task: options.Task = None
    classes: options.Classes = None
    leave_out: options.LeaveOut = None
    scale: options.Scale = None
    drop: options.Drop = None
    numeric: options.Numeric = None
    categorical: options.Categorical = None
    group: options.Group = None
    time: options.Time = None

    def loader(self, **arguments: Any) -> "Callable[[], Problem]":
        """A function that loads the problem once, so that a verb can check its other arguments first."""
        return cache(lambda: self.load(**arguments))

    def load(self, *, seed: int = 0, **more: Any) -> "Problem":
        """The problem; `more` are other arguments of `softlabel.load`. A summary of the data is printed on stderr."""
        from softlabel.data import ColumnRoles, load

        roles = ColumnRoles(self.numeric or (), self.categorical or (), self.group, self.time)
        problem = load(
            self.data, self.label, task=self.task, classes=self.classes, leave_out=self.leave_out, scale=self.scale,
            drop=self.drop or (), roles=roles, seed=seed, **more,
        )  # fmt: skip
        options.note(str(problem))
        for remark in problem.notes:
            options.note(f"note: {remark}")
        return problem


@dataclass(frozen=True)
class TeacherChoice:
    """The teacher, and how its predictions are read."""

    teacher: options.Teacher = "auto"
    teacher_output: options.TeacherOutput = None
    teacher_kind: options.TeacherKind = None
    id_column: options.Id = None

    def options(self) -> "TeacherOptions":
        """As the library takes them."""
        from softlabel.teachers.sources import TeacherOptions

        return TeacherOptions(self.teacher_output, self.teacher_kind, self.id_column)


@dataclass(frozen=True)
class TrainingChoice:
    """How students of `verdict` and `plan` are trained."""

    search_radius: options.SearchRadius = False
    epochs: options.Epochs = None
    batch_size: options.BatchSize = None


@dataclass(frozen=True)
class ExecutionChoice:
    """Where the trainings of a study run."""

    executor: options.ExecutorName = "serial"
    workers: options.Workers = None
    threads: options.Threads = None
    scheduler: options.Scheduler = None

    def execution(self) -> "Execution":
        """As the library takes it, with the command as the user typed it, for the page."""
        from softlabel.studies.run import Execution

        return Execution(**vars(self), command=shlex.join(["softlabel", *sys.argv[1:]]))


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with the fields of its groups as parameters."""
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
