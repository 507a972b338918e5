"""Every remedy names parameters that the verbs have."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import typer

import softlabel.studies.doctor as package
from softlabel.cli.doctor import VERBS, with_options
from softlabel.cli.main import app
from softlabel.studies.doctor import advice

SOURCES = sorted(Path(inspect.getfile(package)).parent.glob("*.py"))
ARGUMENTS = {
    "width": 8,
    "factor": 3,
    "learning_rate": 0.3,
    "hint": True,
    "radius": 2.0,
    "reached": 1.0,
    "overfits": True,
}


def options(verb):
    """The options of a verb, by the names of their parameters."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {each.name: max(each.opts, key=len) for each in commands[verb].params if each.param_type_name == "option"}


def parameters(text):
    return set(re.findall(r"`(\w+)`", text))


def texts(path):
    """The strings of a file but its docstrings, f-strings with {} for values."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {id(one.body[0].value) for one in ast.walk(tree)
                  if isinstance(one, documented) and one.body and isinstance(one.body[0], ast.Expr)}  # fmt: skip
    for one in ast.walk(tree):
        if isinstance(one, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in one.values)  # type: ignore[misc]
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in docstrings:
            yield one.value


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_named_parameters_are_options_of_a_verb(path):
    known = set().union(*(options(verb) for verb in VERBS))
    for text in texts(path):
        assert parameters(text) <= known, text
        assert not re.search(r"(^|\s)--\w", text), "the library does not name options"


def test_the_walk_sees_remedies():
    """So that the test above cannot pass because it looks at nothing."""
    named = set().union(*(parameters(text) for path in SOURCES for text in texts(path)))
    assert named >= {"drop", "numeric", "categorical", "group", "time", "id_column", "metric", "leave_out", "epochs",
                     "width", "widths", "learning_rate", "radius", "search_radius", "scale", "batch_size"}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_remedies_for_students_are_options_of_the_verb_of_the_run(verb):
    """`verdict` has no learning rate, and `plan` has widths."""
    known = options(verb)
    remedies = [one for one in vars(advice).values() if inspect.isfunction(one) and one.__module__ == advice.__name__]
    named = set()
    for remedy in remedies:
        signature = inspect.signature(remedy).parameters
        if not signature.keys() <= {"verb", *ARGUMENTS}:
            continue
        for high in (3, 1000):
            values = ARGUMENTS | {"factor": high, "hint": high == 3, "overfits": high == 3, "verb": verb}
            named |= parameters(remedy(**{name: values[name] for name in signature}))
    assert len(named) >= 4
    assert named <= set(known)


def test_remedies_in_options():
    assert with_options("`drop` 'a b', 'c'; pass `id_column` 'nr'") == "--drop 'a b' --drop 'c'; pass --id 'nr'"
    assert with_options("use `radius` None, or more `epochs`") == "leave out --radius, or more --epochs"
    assert with_options("leave them out with `leave_out` '(missing)'") == "leave them out with --leave-out '(missing)'"
