"""Remedies for students, in the parameters that the verb of their run has.

`train` takes every setting; `verdict` and `plan` choose learning rates and radii themselves, so that other parameters
have to help there.
"""

from typing import Literal

Verb = Literal["train", "verdict", "plan"]


def verb_of(study: str) -> Verb:
    """The verb of a study; studies of the papers are examined without its parameters."""
    return "plan" if study == "plan" else "train" if study == "train" else "verdict"


def longer(factor: int) -> str:
    """To train longer."""
    return f"train about {factor} times as long (`epochs`)"


def wider(verb: Verb, width: int) -> str:
    """To use more neurons."""
    if verb == "plan":
        return f"use more neurons, e.g. `widths` '{width * 4}' instead of {width}"
    return f"use more neurons, e.g. `width` {width * 4} instead of {width}"


def faster(verb: Verb, learning_rate: float, factor: int) -> str:
    """To get further in the same number of epochs, or to use more of them."""
    if verb != "train":
        more = "" if factor < 100 else "; if that does not help, scale the inputs (`scale` 'standard')"
        return f"the loss was still falling: {longer(min(factor, 10))}{more}"
    larger = f"use a larger learning rate, e.g. `learning_rate` {brief(learning_rate * factor)} instead of "
    return larger + brief(learning_rate) + ("" if factor >= 100 else f", or {longer(factor)}")


def slower(verb: Verb, learning_rate: float) -> str:
    """To take smaller steps."""
    if verb != "train":
        return (
            "this learning rate was the best of those that were tried: scale the inputs (`scale` 'standard'), or use "
            "larger batches (`batch_size`)"
        )
    return (
        f"use a smaller learning rate, e.g. `learning_rate` {brief(learning_rate / 3)} or {brief(learning_rate / 10)} "
        f"instead of {brief(learning_rate)}"
    )


def revived(verb: Verb, hint: bool) -> str:
    """To have fewer inactive neurons."""
    if verb == "train":
        remedy = "use a smaller `learning_rate`, which deactivates fewer neurons, "
        return remedy + ("or a smaller `width`: these neurons are unused" if hint else "or another `init`")
    if hint:
        return f"these neurons are unused: a smaller `{'widths' if verb == 'plan' else 'width'}` may do"
    return "scale the inputs (`scale` 'standard'), or use larger batches (`batch_size`), which deactivate fewer neurons"


def agreeing(verb: Verb) -> str:
    """To have seeds with similar results."""
    remedy = "a mean over these seeds is not informative: "
    if verb == "train":
        remedy += "use a smaller `learning_rate` or a larger `width`"
    else:
        remedy += "use larger `widths` or more `epochs`" if verb == "plan" else "use a larger `width` or more `epochs`"
    return remedy + ", and inspect the seeds individually"


def looser(verb: Verb, radius: float) -> str:
    """To restrain neurons less."""
    if verb == "train":
        return (
            f"use a larger radius, e.g. `radius` {brief(radius * 4)} instead of {brief(radius)}, or use `radius` None"
        )
    return "students without a radius do better: leave out `search_radius`"


def tighter(verb: Verb, reached: float, overfits: bool) -> str:
    """To restrain neurons more, or not at all."""
    if verb == "train":
        if overfits:
            return f"the student overfits, unrestrained by the radius: use `radius` {reached / 2:.2g} or less"
        return f"the radius has no effect: use `radius` None, or {reached:.2g} or less"
    return "the radius has no effect: leave out `search_radius`"


def brief(number: float) -> str:
    """Three significant digits."""
    return f"{float(f'{number:.3g}'):g}"
