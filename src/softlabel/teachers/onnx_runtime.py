"""The one place that imports onnxruntime: quiet, without telemetry (see `softlabel.__init__`), and interruptible."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.errors import InputError, require
from softlabel.memory import bounded_memory
from softlabel.numerics.local_files import reason_of

QUICK = 0.05  # seconds; a call that lasts no longer needs no thread of its own
PATIENCE = 5.0  # seconds that an interrupted call has to stop
_SILENT = 4


@dataclass(frozen=True)
class Declared:
    """An input or output as a model declares it; a side of its shape is a number, a name, or None."""

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
            self.inputs = [Declared(one.name, one.type, tuple(one.shape or ())) for one in self.session.get_inputs()]
            self.outputs = [Declared(one.name, one.type, tuple(one.shape or ())) for one in self.session.get_outputs()]
        except Exception as problem:
            raise InputError(f"{who} cannot be read as an ONNX model: {reason_of(problem)}") from None
        require(len(self.inputs) > 0, f"{who} takes no input, so it is no classifier")
        require(len(self.outputs) > 0, f"{who} has no output, so it is no classifier")
        self.options = onnxruntime.RunOptions
        self.quick_rows = 0

    def run(self, outputs: Sequence[str], feeds: dict[str, np.ndarray]) -> list[Any]:
        """Outputs for one batch. Ctrl-C ends it; batches that are known to be quick are spared the thread for that."""
        options = self.options()
        options.log_severity_level = _SILENT

        def called() -> list[Any]:
            with bounded_memory():
                return self.session.run(list(outputs), feeds, options)

        rows = len(next(iter(feeds.values())))
        if rows <= self.quick_rows:
            return called()
        began = time.perf_counter()
        found = interruptible(called, lambda: setattr(options, "terminate", True))
        if time.perf_counter() - began < QUICK:
            self.quick_rows = rows
        return found


def interruptible(work: Callable[[], Any], stop: Callable[[], None]) -> Any:
    """Do work in a thread, so that Ctrl-C reaches the caller while native code runs; `stop` tells the work to end."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as problem:
            failed.append(problem)

    thread = threading.Thread(target=run, daemon=True, name="softlabel-onnx")
    try:
        thread.start()
        thread.join()
    except BaseException:
        stop()
        if thread.is_alive():
            thread.join(PATIENCE)
        raise
    if failed:
        raise failed[0]
    return found[0]
