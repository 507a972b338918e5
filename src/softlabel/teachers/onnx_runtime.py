"""The only module that imports onnxruntime: quiet, without telemetry (see `softlabel.__init__`), interruptible."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.errors import InputError, require
from softlabel.memory import bounded_memory
from softlabel.numerics.local_files import reason_of

QUICK = 0.05  # seconds; a call that takes no longer needs no separate thread
PATIENCE = 5.0  # seconds in which an interrupted call must stop
_SILENT = 4


@dataclass(frozen=True)
class DeclaredTensor:
    """An input or output as a model declares it; each size in its shape is a number, a name, or None."""

    name: str
    type: str
    shape: tuple[int | str | None, ...]


class Runtime:
    """A model opened by onnxruntime from the bytes of its file. `inputs` and `outputs` are what it declares."""

    def __init__(self, content: bytes, who: str) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(_SILENT)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _SILENT

        def opened() -> Any:
            with bounded_memory():
                return onnxruntime.InferenceSession(
                    content, options, providers=["CPUExecutionProvider"], enable_fallback=0
                )  # with a fallback it prints what fails

        try:
            self.session = interruptible(opened, lambda: None)
            self.inputs = [_declared(tensor) for tensor in self.session.get_inputs()]
            self.outputs = [_declared(tensor) for tensor in self.session.get_outputs()]
        except Exception as error:
            raise InputError(f"{who} cannot be read as an ONNX model: {reason_of(error)}") from None
        require(len(self.inputs) > 0, f"{who} takes no input, so it is not a classifier")
        require(len(self.outputs) > 0, f"{who} has no output, so it is not a classifier")
        self.options = onnxruntime.RunOptions
        self.quick_rows = 0

    def run(self, outputs: Sequence[str], feeds: dict[str, np.ndarray]) -> list[Any]:
        """Outputs for one batch. Ctrl-C ends the call, which takes a thread unless batches are known to be quick."""
        options = self.options()
        options.log_severity_level = _SILENT

        def called() -> list[Any]:
            with bounded_memory():
                return self.session.run(list(outputs), feeds, options)

        rows = len(next(iter(feeds.values())))
        if rows <= self.quick_rows:
            return called()
        began = time.perf_counter()
        outputs_of_batch = interruptible(called, lambda: setattr(options, "terminate", True))
        if time.perf_counter() - began < QUICK:
            self.quick_rows = rows
        return outputs_of_batch


def _declared(tensor: Any) -> DeclaredTensor:
    return DeclaredTensor(tensor.name, tensor.type, tuple(tensor.shape or ()))


def interruptible(work: Callable[[], Any], stop: Callable[[], None]) -> Any:
    """Do work in a thread, so that Ctrl-C reaches the caller while native code runs; `stop` ends the work."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    results: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name="softlabel-onnx")
    try:
        thread.start()
        while thread.is_alive():
            thread.join(0.2)  # a signal that arrives just before a wait without limit would go unnoticed
    except BaseException:
        stop()
        if thread.is_alive():
            thread.join(PATIENCE)
        raise
    if failed:
        raise failed[0]
    return results[0]
