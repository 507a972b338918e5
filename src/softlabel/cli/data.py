"""`softlabel data`: the named data sets, their sources, state and checksums."""

from typing import Annotated

import typer

from softlabel.cli import options

app = typer.Typer(no_args_is_help=True, help="List, fetch and verify the named data sets.")


@app.command("list")
def list_sets(as_json: options.Json = False) -> None:
    """Show every data set: examples, classes, size, state and sources.

    Example: softlabel data list
    """
    from softlabel.data import CATALOGUE, cache_folder
    from softlabel.data.cache import state

    rows = [
        {
            "name": entry.name,
            "description": entry.description,
            "examples": dict(entry.examples),
            "classes": list(entry.classes),
            "inputs": list(entry.image_shape),
            "bytes": entry.size,
            "state": state(entry.name),
            "task": entry.task,
            "pair": entry.pair,
            "scale": entry.scale,
            "sources": [str(source) for source in entry.sources] or ["scikit-learn (embedded)"],
        }
        for entry in CATALOGUE.values()
    ]
    if as_json:
        options.answer({"folder": str(cache_folder()), "datasets": rows})
        return
    options.table(
        f"data sets, kept in {cache_folder()}",
        ["name", "train + test", "classes", "size", "state"],
        [
            [
                row["name"],
                " + ".join(f"{count:,}" for count in row["examples"].values()),
                str(len(row["classes"])),
                f"{row['bytes'] / 1e6:.0f} MB" if row["bytes"] else "",
                row["state"],
            ]
            for row in rows
        ],
    )
    for row in rows:
        options.say(f"{row['name']} comes from: {', else '.join(row['sources'])}")


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Data sets, as `data list` names them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Fetch every data set.")] = False,
    as_json: options.Json = False,
) -> None:
    """Bring data sets into the cache, from the first source that gives files with the right checksums.

    Example: softlabel data fetch mnist fashion-mnist
    """
    from time import perf_counter

    from softlabel.data import fetch as fetch_set

    rows = []
    for name in _chosen(names, every):
        start = perf_counter()
        done = fetch_set(name)
        rows.append(
            {
                "name": name,
                "state": "embedded" if done.folder is None else "cached" if done.source is None else "fetched",
                "source": done.source,
                "folder": None if done.folder is None else str(done.folder),
                "seconds": round(perf_counter() - start, 2),
            }
        )
    if as_json:
        options.answer({"datasets": rows})
        return
    for row in rows:
        said = {
            "embedded": "embedded in scikit-learn, nothing to fetch",
            "cached": f"already in {row['folder']}, checksums right",
            "fetched": f"fetched from {row['source']} into {row['folder']}, checksums right",
        }
        options.say(f"{row['name']}: {said[row['state']]} ({row['seconds']:.1f} s)")


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Data sets; those in the cache if none is named.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare every cached file with its pinned SHA-256; exit code 1 if one is missing or corrupted.

    Example: softlabel data verify mnist
    """
    from softlabel.data import CATALOGUE
    from softlabel.data import verify as verify_set
    from softlabel.data.cache import state
    from softlabel.errors import SoftlabelError

    cached = [name for name in CATALOGUE if state(name) != "not fetched"]
    found = {name: verify_set(name) for name in (_chosen(names, False) if names else cached)}
    if as_json:
        options.answer(
            {
                "datasets": [
                    {
                        "name": name,
                        "holds": all(file.state == "right" for file in files),
                        "files": [{"name": file.name, "state": file.state} for file in files],
                    }
                    for name, files in found.items()
                ]
            }
        )
    else:
        rows = [[name, file.name, file.state] for name, files in found.items() for file in files]
        embedded = [[name, "embedded in scikit-learn", "right"] for name, files in found.items() if not files]
        options.table("checksums", ["data set", "file", "state"], embedded + rows, numbers=False)
    wrong = {
        name: [f"{file.name} is {file.state}" for file in files if file.state != "right"]
        for name, files in found.items()
    }
    wrong = {name: faults for name, faults in wrong.items() if faults}
    if wrong:
        what = "; ".join(f"{name}: {', '.join(faults)}" for name, faults in wrong.items())
        raise SoftlabelError(f"{what}; run softlabel data fetch {' '.join(wrong)}")


def _chosen(names: list[str] | None, every: bool) -> list[str]:
    """The named sets, all known before the first is touched."""
    from softlabel.data import CATALOGUE
    from softlabel.data.catalogue import find
    from softlabel.errors import InputError

    if every:
        return list(CATALOGUE)
    if not names:
        raise InputError(f"no data set is named: name one of {', '.join(CATALOGUE)}, or give --all")
    return [find(name).name for name in dict.fromkeys(names)]
