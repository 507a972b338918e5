"""The named data sets as a collection: list them, fetch several, verify several."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from softlabel.data.cache import FileState, fetch, state, verify
from softlabel.data.catalogue import CATALOGUE, NamedSet, find


@dataclass(frozen=True)
class FetchResult:
    """A data set that is ready for use; `state` is 'embedded', 'cached' or 'fetched'."""

    name: str
    state: str
    source: str | None
    folder: Path | None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        folder = None if self.folder is None else str(self.folder)
        return {"name": self.name, "state": self.state, "source": self.source, "folder": folder,
                "seconds": round(self.seconds, 2)}  # fmt: skip

    def __str__(self) -> str:
        text = {
            "embedded": f"{find(self.name).origin}, nothing to fetch",
            "cached": f"already in {self.folder}, checksums right",
            "fetched": f"fetched from {self.source} into {self.folder}, checksums right",
        }[self.state]
        return f"{self.name}: {text} ({self.seconds:.1f} s)"


@dataclass(frozen=True)
class SetState:
    """The state of the raw files of a data set; embedded data sets have none."""

    name: str
    files: tuple[FileState, ...]

    @property
    def holds(self) -> bool:
        """Whether every file has the right checksum."""
        return all(file.state == "right" for file in self.files)

    @property
    def lines(self) -> list[list[str]]:
        """Lines of a table: data set, file, state."""
        lines = [[self.name, file.name, file.state] for file in self.files]
        return lines or [[self.name, find(self.name).origin, "right"]]

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON values."""
        files = [{"name": file.name, "state": file.state} for file in self.files]
        return {"name": self.name, "holds": self.holds, "files": files}

    def __str__(self) -> str:
        return (
            f"{self.name}: {', '.join(f'{file.name} is {file.state}' for file in self.files if file.state != 'right')}"
        )


def describe_sets() -> list[dict[str, Any]]:
    """Every named data set: examples, classes, size, state and sources, as JSON values."""
    return [
        {
            "name": entry.name,
            "description": entry.description,
            "examples": dict(entry.examples),
            "classes": list(entry.classes),
            "inputs": list(entry.input_shape),
            "bytes": entry.size,
            "state": state(entry.name),
            "task": entry.task,
            "pair": entry.pair,
            "scale": entry.scale,
            "sources": _sources(entry),
        }
        for entry in CATALOGUE.values()
    ]


def _sources(entry: NamedSet) -> list[str]:
    if entry.sources:
        return [str(source) for source in entry.sources]
    return ["softlabel (generated)" if entry.format == "toy" else "scikit-learn (embedded)"]


def fetch_sets(names: Iterable[str]) -> list[FetchResult]:
    """Fetch several data sets; unknown names are an error before the first is fetched."""
    results = []
    for name in _known(names):
        began = perf_counter()
        done = fetch(name)
        kind = "embedded" if done.folder is None else "cached" if done.source is None else "fetched"
        results.append(FetchResult(name, kind, done.source, done.folder, perf_counter() - began))
    return results


def verify_sets(names: Iterable[str] = ()) -> list[SetState]:
    """The state of the raw files of several data sets; without names, of those in the cache."""
    names = list(names) or [name for name in CATALOGUE if state(name) != "not fetched"]
    return [SetState(name, tuple(verify(name))) for name in _known(names)]


def _known(names: Iterable[str]) -> list[str]:
    """The names, each once; an unknown one is an error."""
    return [find(name).name for name in dict.fromkeys(names)]
