"""The work of the panel of live training: two students in a process of its own, and what the page sees of them."""

import time
from dataclasses import dataclass

import numpy as np

import softlabel as sl
from softlabel.app.children import Line
from softlabel.app.work.live_settings import LiveSettings

FRAMES = 240
PACE = 0.04  # seconds from one frame to the next at least, so that short trainings can be followed
GRID, EDGE, POINTS = 41, 1.05, 300  # of the map of a plane: points along a side, its end, examples that are drawn


@dataclass(frozen=True)
class LiveStart:
    """What is known before the first step.

    points      (rows, 2) training examples in the plane, or none; `signs` (rows,) are their labels
    """

    description: str
    classes: tuple[str, ...]
    steps: int
    teacher_error: float | None
    points: np.ndarray
    signs: np.ndarray


@dataclass(frozen=True)
class LiveFrame:
    """Both students at a step, by the name of their labels.

    values      their records, and their errors on test rows
    maps        (GRID, GRID) log-odds of the second class at the points of the plane, y by x
    neurons     (width, 2) hidden weights, and `votes` (width,) their output weights
    """

    step: int
    values: dict[str, dict[str, float]]
    maps: dict[str, np.ndarray]
    neurons: dict[str, np.ndarray]
    votes: dict[str, np.ndarray]


def train_live(line: Line, settings: LiveSettings) -> None:
    """Train the students of these settings, and send a `LiveStart` and frames."""
    line.send("busy", f"Loading {settings.data} …")
    problem = sl.load(settings.data, seed=settings.seed).binary()
    labels, teacher_error = {"hard": sl.hard_labels(problem.train.signs)}, None
    if "soft" in settings.arms:
        line.send("busy", "Training a teacher, a network of 512 neurons …")
        teacher = sl.network_teacher(problem, seed=settings.seed)
        labels["soft"] = teacher.labels(problem.train.rows)
        teacher_error = float((teacher.logits[problem.test.rows].argmax(1) != problem.test.y).mean())
    students = [_student(settings, arm) for arm in settings.arms]
    rows = len(problem.train)
    batch_size = min(settings.batch_size or rows, rows)
    steps = settings.epochs * -(-rows // batch_size)
    every = max(1, steps // FRAMES)
    inputs = problem.train.scaled
    shown = slice(0, POINTS if settings.planar else 0)
    line.send(
        "start",
        LiveStart(str(problem), problem.classes, steps, teacher_error, inputs[shown, :2], problem.train.signs[shown]),
    )
    camera = _Camera(line, settings, problem)
    sl.train_students(
        inputs,
        students,
        labels,
        epochs=settings.epochs,
        batch_size=batch_size if batch_size < rows else None,
        seed=settings.seed,
        options=sl.TrainingOptions(record_every=every, callback=camera.look, callback_every=every),
    )


def _student(settings: LiveSettings, arm: str) -> sl.Student:
    return sl.Student(
        width=settings.width,
        seed=settings.seed,
        labels=arm,
        temperature=settings.temperature if arm == "soft" else 1.0,
        radius=settings.radius or None,
        learning_rate=settings.learning_rate,
        biases=settings.planar,
    )


def grid() -> np.ndarray:
    """The points along a side of the map of a plane."""
    return np.linspace(-EDGE, EDGE, GRID)


class _Camera:
    """Sends frames, not faster than a person can follow, and waits while the training is paused."""

    def __init__(self, line: Line, settings: LiveSettings, problem: sl.Problem) -> None:
        self.line, self.settings, self.problem = line, settings, problem
        self.last = 0.0
        across, up = np.meshgrid(grid(), grid())
        self.plane = np.stack([across.ravel(), up.ravel()], axis=1)

    def look(self, step: int, weights: "sl.Weights") -> None:
        """The callback of the training."""
        frame = LiveFrame(step, {}, {}, {}, {})
        for number, arm in enumerate(self.settings.arms):
            network = weights[number]
            wrong = network.logits(self.problem.test.scaled) * self.problem.test.signs <= 0
            frame.values[arm] = weights.latest_record(number) | {"test error": float(wrong.mean())}
            if self.settings.planar:
                frame.maps[arm] = network.logits(self.plane).reshape(GRID, GRID)
                frame.neurons[arm] = network.hidden.numpy().copy()
                frame.votes[arm] = network.output.numpy()[0].copy()
        time.sleep(max(0.0, self.last + PACE - time.monotonic()))
        self.last = time.monotonic()
        self.line.wait_while_paused()
        self.line.send("frame", frame)
