"""`softlabel data`: the named data sets, their sources, state and checksums."""

from typing import Annotated

import typer

from softlabel.cli import options
from softlabel.cli.options import option

app = typer.Typer(no_args_is_help=True, help="List, fetch and verify the named data sets.")
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Names of data sets, see `data list`.")]


@app.command("list")
def list_sets(as_json: options.Json = False) -> None:
    """Print every data set: examples, classes, size, state and sources.

    Example: softlabel data list
    """
    from softlabel.data import cache_folder
    from softlabel.data.collection import describe_sets

    rows = describe_sets()
    if as_json:
        options.answer({"folder": str(cache_folder()), "datasets": rows})
        return
    lines = [
        [
            row["name"], " + ".join(f"{count:,}" for count in row["examples"].values()), str(len(row["classes"])),
            f"{row['bytes'] / 1e6:.0f} MB" if row["bytes"] else "", row["state"],
        ]
        for row in rows
    ]  # fmt: skip
    options.table(f"data sets, cached in {cache_folder()}", ["name", "train + test", "classes", "size", "state"], lines)
    options.say(*(f"{row['name']} comes from: {', else '.join(row['sources'])}" for row in rows))


@app.command()
def fetch(
    names: Names = None,
    every: Annotated[bool, option("Fetch every data set.", None, "--all")] = False,
    as_json: options.Json = False,
) -> None:
    """Download data sets into the cache, from the first source that provides files with the right checksums.

    Example: softlabel data fetch mnist fashion-mnist
    """
    from softlabel.data import CATALOGUE
    from softlabel.data.collection import fetch_sets
    from softlabel.errors import require

    require(every or bool(names), f"no data set is named: name one of {', '.join(CATALOGUE)}, or give --all")
    results = fetch_sets(CATALOGUE if every else names or ())
    if as_json:
        options.answer({"datasets": [result.to_dict() for result in results]})
    else:
        options.say(*results)


@app.command()
def verify(names: Names = None, as_json: options.Json = False) -> None:
    """Compare every cached file with its pinned SHA-256; the exit code is 1 if one is missing or corrupted.

    Without names, the data sets in the cache are verified.

    Example: softlabel data verify mnist
    """
    from softlabel.data.collection import verify_sets
    from softlabel.errors import SoftlabelError

    states = verify_sets(names or ())
    if as_json:
        options.answer({"datasets": [state.to_dict() for state in states]})
    else:
        rows = [row for state in states for row in state.lines]
        options.table("checksums", ["data set", "file", "state"], rows, numbers=False)
    wrong = [state for state in states if not state.holds]
    if wrong:
        faults = "; ".join(map(str, wrong))
        raise SoftlabelError(f"{faults}; run softlabel data fetch {' '.join(state.name for state in wrong)}")
