import json
import logging
import os
import subprocess
import sys

import pytest

from softlabel.cli import terminal
from softlabel.cli.main import run
from tests.cli.option_cases import verbs

COMMAND = [sys.executable, "-m", "softlabel"]
ENCODINGS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "the C locale": {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"},
}


def call(arguments, **how):
    return subprocess.run([*COMMAND, *arguments], stdin=subprocess.DEVNULL, timeout=120, check=False, **how)


@pytest.mark.parametrize("setting", ENCODINGS)
def test_help_and_answers_survive_a_terminal_that_is_not_utf_8(setting):
    code = (
        "import sys; from softlabel.cli import terminal; terminal.open_streams(); from softlabel.cli.main import run;"
        "wrong = [words for words in sys.argv[1:] if run(words.split()) != 0];"
        "sys.exit(f'these failed: {wrong}' if wrong else 0)"
    )
    words = ["--help", "bounds", *(f"{verb} --help" for verb, _ in verbs())]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, env=os.environ | ENCODINGS[setting], check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stderr == b""
    assert b"\\u03b3" in done.stdout


@pytest.mark.parametrize("arguments", [["bounds"], ["bounds", "--json"], ["--help"], ["--version"]])
@pytest.mark.parametrize("stdout", ["closed", "full", "broken"])
def test_an_answer_that_cannot_be_written_is_one_line_and_exit_code_1(arguments, stdout):
    with open(os.devnull if stdout == "closed" else "/dev/full", "wb") as file:  # noqa: PTH123
        how = {"stdout": file}
        if stdout == "closed":
            how = {"preexec_fn": lambda: os.close(1)}
        if stdout == "broken":
            reading, writing = os.pipe()
            os.close(reading)
            how = {"stdout": writing}
        done = call(arguments, stderr=subprocess.PIPE, text=True, **how)
    assert done.returncode == 1
    if stdout == "broken":  # as with `| head`: nobody is told
        assert done.stderr == ""
        return
    assert done.stderr.startswith("softlabel: standard output cannot be written (")
    assert done.stderr.count("\n") == 1


def test_notes_do_not_land_on_stdout_when_stderr_is_closed(tmp_path):
    figure = tmp_path / "figure.svg"
    done = call(
        ["bounds", "--json", "--figure", str(figure)], stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(2)
    )
    assert done.returncode == 0
    assert set(json.loads(done.stdout)) >= {"inputs", "families"}
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_an_error_with_every_stream_closed_still_has_its_exit_code():
    def close() -> None:
        for number in (0, 1, 2):
            os.close(number)

    assert subprocess.run([*COMMAND, "train", "nowhere.csv"], preexec_fn=close, check=False).returncode == 2


HOSTILE = "\x1b[31mred\x07\x9b2J\u202eevil\ntwo"


def test_what_is_printed_is_escaped(capsys):
    terminal.say(HOSTILE)
    terminal.note(HOSTILE)
    terminal.table(HOSTILE, [HOSTILE, "[/a]"], [[HOSTILE, "[bold]x[/bold] :smile:"]])
    captured = capsys.readouterr()
    for text in (captured.out, captured.err):
        assert text.replace("\n", "").isprintable()
        assert "\\x1b[31mred\\x07\\x9b2J\\u202eevil\\ntwo" in text
    assert "[bold]x[/bold] :smile:" in captured.out
    assert "[/a]" in captured.out


def test_errors_are_escaped(capsys):
    assert run(["train", f"{HOSTILE}.csv", "--label", "[/a]"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.removesuffix("\n").isprintable()
    assert "\\x1b[31mred" in error


def test_numbers_that_json_does_not_know_become_null(capsys):
    terminal.answer({"a": [float("nan"), 1.5], "b": {"c": float("-inf")}, "d": (float("inf"), True, 2)})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "a": [None, 1.5], "b": {"c": None}, "d": [None, True, 2],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bounds", "--gamma", "7"], "softlabel: --gamma must satisfy "),
        (["bounds", "--n=0"], "softlabel: --n must be a whole number "),
        (["results", "export", "nowhere", "--to", "x"], "softlabel: --to must end in "),
    ],
)
def test_a_parameter_of_the_library_is_named_as_the_option_it_is(arguments, message, capsys):
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith(message)


def test_messages_of_the_library_name_options(capsys):
    with terminal.log_shown(lambda message: message.replace("`cross_test`", "--cross-test")):
        logging.getLogger("softlabel").info("note: one test part: `cross_test` 0")
    assert capsys.readouterr().err == "note: one test part: --cross-test 0\n"
