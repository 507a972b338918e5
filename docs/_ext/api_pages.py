"""Writes `reference/api/` from `softlabel.__all__` before Sphinx reads the sources: an index and one page per name."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

# The packages of softlabel that public names live in, in the order of the page.
SECTIONS = {
    "studies": "Questions and studies",
    "data": "Data",
    "teachers": "Teachers",
    "students": "Student families",
    "networks": "Networks, labels and training",
    "estimators": "scikit-learn estimators",
    "export": "Export",
    "theory": "Theory",
    "lab": "Statistics and runs",
    "report": "Reports",
    "errors": "Exceptions",
}
INTRODUCTION = """.. This page is generated from softlabel.__all__.

Python API
==========

.. currentmodule:: softlabel

``import softlabel as sl`` takes a few milliseconds; every name below is loaded when it is first used. Everything that
is not listed here is internal and may change without notice.
"""


def write_pages(app: Sphinx) -> None:
    """Write the pages whose content has changed, and remove those of names that no longer exist."""
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(exist_ok=True)
    pages = render()
    for page in folder.glob("*.rst"):
        if page.name not in pages:
            page.unlink()
    for name, text in pages.items():
        page = folder / name
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def render() -> dict[str, str]:
    """Return the text of every page by its file name."""
    import softlabel

    public = {name: getattr(softlabel, name) for name in softlabel.__all__ if not name.startswith("__")}
    sections: dict[str, list[str]] = {}
    for name, value in public.items():
        sections.setdefault(_package(value), []).append(name)
    order = [*SECTIONS, *sorted(set(sections) - set(SECTIONS))]
    files = {name: _file_name(name, public) for name in public}
    pages = {f"{files[name]}.rst": "\n".join(_page(name, value)) for name, value in public.items()}
    index = [INTRODUCTION]
    for package in order:
        names = sorted(sections.get(package, ()), key=lambda name: (inspect.isclass(public[name]), name.lower()))
        if names:
            index += _section(SECTIONS.get(package, "More"), names, files, public)
    return pages | {"index.rst": "\n".join(index)}


def _package(value: Any) -> str:
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return (home or "").removeprefix("softlabel.").partition(".")[0]


def _file_name(name: str, public: dict[str, Any]) -> str:
    """Return a file name that stays unique where case does not count (`plan` and `Plan`)."""
    clash = sum(other.lower() == name.lower() for other in public) > 1
    return f"{name}-class" if clash and inspect.isclass(public[name]) else name


def _section(title: str, names: list[str], files: dict[str, str], public: dict[str, Any]) -> Iterator[str]:
    yield f"{title}\n{'-' * len(title)}\n"
    tabled = [name for name in names if not isinstance(public[name], ModuleType)]
    if tabled:
        yield ".. autosummary::\n"
        yield from (f"   {name}" for name in tabled)
        yield ""
    for name in names:
        if isinstance(public[name], ModuleType):
            yield f":doc:`softlabel.{name} <{files[name]}>`: {(public[name].__doc__ or '').strip().splitlines()[0]}\n"
    yield ".. toctree::\n   :hidden:\n"
    yield from (f"   {files[name]}" for name in names)
    yield ""


def _page(name: str, value: Any) -> Iterator[str]:
    title = f"softlabel.{name}"
    yield f"{title}\n{'=' * len(title)}\n"
    if isinstance(value, ModuleType):
        yield from _module(name, value)
        return
    yield ".. currentmodule:: softlabel\n"
    if inspect.isclass(value):
        yield f".. autoclass:: {name}\n   :members:\n"
    elif callable(value):
        yield f".. autofunction:: {name}\n"
    else:
        yield f".. autodata:: {name}\n   :no-value:\n"


def _module(name: str, module: ModuleType) -> Iterator[str]:
    """Return a page with every public function and class of a public module."""
    yield f".. automodule:: {module.__name__}\n"
    yield f"In a program: ``import softlabel as sl`` and ``sl.{name}.…``.\n"
    members = [(member, getattr(module, member)) for member in module.__all__]
    yield f".. currentmodule:: {module.__name__}\n\n.. autosummary::\n"
    yield from (f"   {member}" for member, _ in members)
    yield ""
    for member, value in members:
        directive = "autoclass" if inspect.isclass(value) else "autofunction" if callable(value) else "autodata"
        yield f".. {directive}:: {member}" + ("\n   :members:" if directive == "autoclass" else "") + "\n"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    return {"version": "1", "parallel_read_safe": True}
