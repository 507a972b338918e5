"""`softlabel report`, `results resume` and `cite`: the page of a run, the rest of it, and its citations."""

from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli import options
from softlabel.cli.groups import ExecutionChoice, grouped
from softlabel.cli.results import Run


def report(run: Run, as_json: options.Json = False) -> None:
    """Rebuild the page of a finished run from its directory.

    Example: softlabel report runs/table1-quick
    """
    from softlabel.studies.rebuild import read_run

    result = read_run(run)
    options.answer(options.result_document(result)) if as_json else options.say(f"Report: {result.report}")


@grouped
def resume(*, run: Run, execution: ExecutionChoice, as_json: options.Json = False) -> None:
    """Finish an interrupted run from its directory alone, without its original data or teacher.

    Example: softlabel results resume runs/verdict-heart-1a2b3c4d --executor local
    """
    from softlabel.studies.rebuild import resume as finish
    from softlabel.studies.run import Execution

    options.print_result(lambda: finish(run, Execution(**vars(execution))), lambda document: None, as_json)


def cite(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run directory. Default: everything.")] = None,
    as_json: options.Json = False,
) -> None:
    """Print BibTeX entries of what a run used.

    Example: softlabel cite runs/table1-quick
    """
    from softlabel.studies.runs import run_citations

    entries = run_citations(run)
    options.answer({"bibtex": entries}) if as_json else options.say(*"\n\n".join(entries).splitlines())
