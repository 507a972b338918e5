"""Writes `reference/command-line.md` from the command line's own help before Sphinx reads the sources."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.text import Text
from sphinx.application import Sphinx

INTRODUCTION = """# Command line

Every command accepts `--help`. Every command that computes something accepts `--json`, which prints one JSON document
on standard output and nothing else there; progress and messages go to standard error ([the documents](json.md)).

| exit code | meaning |
| --- | --- |
| 0 | The command succeeded. |
| 2 | The input is wrong. One line says what is wrong, where, and how to fix it. |
| 1 | Something else failed. One line says what; `SOFTLABEL_DEBUG=1` adds the traceback. |
| 130 | The command was interrupted. Most commands resume when they are run again. |

This page is generated from the help texts of the program.
"""


def write_page(app: Sphinx) -> None:
    """Write the page if its content has changed."""
    page = Path(app.srcdir) / "reference" / "command-line.md"
    text = render()
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def render() -> str:
    """Return the page: one section per command, with its usage, examples and options."""
    root: Any = typer.main.get_command(importlib.import_module("softlabel.cli.main").app)
    return "\n".join([INTRODUCTION, *_command(root, "softlabel", top=True), *_commands(root, "softlabel")])


def _commands(group: Any, prefix: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        path = f"{prefix} {name}"
        if hasattr(command, "commands"):
            yield from _commands(command, path)
        else:
            yield from _command(command, path)


def _command(command: Any, path: str, top: bool = False) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    text, examples = _split_help(command.help or "")
    yield f"({path.replace(' ', '-')})=\n"
    yield f"## {path}\n"
    yield from (f"{_escape(paragraph)}\n" for paragraph in text)
    yield f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    if examples:
        yield "Examples:\n"
        yield "\n".join(["```text", *(f"$ {example}" for example in examples), "```\n"])
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        record = None if parameter.hidden else parameter.get_help_record(context)
        if record is not None:
            default = "Arguments" if parameter.param_type_name == "argument" else "Options"
            panel = parameter.rich_help_panel
            panels.setdefault(panel if isinstance(panel, str) else default, []).append(_entry(*record))
    for panel, entries in panels.items():
        yield f"**{panel}**\n"
        yield from entries
    if top:
        yield "Commands: " + ", ".join(_links(command, path)) + ".\n"


def _links(group: Any, prefix: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _links(command, f"{prefix} {name}")
        elif not command.hidden:
            path = f"{prefix} {name}"
            yield f"[`{path.removeprefix('softlabel ')}`](#{path.replace(' ', '-')})"


def _split_help(text: str) -> tuple[list[str], list[str]]:
    """Split a help text into its paragraphs and the commands of its examples."""
    plain = Text.from_markup(text).plain.replace("\b", "")
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", plain) if part.strip()]
    examples = [part for paragraph in paragraphs for part in re.split(r"Examples?: ", paragraph)[1:] if part]
    return [part for part in paragraphs if not re.match(r"Examples?: ", part)], [part.strip() for part in examples]


def _entry(names: str, description: str) -> str:
    """Return one entry of a definition list."""
    return f"`{' '.join(names.split())}`\n: {_escape(' '.join(description.split())) or '–'}\n"


def _escape(text: str) -> str:
    """Return the text with the characters escaped that Markdown would interpret."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", Text.from_markup(text.replace("\\", "")).plain)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_page)
    return {"version": "1", "parallel_read_safe": True}
