"""Does what soft labels gain depend on the initialization?"""

from softlabel.studies.conditions import Condition, ConditionsResult, ConditionsSettings, ConditionsStudy, Endpoint
from softlabel.studies.questions.recipes import PGD, presets

INITS = ("symmetric", "gaussian", "he", "glorot")
BALL = 25.0


def _conditions(quick: bool) -> list[Condition]:
    return [
        Condition(name=f"{init}, {'no ball' if radius is None else f'B = {radius:g}'}", init=init, radius=radius)
        for radius in (BALL, None)
        for init in (INITS[::2] if quick else INITS)
    ]


class InitializationStudy(ConditionsStudy):
    """Question: does the gap between soft and hard labels depend on the initialization of the student?

    The theory needs the symmetric initialization. Students of 8 neurons on all digits of MNIST (label > 4), model of
    the theory, on a ball of radius 25 around the initialization and without projection. Primary endpoint: the gap on
    the ball, mean over the other initializations minus that of the symmetric one, with a 95% interval over seeds and
    test images. Secondary: the same without a ball. The gap depends on the initialization if the interval excludes 0.
    """

    name = "initialization"
    title = "Does the initialization matter for soft labels?"
    question = "Four initializations, on a small ball around them and without one (the papers use the symmetric one)."
    presets = presets(PGD, _conditions)

    def endpoints(self, settings: ConditionsSettings) -> list[Endpoint]:
        """The gap of other initializations minus that of the symmetric one, on the ball and without it."""
        return [
            Endpoint.difference(
                f"gap of other initializations − gap of the symmetric one, {where}", *_sides(settings, ball)
            )
            for where, ball in ((f"B = {BALL:g}", True), ("no ball", False))
        ]

    def answer(self, result: ConditionsResult) -> str:
        """The primary endpoint in words."""
        other, ball = result.primary, [row for row in result.rows if row.condition.radius is not None]
        wins = sum(row.verdict == "soft wins" for row in ball)
        depends = "depends on them" if other.low > 0 or other.high < 0 else "is not shown to depend on them"
        return (
            f"On a small ball soft labels win with {wins} of {len(ball)} initializations; the size of the gap "
            f"{depends}: other initializations than the symmetric one change it by {other:+.2f} points."
        )


def _sides(settings: ConditionsSettings, ball: bool) -> tuple[list[Condition], list[Condition]]:
    these = [one for one in settings.conditions if (one.radius is not None) == ball]
    return [one for one in these if one.init != "symmetric"], [one for one in these if one.init == "symmetric"]
