"""A new study of conditions, as a contributor would write one: does the width matter?"""

from typing import ClassVar

from softlabel.studies.conditions import (
    Condition,
    ConditionRecipe,
    ConditionsResult,
    ConditionsSettings,
    ConditionsStudy,
    Endpoint,
)

RECIPE = ConditionRecipe(
    iterations=60, batch_size=32, checks=3, label_scales=(1.0, 4.0), soft_learning_rates=(10.0,),
    hard_learning_rates=(3.0, 10.0),
)  # fmt: skip


class WidthStudy(ConditionsStudy):
    """Question: does the gap between soft and hard labels depend on the width?

    Primary endpoint: slope of the gap per neuron.

    Parameters
    ----------
    settings : ConditionsSettings
        Not part of what was written down before the run.
    """

    name = "widths"
    title = "Does the width matter?"
    question = "Students of two widths on scikit-learn's digits."
    axis = "neurons"
    presets: ClassVar = {
        "quick": ConditionsSettings(
            data="digits",
            conditions=tuple(
                Condition(name=f"{width} neurons", position=width, data="digits", width=width, rows=400, radius=20.0)
                for width in (4, 8)
            ),
            recipe=RECIPE,
            tuning_seeds=1,
            teacher_epochs=1,
            runs=3,
        )
    }

    def endpoints(self, settings: ConditionsSettings) -> list[Endpoint]:
        """The slope per neuron."""
        return [Endpoint.slope("gap per neuron", settings.conditions)]

    def answer(self, result: ConditionsResult) -> str:
        """The primary endpoint in words."""
        return f"The gap changes by {result.primary:+.2f} points per neuron."
