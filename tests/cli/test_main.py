import subprocess
import sys
import time

import pytest

from softlabel.cli import main as entry
from softlabel.cli.main import app, run
from softlabel.errors import DivergedError, InputError

HEAVY = ("torch", "numpy", "scipy", "sklearn", "polars", "matplotlib", "pandas", "pooch", "PIL")


@pytest.mark.parametrize("arguments", [["--help"], ["data", "--help"], ["train", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys; from softlabel.cli.main import run; assert run(sys.argv[1:]) == 0;"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]; assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)


def test_help_is_quick():
    def best(*command: str) -> float:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - began)
        return min(times)

    bare = best(sys.executable, "-c", "import typer.rich_utils, rich.markdown")
    assert best(sys.executable, "-m", "softlabel", "--help") < 4 * bare


def test_no_verb_shows_the_help(capsys):
    assert run([]) == 0
    assert "train" in capsys.readouterr().out
    assert run(["data"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dta"], "No such command 'dta'. Did you mean 'data'?"),
        (["train"], "Missing argument 'DATA'."),
        (["train", "digits", "--width", "four"], "Invalid value for '--width'"),
        (["data", "list", "--frm"], "No such option: --frm"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(arguments, message, capsys):
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("softlabel: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (InputError("width must be even,\n got 5"), 2, "softlabel: width must be even, got 5\n"),
        (DivergedError("student 3 left"), 1, "softlabel: student 3 left\n"),
        (KeyboardInterrupt(), 130, "softlabel: interrupted\n"),
        (ZeroDivisionError("oh"), 1, "softlabel: unexpected ZeroDivisionError: oh (SOFTLABEL_DEBUG=1 shows where)\n"),
    ],
)
def test_every_problem_has_its_exit_code_and_one_line(problem, code, message, capsys, monkeypatch):
    def verb() -> None:
        raise problem

    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
    app.command("fail")(verb)
    assert run(["fail"]) == code
    assert capsys.readouterr().err == message


def test_the_command_exits_with_the_code(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["softlabel", "nothing"])
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # the command replaces it
    with pytest.raises(SystemExit) as stop:
        entry()
    assert stop.value.code == 2
