"""`softlabel explore`: the explorer, a local web page."""

from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli import options
from softlabel.cli.options import EXECUTION, option


def explore(
    *,
    directory: Annotated[
        Path, typer.Argument(help="Directory of runs: these are shown, and new ones are made here.")
    ] = Path("runs"),
    port: Annotated[int | None, option("First port to try. 0: any free port. Default: 8765.", EXECUTION)] = None,
    host: Annotated[
        str, option("Address to listen on; others than this machine need a token.", EXECUTION)
    ] = "127.0.0.1",
    no_browser: Annotated[bool, option("Do not open a browser.", EXECUTION, "--no-browser")] = False,
    as_json: options.Json = False,
) -> None:
    """Open the explorer: a local web page to see distillation happen, to ask for a verdict, and to look at runs.

    It listens on this machine only, and no data leave the machine. Ctrl-C ends it and every training that it started;
    a verdict or a plan that was at work goes on where it was when it is started again.

    Example: softlabel explore

    Example: softlabel explore runs --port 9000 --no-browser
    """
    from softlabel.app import explore as serve

    def ready(url: str) -> None:
        options.answer({"url": url, "runs": str(directory)}) if as_json else options.say(f"softlabel explorer: {url}")
        options.note("Ctrl-C ends it.")

    serve(directory, port=port, host=host, browser=not no_browser, ready=ready)
