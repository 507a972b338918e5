"""`softlabel margin`: how separable a data set is in the kernel limit, with a certificate."""

from typing import Annotated

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped
from softlabel.cli.options import DATA, EXECUTION, OUTPUT, option


@grouped
def margin(
    *,
    data: DataChoice,
    rows: options.Rows = None,
    part: Annotated[str, option("full (all rows but official test rows) or train (the training rows).", DATA)] = "full",
    several_classes: Annotated[bool, option("Compute the margin of every class against the rest.", DATA)] = False,
    rtol: Annotated[float, option("Relative width at which the interval is narrow enough.", EXECUTION)] = 0.05,
    time_limit: options.TimeLimit = None,
    work_limit: options.WorkLimit = None,
    confidence: Annotated[float, option("Confidence of the interval.")] = 0.95,
    kappa: Annotated[float, option("Inverse temperature of the teacher that is saved.", OUTPUT)] = 1.0,
    init_widths: Annotated[
        str | None, option("Widths, e.g. 64,256,1024: also the margin γ_m of students' initializations.")
    ] = None,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Certify the separation margin γ* of a data set, and find its kernel-limit teacher.

    The interval becomes narrower until it meets --rtol or a limit is reached; the best interval so far is printed. By
    default the work is limited, and the same command gives the same numbers; with --time-limit the numbers depend on
    the machine.

    Example: softlabel margin digits --out runs/digits

    Example: softlabel margin mnist --time-limit 1800

    Example: softlabel margin digits --several-classes
    """
    from softlabel.errors import require
    from softlabel.studies.margin import MarginOptions
    from softlabel.studies.margin import margin as certify

    two_classes = data.task is not None or data.classes is not None
    require(not (several_classes and two_classes), "`several_classes` keeps all classes: omit `task` and `classes`")
    widths = () if init_widths is None else options.positive_integers(init_widths, "init_widths")
    result = certify(
        data.loader(seed=seed), rows=rows, part=part, several_classes=several_classes, rtol=rtol, time_limit=time_limit,
        work_limit=work_limit, seed=seed, out=out,
        options=MarginOptions(confidence=confidence, kappa=kappa, init_widths=widths),
    )  # fmt: skip
    if as_json:
        options.answer(result.to_dict())
        return
    options.print_tables(result.table)
    options.say(result.table.about, *result.summary)
