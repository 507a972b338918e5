"""Does a larger teacher give better soft labels?"""

import math

from softlabel.studies.conditions import (
    Condition,
    ConditionsResult,
    ConditionsSettings,
    ConditionsStudy,
    ConditionTeacher,
    Endpoint,
)
from softlabel.studies.questions.recipes import PGD, presets, trend

WIDTHS = (16, 64, 512, 2048)
OTHERS = {
    "512, 2 layers": ConditionTeacher(depth=2),
    "512, 3 layers": ConditionTeacher(depth=3),
    "5 of 512": ConditionTeacher(members=5),
    "infinite": ConditionTeacher(width=None),
}


def _conditions(quick: bool) -> list[Condition]:
    teachers = {str(width): ConditionTeacher(width=width) for width in (WIDTHS[::2] if quick else WIDTHS)}
    teachers |= {} if quick else OTHERS
    return [
        Condition(name=f"{name}, {'no ball' if radius is None else f'B = {radius:g}'}", teacher=teacher, radius=radius)
        for radius in (25.0, None)
        for name, teacher in teachers.items()
    ]


class TeacherSizeStudy(ConditionsStudy):
    """Question: how do the width and depth of the teacher change what soft labels gain?

    Students of 8 neurons on all digits of MNIST (label > 4), model of the theory, on a ball of radius 25 and without
    projection. Teachers: two-layer networks of 16 to 2,048 neurons, two and three hidden layers of 512, an ensemble of
    five, and kernel regression with K_1 (the limit of infinite width, on 6,000 images). Primary endpoint: slope of the
    gap on the ball per tenfold width of a two-layer teacher, with a 95% interval over seeds and test images. Secondary:
    the same without a ball, and every other teacher's gap minus that of 512 neurons, on the ball.
    """

    name = "teacher-size"
    title = "Does a larger teacher give better soft labels?"
    question = (
        "Teachers of several widths and depths, an ensemble, and the limit of infinite width; one size of student."
    )
    presets = presets(PGD, _conditions)

    def endpoints(self, settings: ConditionsSettings) -> list[Endpoint]:
        """Slopes per tenfold width, and differences to the teacher of 512 neurons."""
        ball, free = ([one for one in settings.conditions if (one.radius is None) == free] for free in (False, True))
        usual = [one for one in ball if one.teacher == ConditionTeacher()]
        return [
            Endpoint.slope("gap per tenfold width of the teacher, B = 25", _by_width(ball)),
            Endpoint.slope("gap per tenfold width of the teacher, no ball", _by_width(free)),
            *(
                Endpoint.difference(f"gap with {one.name} − gap with 512 neurons", [one], usual)
                for one in ball
                if one.teacher in OTHERS.values()
            ),
        ]

    def answer(self, result: ConditionsResult) -> str:
        """The primary endpoint in words."""
        slope = result.primary
        return (
            f"On a small ball the gain from soft labels {trend(slope.low, slope.high)} with the width of a two-layer "
            f"teacher: {slope:+.2f} points per tenfold width."
        )


def _by_width(conditions: list[Condition]) -> list[Condition]:
    """Conditions with a two-layer teacher, by the decimal logarithm of its width."""
    plain = [one for one in conditions if one.teacher not in OTHERS.values()]
    return [one.model_copy(update={"position": math.log10(one.teacher.width or 1)}) for one in plain]
