"""The rules of the house, read from the source: names, sizes, signatures, messages."""

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import softlabel as sl

SOURCE = Path(sl.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
BANNED = {"held", "found", "given", "said", "told", "taught", "posed", "further", "asking", "answering", "practice",
          "whole"}  # fmt: skip
ALLOWED = {"TaughtProblem", "TaughtRows", "taught_problem"}  # names of the vocabulary
MAX_LINES, MAX_PARAMETERS, MAX_VERB_LINES = 60, 12, 80
VERBS = [path for path in FILES if path.parent.name == "cli"
         and path.stem not in ("__init__", "main", "terminal", "options", "groups")]  # fmt: skip


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def identifiers(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that the source defines or uses, with its line."""
    for node in ast.walk(module):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Name):
            yield node.id, line
        elif isinstance(node, ast.Attribute):
            yield node.attr, line
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield node.arg, line
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, line
        elif isinstance(node, ast.alias):
            yield from ((word, line) for word in (node.asname or node.name).split("."))


def banned_words(name: str) -> set[str]:
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().split("_")
    return BANNED & set(words)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_banned_identifier(path):
    names = [
        f"{name} (line {line})"
        for name, line in identifiers(tree(path))
        if banned_words(name) and name not in ALLOWED and not name.endswith("NotFoundError")
    ]
    assert names == []
    assert not banned_words(path.stem) or path.stem in ALLOWED


def test_one_class_has_one_name():
    homes = defaultdict(list)
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_functions_are_short():
    """Without their docstrings."""
    long = {}
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
                lines = (node.end_lineno or 0) - node.lineno + 1 - docstring
                if lines > MAX_LINES:
                    long[f"{path.relative_to(SOURCE)}:{node.name}"] = lines
    assert long == {}


def public_callables() -> Iterator[tuple[str, inspect.Signature]]:
    for name in sl.__all__:
        value = getattr(sl, name)
        if callable(value) and not is_error(value):
            yield name, inspect.signature(value)
        elif inspect.ismodule(value):
            for inner in value.__all__:
                if callable(getattr(value, inner)):
                    yield f"{name}.{inner}", inspect.signature(getattr(value, inner))


def test_public_signatures_are_short():
    """Data classes that a user only reads may have more fields; `Student` has one more, all of them keywords."""
    long = {}
    for name, signature in public_callables():
        value = getattr(sl, name.split(".")[0])
        result = inspect.isclass(value) and (
            hasattr(value, "to_dict") or name in ("PlannedArm", "Problem", "TeacherPredictions")
        )
        if len(signature.parameters) > MAX_PARAMETERS + (name == "Student") and not result:
            long[name] = len(signature.parameters)
    assert long == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_message_of_the_library_names_an_option(path):
    if path.parent.name == "cli":
        return
    flags = [
        f"{match[0]} (line {node.lineno})"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value  # not an argument of npm
        for match in re.finditer(r"(?<![\w-])--[a-z][a-z-]+", node.value)
    ]
    assert flags == []


@pytest.mark.parametrize("path", VERBS, ids=lambda path: path.stem)
def test_verbs_are_thin(path):
    assert len(path.read_text().splitlines()) <= MAX_VERB_LINES


def test_every_public_name_has_a_docstring_with_an_example():
    missing = []
    for name in sl.__all__:
        value = getattr(sl, name)
        text = inspect.getdoc(value) or ""
        if not text or (">>>" not in text and not is_error(value)):
            missing.append(name)
    assert missing == []


def is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)
