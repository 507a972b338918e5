"""The examples in the docstrings of the public names and of their methods, each in a directory of its own."""

import doctest
from collections.abc import Iterator

import pytest

import softlabel as sl

NAMES = [*sl.__all__, *(f"bounds.{name}" for name in sl.bounds.__all__)]


def examples(name: str) -> Iterator[doctest.DocTest]:
    value = getattr(sl.bounds, name.removeprefix("bounds.")) if "." in name else getattr(sl, name)
    finder = doctest.DocTestFinder(recurse=isinstance(value, type))
    # module=False: methods are found although the names in the examples come from their own imports alone
    yield from (test for test in finder.find(value, name, module=False, globs={}) if test.examples)


@pytest.mark.parametrize("name", NAMES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output: list[str] = []
    runner = doctest.DocTestRunner()
    for test in examples(name):
        runner.run(test, out=output.append)
    assert runner.failures == 0, "".join(output)
