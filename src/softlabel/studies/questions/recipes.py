"""The two ways in which students of the open questions are trained, and the sizes of the presets."""

from collections.abc import Callable, Mapping, Sequence

from softlabel.studies.conditions import Condition, ConditionRecipe, ConditionsSettings, MarginsOfRows
from softlabel.studies.paper_settings import learning_rates

PGD = ConditionRecipe(
    schedule="cosine",
    iterations=4000,
    label_scales=(0.25, 0.5, 1.0, 2.0),
    soft_learning_rates=(100.0, 200.0, 300.0),
    hard_learning_rates=learning_rates(10.0, 400.0, 12),
)
ADAM = ConditionRecipe(
    optimizer="adam",
    schedule="cosine",
    train_output=True,
    biases=True,
    iterations=4000,
    label_scales=(1.0, 2.0, 4.0, 8.0),
    soft_learning_rates=(0.01, 0.03, 0.1),
    hard_learning_rates=learning_rates(0.003, 0.3, 12),
)


def presets(
    recipe: ConditionRecipe,
    conditions: Callable[[bool], Sequence[Condition]],
    runs: int = 20,
    margins: Mapping[str, MarginsOfRows] | None = None,
) -> dict[str, ConditionsSettings]:
    """The presets of a study; `conditions(True)` are those of the quick one: few seeds, short trainings."""
    short = recipe.model_copy(update={"iterations": 600, "checks": 6})
    plain = {
        "quick": ConditionsSettings(
            conditions=tuple(conditions(True)), recipe=short, tuning_seeds=1, teacher_epochs=2, runs=3
        ),
        "standard": ConditionsSettings(conditions=tuple(conditions(False)), recipe=recipe, runs=runs),
        "paper": ConditionsSettings(
            conditions=tuple(conditions(False)),
            recipe=recipe.model_copy(update={"iterations": 20_000, "checks": 50}),
            tuning_seeds=5,
            runs=100,
        ),
    }
    return {
        name: settings.model_copy(update={"margins": (margins or {}).get(name)}) for name, settings in plain.items()
    }


def trend(low: float, high: float) -> str:
    """What the interval of a change says: "grows", "shrinks", or "is not shown to change"."""
    return "grows" if low > 0 else "shrinks" if high < 0 else "is not shown to change"
