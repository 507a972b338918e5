"""Does what soft labels gain grow with the number of classes?"""

from softlabel.studies.conditions import Condition, ConditionsResult, ConditionsSettings, ConditionsStudy, Endpoint
from softlabel.studies.questions.recipes import ADAM, presets, trend
from softlabel.theory import bounds

CLASSES = (2, 3, 5, 7, 10)
GAMMA, EPSILON, N = 0.1, 0.1, 50_000  # of the bounds beside the measurements


def _conditions(quick: bool) -> list[Condition]:
    return [
        Condition(
            name=f"{classes} classes",
            position=classes,
            task=None,
            leave_out=tuple(str(digit) for digit in range(classes, 10)),
            width=8,
        )
        for classes in (CLASSES[::2] if quick else CLASSES)
    ]


class MulticlassStudy(ConditionsStudy):
    """Question: how does the gap between soft and hard labels change with the number of classes?

    Students of 8 neurons on the digits 0 … K − 1 of MNIST, K from 2 to 10; output layer and biases are trained, Adam,
    no projection (a fixed random output layer of 8 neurons cannot represent ten classes). Primary endpoint: slope of
    the gap per class, with a 95% interval over seeds and test images (each K has its own test images, which overlap
    with those of smaller K; they are treated as independent).
    """

    name = "multiclass"
    title = "Do soft labels gain more with more classes?"
    question = "Two to ten classes of MNIST, students of one size; the papers treat two classes."
    axis = "classes"
    presets = presets(ADAM, _conditions)

    def endpoints(self, settings: ConditionsSettings) -> list[Endpoint]:
        """The slope per class."""
        return [Endpoint.slope("gap per additional class", settings.conditions)]

    def answer(self, result: ConditionsResult) -> str:
        """The primary endpoint in words."""
        slope = result.primary
        return (
            f"The gain from soft labels {trend(slope.low, slope.high)} with the number of classes: {slope:+.3f} points "
            "per class."
        )

    def remarks(self, result: ConditionsResult) -> list[str]:
        """What the bound for K classes says."""
        few, many = (int(row.condition.position or 2) for row in (result.rows[0], result.rows[-1]))
        needs = [bounds.soft_for_classes(classes, GAMMA, EPSILON, N).width for classes in (few, many)]
        return [
            f"Theory at γ = {GAMMA:g}, ε = {EPSILON:g}, n = {N:,}: the width that the bound for K classes proves "
            f"sufficient grows from {needs[0]:,} neurons for {few} classes to {needs[1]:,} for {many}."
        ]
