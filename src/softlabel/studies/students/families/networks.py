"""Networks of torch as students: VGG and ResNet by name, and any module that a factory builds.

They train one after another, with the temperature applied to teacher and student, and keep the weights of the epoch
that is best on validation rows.
"""

import hashlib
import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.data.problem import Problem
from softlabel.errors import InputError, require
from softlabel.export import export_onnx, save_student
from softlabel.networks.deep import DeepTraining, Images, Objective, build_network, network_logits, parameter_count
from softlabel.networks.deep.building import network_fingerprint
from softlabel.networks.deep.objective import two_columns
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.networks.deep.teaching import CachedLogits
from softlabel.networks.deep.training import train_network
from softlabel.numerics.threads import usable_threads
from softlabel.studies.students.calibration import expected_temperature, fit_temperature
from softlabel.studies.students.checks import latency
from softlabel.studies.students.families.family import FamilyStudent, StudentFamily
from softlabel.studies.students.families.files import write_classifier
from softlabel.studies.students.families.torch_onnx import table_onnx
from softlabel.studies.students.recipe import Recipe, StudentCell, recipe_for
from softlabel.studies.students.taught_problem import TaughtProblem

EPOCHS = 20
SIZED = "torch:sized "  # how names of families begin whose function takes a size
NETWORKS = {"vgg": ("vgg2+3", 64, (4, 8, 16, 32, 64), 16), "resnet": ("resnet8", 16, (2, 4, 8, 16), 8)}


class ModuleFamily(StudentFamily):
    """Students that are torch modules, each trained alone."""

    takes_images: ClassVar[bool] = True

    @abstractmethod
    def build(self, problem: TaughtProblem, size: int, seed: int) -> nn.Module:
        """An untrained network for the inputs of `part_images`."""

    @abstractmethod
    def calibrate(self, network: nn.Module, temperature: float) -> None:
        """Divide the network's outputs by a temperature, in place."""

    def recipe(self, rows: int, epochs: int | None, batch_size: int | None, search_radius: bool) -> Recipe:
        require(not search_radius, "search_radius must be False for deep students, which have no radius")
        return Recipe(
            epochs=epochs or EPOCHS, batch_size=batch_size or 128, learning_rates=(1e-3,), temperatures=(),
            both_sides=(2.0, 4.0), smoothings=(0.1, 0.05), tuning_seeds=1,
        )  # fmt: skip

    def threads(self, recipe: Recipe, inputs: int, sizes: int) -> int:
        return usable_threads()

    def method(self, recipe: Recipe) -> str:
        return (
            f"Adam, {recipe.epochs} epochs, batch size {recipe.batch_size}, the epoch that is best on validation rows; "
            "temperature on both sides"
        )

    def train(self, problem: TaughtProblem, recipe: Recipe, cells: Sequence[StudentCell]) -> list[FamilyStudent]:
        return [self._student(problem, recipe, cell) for cell in cells]

    def _student(self, problem: TaughtProblem, recipe: Recipe, cell: StudentCell) -> FamilyStudent:
        train, validation = training_images(problem, cell), part_images(problem, "validation")
        network = self.build(problem, cell.width, cell.seed)
        epochs = cell.epochs or recipe.epochs
        training = DeepTraining(
            epochs=epochs, patience=epochs, batch_size=recipe.batch_size,
            learning_rate=cell.learning_rate or 1e-3, seed=cell.seed,
        )  # fmt: skip
        soft = None
        if cell.learns_from_teacher:
            logits = problem.train.logits
            if cell.has_more_rows and problem.unlabeled is not None:
                logits = np.concatenate([logits, problem.unlabeled.logits])
            soft = CachedLogits(torch.from_numpy(logits.astype(np.float32)), train.fingerprint)
        run = train_network(network, train, validation, training, objective_of(cell), soft=soft)
        trained = run.network
        logits = network_logits(trained, validation.pixels).double().log_softmax(1).numpy()
        temperature = fit_temperature(logits, problem.validation.y, expected_temperature(cell))
        self.calibrate(trained, temperature)

        def predict(X: np.ndarray) -> np.ndarray:
            return network_logits(trained, as_pixels(problem, X)).double().log_softmax(1).numpy()

        def weights() -> dict[str, np.ndarray]:
            state = {name: value.cpu().contiguous().numpy() for name, value in trained.state_dict().items()}
            return state | {"calibration": np.array(temperature)}

        course = {"course": {"step": list(range(len(run.epochs))), "loss": [epoch.loss for epoch in run.epochs]}}
        return FamilyStudent(cell, predict, parameter_count(trained), temperature, weights, course)

    def restored(self, problem: TaughtProblem, cell: StudentCell, weights: dict[str, np.ndarray]) -> nn.Module:
        """The network with these weights."""
        network = self.build(problem, cell.width, cell.seed)
        state = {name: torch.from_numpy(value.copy()) for name, value in weights.items() if name != "calibration"}
        network.load_state_dict(state)
        return network.eval()


class DeepFamily(ModuleFamily):
    """VGG or ResNet students; their size is the number of channels of the first layer."""

    unit = "channels"
    needs_images: ClassVar[bool] = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.network, self.full, self.ladder, self.size = NETWORKS[name]

    def check(self, size: int, problem: Problem) -> None:
        self.check_size(size, most=1024)
        require(problem.has_images, f"`student` '{self.name}' needs images: a named set, an NPZ file, or a folder")

    def build(self, problem: TaughtProblem, size: int, seed: int) -> Prepared:
        images = part_images(problem, "train")
        return prepared_for(build_network(self.network, images.classes, images.shape, size / self.full, seed), images)

    def calibrate(self, network: nn.Module, temperature: float) -> None:
        last = [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1]
        with torch.no_grad():
            for part in (last.weight, last.bias):
                part.div_(temperature)

    def export(
        self, problem: TaughtProblem, cell: StudentCell, weights: dict[str, np.ndarray], folder: Path, name: str
    ) -> dict[str, Any]:
        network = self.restored(problem, cell, weights)
        softening = self.softening(cell, float(weights["calibration"]))
        line = f"{self.network}, {cell.width} channels; {objective_of(cell)}"
        written = write_images(network, problem, folder / f"{name}.onnx", softening, line)
        about = {"network": self.network, "width": cell.width / self.full, "classes": list(problem.classes),
                 "image": list(part_images(problem, "test").shape), "arm": cell.arm, **softening.to_dict()}  # fmt: skip
        assert isinstance(network, Prepared)
        save_student(folder / f"{name}.safetensors", network, about)
        return written | {"files": [*written["files"], str(folder / f"{name}.safetensors")]}


class TorchFamily(ModuleFamily):
    """Students built by a user's function: of a seed, or of a seed and a size.

    The function returns a module whose outputs are one logit per class (one for two classes); its inputs are (n, d) for
    tables and (n, channels, height, width) for images. Random numbers of torch are seeded before the call. Lazy layers
    (`torch.nn.LazyLinear`) take the number of inputs from the data.
    """

    def __init__(self, factory: Callable[..., Any] | None, title: str) -> None:
        self.factory, self.name = factory, title
        self.sized = title.startswith(SIZED) or (factory is not None and _positional(factory) >= 2)
        self.unit, self.size = ("units of width", 16) if self.sized else ("network", 1)
        self.ladder = (2, 4, 8, 16, 32, 64, 128) if self.sized else (1,)

    @classmethod
    def from_factory(cls, factory: Callable[..., Any]) -> "TorchFamily":
        """The family of a function; its name tells it from others by the module that it builds."""
        plain = cls(factory, "torch")
        module = plain.module(plain.size, 0)
        weights = "" if _is_lazy(module) else network_fingerprint(module)
        digest = hashlib.sha256(f"{module} {weights}".encode()).hexdigest()[:8]
        return cls(factory, f"{SIZED if plain.sized else 'torch:'}{type(module).__name__}-{digest}")

    def recipe(self, rows: int, epochs: int | None, batch_size: int | None, search_radius: bool) -> Recipe:
        recipe = super().recipe(rows, epochs, batch_size, search_radius)
        plain = recipe_for(rows, epochs, batch_size)
        return recipe.model_copy(update={
            "epochs": epochs or max(EPOCHS, plain.epochs), "batch_size": plain.batch_size,
            "learning_rates": (1e-3, 5e-3), "both_sides": (1.0, 2.0, 4.0), "smoothings": (0.1, 0.05, 0.2),
        })  # fmt: skip

    def module(self, size: int, seed: int) -> nn.Module:
        """The user's module for a seed."""
        if self.factory is None:
            raise InputError(
                f"the students '{self.name}' of this run are built by a function of the program that started it: rerun "
                "the original call"
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.factory(seed, size) if self.sized else self.factory(seed)
        require(
            isinstance(module, nn.Module),
            f"`student` must be a function that returns a torch module, got {type(module).__name__}",
        )
        return module

    def check(self, size: int, problem: Problem) -> None:
        self.check_size(size, most=100_000)
        require(
            self.sized or size == 1,
            f"students built from a seed alone have one size, 1, got {size}: use a function of seed and size",
        )
        if self.factory is not None:
            _check_outputs(self.module(size, 0), problem)

    def build(self, problem: TaughtProblem, size: int, seed: int) -> nn.Module:
        module = self.module(size, seed)
        images = part_images(problem, "train")
        network = TableInput(module) if problem.image_shape is None else prepared_for(module, images)
        if _is_lazy(module):
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                torch.manual_seed(seed)
                network(images.pixels[:2])
        return CalibratedModule(network)

    def calibrate(self, network: nn.Module, temperature: float) -> None:
        assert isinstance(network, CalibratedModule)
        network.temperature.fill_(temperature)

    def export(
        self, problem: TaughtProblem, cell: StudentCell, weights: dict[str, np.ndarray], folder: Path, name: str
    ) -> dict[str, Any]:
        network = self.restored(problem, cell, weights)
        softening, path = self.softening(cell, float(weights["calibration"])), folder / f"{name}.onnx"
        if problem.image_shape is not None:
            return write_images(network, problem, path, softening, f"{self.name}; {objective_of(cell)}")
        return write_classifier(problem, table_onnx(network, problem.test.X), path, softening, self.name)


class TableInput(nn.Module):
    """A network of tables (n, d) that takes "images" (n, d, 1, 1)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: Tensor) -> Tensor:
        return self.network(pixels.flatten(1))


class CalibratedModule(nn.Module):
    """A network whose logits (n, K) are divided by a temperature, which is stored with its weights."""

    temperature: Tensor

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("temperature", torch.ones(()))

    def forward(self, pixels: Tensor) -> Tensor:
        return two_columns(self.network(pixels)) / self.temperature


def objective_of(cell: StudentCell) -> Objective:
    """The objective of a network's training."""
    return Objective(1.0, cell.temperature) if cell.learns_from_teacher else Objective(smoothing=cell.smoothing)


def as_pixels(problem: TaughtProblem, X: np.ndarray) -> Tensor:
    """Rows (n, d) as images; rows of a table have d channels of one pixel."""
    shape = problem.image_shape or (X.shape[1], 1, 1)
    pixels = torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32)).reshape(-1, *shape)
    return pixels.contiguous(memory_format=torch.channels_last)


def part_images(problem: TaughtProblem, part: str) -> Images:
    """The images of one part."""
    rows = problem.part(part)
    return Images(as_pixels(problem, rows.X), torch.from_numpy(rows.y.astype(np.int64)), len(problem.classes))


def training_images(problem: TaughtProblem, cell: StudentCell) -> Images:
    """The training images of an arm; unlabeled ones have the teacher's classes, which its objective does not use."""
    if not cell.has_more_rows or problem.unlabeled is None:
        return part_images(problem, "train")
    labels = np.concatenate([problem.train.y, problem.unlabeled.logits.argmax(1)]).astype(np.int64)
    return Images(as_pixels(problem, problem.extended), torch.from_numpy(labels), len(problem.classes))


def write_images(network: nn.Module, problem: TaughtProblem, path: Path, softening: Any, line: str) -> dict[str, Any]:
    """Write the ONNX file of a network of images; returns files, size and latency."""
    images = part_images(problem, "test")
    export_onnx(network, images.pixels, path, problem.classes, softening, line)

    @torch.no_grad()
    def predict(pixels: np.ndarray) -> Any:
        return network(torch.from_numpy(pixels))

    return {"files": [str(path)], "bytes": path.stat().st_size, **latency(predict, images.pixels[:64].numpy())}


def _is_lazy(module: nn.Module) -> bool:
    """Whether some layer takes its number of inputs from the first rows that it sees."""
    return any(isinstance(one, nn.parameter.UninitializedParameter) for one in module.parameters())


def _positional(function: Callable[..., Any]) -> int:
    """Number of positional arguments that a function needs."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in parameters)


def _check_outputs(module: nn.Module, problem: Problem) -> None:
    """Raise if a user's module cannot take the problem's inputs, or has another number of outputs than of classes."""
    rows = problem.pixels(problem.X[:2]) if problem.has_images else problem.X[:2]
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            outputs = module.eval()(torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)))
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        remedy = "; begin it with torch.nn.Flatten() if it takes rows of pixels" if problem.has_images else ""
        raise InputError(
            f"`student`: the module cannot take inputs of shape (n, {', '.join(map(str, rows.shape[1:]))}): "
            f"{reason}{remedy}"
        ) from None
    shape, classes = tuple(getattr(outputs, "shape", ())), len(problem.classes)
    single = classes == 2 and shape in ((len(rows), 1), (len(rows),))  # one logit, of the second class
    require(
        shape == (len(rows), classes) or single,
        f"`student`: the module must return one logit for each of {classes} classes, shape (n, {classes}); it returns "
        f"{('shape ' + str(shape)) if shape else type(outputs).__name__} for {len(rows)} rows",
    )
