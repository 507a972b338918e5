"""Torch modules and Keras models in memory as functions from rows to predictions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.onnx_feeds import as_images

BATCH_SIZE = 512
TRIED = 2  # rows that show which form of the inputs a model takes
_KERAS = ("keras", "tf_keras", "tensorflow")


def is_keras(teacher: Any) -> bool:
    """Whether this is a model of Keras, recognized without importing it."""
    modules = [cls.__module__.split(".")[0] for cls in type(teacher).__mro__]
    return hasattr(teacher, "predict") and not hasattr(teacher, "predict_proba") and bool({*modules} & {*_KERAS})


def is_torch(teacher: Any) -> bool:
    """Whether this is a torch module."""
    modules = {f"{cls.__module__}.{cls.__name__}" for cls in type(teacher).__mro__}
    return "torch.nn.modules.module.Module" in modules and not hasattr(teacher, "predict_proba")


def deep_model(problem: Problem, teacher: Any, name: str) -> "Callable[[np.ndarray], np.ndarray] | None":
    """A function from inputs (n, d) to predictions (n, …), batch by batch; None if the teacher is something else."""
    if is_torch(teacher):
        return _batches(problem, _torch_call(teacher), None, name)
    if is_keras(teacher):
        shape = getattr(teacher, "input_shape", None)
        return _batches(problem, _keras_call(teacher), shape if isinstance(shape, tuple) else None, name)
    return None


def deep_parameters(teacher: Any) -> int | None:
    """Number of parameters of a torch module or Keras model."""
    if is_torch(teacher):
        return sum(int(tensor.numel()) for tensor in teacher.parameters())
    try:
        return int(teacher.count_params())
    except Exception:
        return None


def _batches(
    problem: Problem, call: Callable[[np.ndarray], Any], shape: tuple | None, name: str
) -> Callable[[np.ndarray], np.ndarray]:
    form = None

    def predict(inputs: np.ndarray) -> np.ndarray:
        nonlocal form
        if form is None:
            form = _input_form(problem, call, shape, inputs[:TRIED], name)
        parts = [call(form(inputs[at : at + BATCH_SIZE])) for at in range(0, len(inputs), BATCH_SIZE)]
        return np.concatenate(parts)

    return predict


def _input_form(
    problem: Problem, call: Callable[[np.ndarray], Any], shape: tuple | None, rows: np.ndarray, name: str
) -> Callable[[np.ndarray], np.ndarray]:
    """How rows (n, d) become what a model takes: images, if it takes these, or the rows themselves."""
    forms: list[Callable[[np.ndarray], np.ndarray]] = []
    if problem.has_images:
        channels_first = problem.as_images
        declared = None if shape is None else as_images(channels_first(rows), shape)
        if declared is not None and shape is not None:
            return lambda inputs: as_images(channels_first(inputs), shape)  # pyright: ignore[reportReturnType]
        forms.append(lambda inputs: np.ascontiguousarray(channels_first(inputs)))
    forms.append(lambda inputs: inputs)
    faults = []
    for form in forms:
        try:
            call(form(rows))
        except Exception as error:
            reason = (str(error).strip().splitlines() or [""])[0]
            faults.append(f"{type(error).__name__}: {reason}")
        else:
            return form
    raise InputError(f"{name} fails on the data: {faults[0]}")


def _torch_call(module: Any) -> Callable[[np.ndarray], np.ndarray]:
    import torch

    def call(inputs: np.ndarray) -> np.ndarray:
        first = next(iter(module.parameters()), None)
        tensor = torch.from_numpy(np.ascontiguousarray(inputs, dtype=np.float32))
        training = [part for part in module.modules() if part.training]
        module.eval()
        try:
            with torch.no_grad():
                outputs = module(tensor if first is None else tensor.to(first.device, first.dtype))
        finally:
            for part in training:
                part.training = True
        return _main_output(outputs).detach().cpu().double().numpy()

    return call


def _main_output(outputs: Any) -> Any:
    """The logits among a module's outputs: those of this name, the first of several, or the only one."""
    if hasattr(outputs, "logits"):
        return outputs.logits
    if isinstance(outputs, dict):
        return outputs["logits"] if "logits" in outputs else next(iter(outputs.values()))
    return outputs[0] if isinstance(outputs, tuple | list) else outputs


def _keras_call(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    def call(inputs: np.ndarray) -> np.ndarray:
        return np.asarray(_main_output(model.predict(np.ascontiguousarray(inputs, dtype=np.float32), verbose=0)))

    return call
