"""Results of `train_students`, and the networks that a callback sees during training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from softlabel.networks.parity import Parity
from softlabel.networks.stack import Stack
from softlabel.networks.students import Student
from softlabel.networks.two_layer import TwoLayer


@dataclass(frozen=True, eq=False)
class TrainedStudent:
    """A student after training, one entry of a `TrainingRun`.

    Attributes
    ----------
    settings : Student
        Its settings.
    network : TwoLayer
        The trained network.
    steps : int
        Number of steps.
    stopped : {"iterations", "tolerance", "validation"}
        Why the training stopped.
    best_step : int
        Step of the weights in `network`: that of the best validation error, or the last step.
    validation_error : float or None
        Validation error of `network`; None without validation.
    records : dict of str to list
        "step", "loss", "error", "displacement", "flipped" and "dead", each a list with one value per record.

    Examples
    --------
    >>> import softlabel as sl
    >>> run = sl.train_students([[1.0, 0.5], [-1.0, 0.5]], [sl.Student(width=4)], [1, -1], iterations=10)
    >>> run[0].steps, run[0].stopped, run[0].network.width
    (10, 'iterations', 4)
    """

    settings: Student
    network: TwoLayer
    steps: int
    stopped: str
    best_step: int
    validation_error: float | None
    records: dict[str, list[float]]


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """Result of `train_students`: a sequence of `TrainedStudent`, in the order of the students.

    Attributes
    ----------
    students : tuple of TrainedStudent
        The students.
    seconds : float
        Time of the training.
    parity : Parity or None
        Comparison of the first steps with float32, if the precision is "bfloat16".

    Examples
    --------
    >>> import softlabel as sl
    >>> students = [sl.Student(width=width) for width in (2, 4)]
    >>> run = sl.train_students([[1.0, 0.5], [-1.0, 0.5]], students, [1, -1], iterations=10)
    >>> [trained.network.width for trained in run]
    [2, 4]
    """

    students: tuple[TrainedStudent, ...]
    seconds: float
    parity: Parity | None = None

    def __len__(self) -> int:
        return len(self.students)

    def __getitem__(self, number: int) -> TrainedStudent:
        return self.students[number]

    def __iter__(self) -> Iterator[TrainedStudent]:
        return iter(self.students)


class Weights:
    """The networks of all students at a step, as a callback receives them; each is created when it is indexed.

    Examples
    --------
    >>> import softlabel as sl
    >>> def show(step: int, weights: sl.Weights) -> None:
    ...     print(step, weights[0].width, round(weights.latest_record(0)["loss"], 2))
    >>> options = sl.TrainingOptions(record_every=5, callback=show, callback_every=5)
    >>> x, y = [[1.0, 0.5], [-1.0, 0.5]], [1, -1]
    >>> run = sl.train_students(x, [sl.Student(width=4)], y, iterations=10, options=options)
    0 4 0.69
    5 4 0.52
    10 4 0.52
    """

    def __init__(
        self,
        stack: Stack,
        finished: Mapping[int, TrainedStudent],
        records: Sequence[Mapping[str, Sequence[float]]],
    ) -> None:
        self._stack, self._finished, self._records = stack, finished, records

    @property
    def training(self) -> list[int]:
        """Indices of the students that are still in training."""
        return sorted(self._stack.members)

    def __getitem__(self, number: int) -> TwoLayer:
        """The current network of a student."""
        done = self._finished.get(number)
        return self._stack.network(number) if done is None else done.network

    def latest_record(self, number: int) -> dict[str, float]:
        """The latest record of a student, with `record_every` of the options; its names are those of
        `TrainedStudent.records`.
        """
        return {name: values[-1] for name, values in self._records[number].items()}
