"""The settings of the panel of the kernel regime, and the values that its controls offer."""

import math
import shlex
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from softlabel.app.links import LinkSettings
from softlabel.app.work.kernel import TEST_ROWS

DATA = {
    "digits": "digits (64 inputs)",
    "moons": "moons (2 inputs)",
    "circles": "circles (2 inputs)",
    "xor": "xor (2 inputs)",
}
ACTIVATIONS = ("softplus", "tanh", "erf", "gelu", "relu")
INITS = {"teacher": "the teacher's units", "random": "random weights"}
STRENGTHS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, math.inf)
WIDTHS = (5, 10, 20, 40, 60, 100, 150, 200, 300, 400)
ROWS = (10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400)
ITERATIONS = (50, 100, 200, 500, 1000, 2000, 5000, 10000)


def _one_of(values: Sequence[float]) -> AfterValidator:
    """The check that a number is among those of a slider."""

    def check(value: float) -> float:
        if value not in values:
            raise ValueError(f"{value} is not among the values of the slider")
        return value

    return AfterValidator(check)


class KernelSettings(LinkSettings):
    """The settings of the panel; their names are those of `sl.dynamics` and of its options."""

    data: Literal["digits", "moons", "circles", "xor"] = "digits"
    rows: Annotated[int, _one_of(ROWS)] = 80
    width: Annotated[int, _one_of(WIDTHS)] = 60
    strength: Annotated[float, _one_of(STRENGTHS)] = 0.3
    activation: Literal["softplus", "tanh", "erf", "gelu", "relu"] = "softplus"
    init: Literal["teacher", "random"] = "teacher"
    iterations: Annotated[int, _one_of(ITERATIONS)] = 1000
    learning_rate: float | None = Field(None, gt=0, allow_inf_nan=False)

    def arguments(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The data, the settings and the options of `sl.dynamics`."""
        settings = self.model_dump(include={"rows", "width", "strength", "iterations"})
        return self.data, settings, self.model_dump(include={"activation", "init", "learning_rate"})

    def command(self) -> str:
        """The command that repeats this."""
        _, settings, options = self.arguments()
        words = ["softlabel", "dynamics", self.data]
        for name, value in {**settings, **options, "test_rows": TEST_ROWS}.items():
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join(words)
