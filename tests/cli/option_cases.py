"""Every option of every verb with values that nobody should give, found by asking the command line itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer

from softlabel.cli.main import app
from tests.cli.sheets import write_labels, write_sheet

NUMBERS = ("-1", "0", "1e300", "1e-300", "inf", "nan", str(2**31), str(2**63), str(10**30), "", "1_0", "٣")
MORE_NUMBERS = ("-inf", str(2**64), " ", "0x10", "-0.0", "1e-30")
WORDS = ("", "naïve-名前", "x" * 5000, "--", "two\nlines", "[/a]", "\x1b[31mred\u202e")
MORE_WORDS = (" ", "$\\frac{$", "../..", "a,b,c", ",")
LISTS = {"widths", "strengths", "distances", "choices", "init_widths"}  # numbers with commas in one word
SKIPPED = {"help", "as_json", "version"}


def write_data(folder: Path) -> None:
    """Tiny data of every kind that a verb takes."""
    write_sheet(folder / "tiny.csv", rows=140)
    write_labels(folder / "labels.csv", folder / "tiny.csv")
    rng = np.random.default_rng(0)
    classes = np.arange(40) % 2
    images = (rng.random((40, 8, 8)) * 0.5 + 0.5 * classes[:, None, None]).astype(np.float32)
    np.savez(folder / "images.npz", images=images, labels=classes)
    np.save(folder / "logits.npy", np.stack([2.0 - 4 * classes, 4.0 * classes - 2], axis=1).astype(np.float32))


def base(verb: str) -> list[str]:
    """Words that make the verb work, briefly, in the folder of `write_data`."""
    table = ["tiny.csv", "--label", "sick", "--drop", "patient"]
    labeled = ["tiny.csv", "--label", "sick", "--teacher", "labels.csv", "--id", "patient"]
    words = {
        "audit": [*table, "--scale", "max", "--width", "4", "--iterations", "2", "--time-limit", "1"],
        "bounds": [],
        "cite": [],
        "data fetch": ["digits"],
        "data list": [],
        "data verify": ["digits"],
        "distill": [
            "images.npz", "--teacher", "logits.npy", "--student", "resnet8", "--width-multiplier", "0.1",
            "--epochs", "1", "--precision", "float32",
        ],
        "doctor": ["tiny.csv", "--label", "sick"],
        "dynamics": [*table, "--rows", "20", "--width", "4", "--teacher-width", "8", "--iterations", "3"],
        "explore": ["tiny.csv", "--no-browser"],  # a file instead of a directory: it must not begin to serve
        "margin": [*table, "--scale", "max", "--rows", "20", "--time-limit", "1", "--rtol", "0.9"],
        "plan": [*labeled, "--accuracy", "0.9", "--widths", "2,4", "--seeds", "3", "--epochs", "1", "--confirm", "0"],
        "predict": ["nothing.onnx", "tiny.csv"],
        "report": ["nowhere"],
        "reproduce": ["table1", "--data", "digits"],
        "results export": ["nowhere", "--to", "cells.csv"],
        "results list": ["."],
        "results resume": ["nowhere"],
        "results show": ["nowhere"],
        "train": [*table, "--width", "2", "--seeds", "1", "--epochs", "1"],
        "verdict": [*labeled, "--width", "2", "--seeds", "2", "--epochs", "1"],
    }  # fmt: skip
    return words[verb]


def verbs() -> Iterator[tuple[str, Any]]:
    """Every verb by its words, with its command."""
    root: Any = typer.main.get_command(app)
    for name, command in root.commands.items():
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        else:
            yield from ((f"{name} {word}", each) for word, each in inner.items())


COMMANDS = dict(verbs())


def options() -> Iterator[tuple[str, str]]:
    """Every option of every verb that takes a value."""
    for verb, command in COMMANDS.items():
        for each in command.params:
            if each.param_type_name == "option" and not each.is_flag and each.name not in SKIPPED:
                yield verb, max(each.opts, key=len)


def option_cases(verb: str, option: str, more: bool = False) -> tuple[str, ...]:
    """Values for an option of a verb; others with `more`."""
    (each,) = (each for each in COMMANDS[verb].params if option in each.opts)
    if _kind(each) in (int, float) or each.name in LISTS:
        return MORE_NUMBERS if more else NUMBERS
    return MORE_WORDS if more else WORDS


def _kind(option: Any) -> Any:
    """The type of an option's value."""
    annotation = option.type_descriptor.annotation
    return next((kind for kind in (int, float) if annotation in (kind, list[kind])), str)
