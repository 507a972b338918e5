"""Verbs, exit codes and the one line an error is.

Exit codes: 0 done, 2 the user's input is wrong, 1 anything else, 130 interrupted. Nothing heavy is imported here,
so `--help` answers at once; each verb imports what it needs when it runs.
"""

import errno
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from softlabel import __version__
from softlabel.cli import data, report, results, terminal
from softlabel.cli.audit import audit
from softlabel.cli.bounds import bounds
from softlabel.cli.distill import distill
from softlabel.cli.doctor import doctor
from softlabel.cli.dynamics import dynamics
from softlabel.cli.explore import explore
from softlabel.cli.margin import margin
from softlabel.cli.plan import plan
from softlabel.cli.predict import predict
from softlabel.cli.reproduce import reproduce
from softlabel.cli.train import train
from softlabel.cli.verdict import verdict
from softlabel.errors import InputError, SoftlabelError, out_of_memory
from softlabel.memory import check_room
from softlabel.processors import calm_threads

INTERRUPTED = 130
WRONG_PATHS = (errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.ELOOP)

app = typer.Typer(
    name="softlabel",
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Soft labels or hard labels? How small can the student be? What can be proved?",
    epilog="Every verb answers [bold]--help[/bold] with examples, and [bold]--json[/bold] with one JSON document.",
)
app.add_typer(data.app, name="data")
results.app.command()(report.resume)
app.add_typer(results.app, name="results")
for verb in (audit, bounds, distill, doctor, dynamics, explore, margin, plan, predict, reproduce, train, verdict):
    app.command()(verb)
app.command()(report.report)
app.command()(report.cite)


def _version(wanted: bool) -> None:
    if wanted:
        terminal.say(f"softlabel {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every error is one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words and not {"--help", "--version"} & set(words):
            check_room()
        with terminal.log_shown(lambda message: _with_options(message, words)):
            code = typer.main.get_command(app).main(words, prog_name="softlabel", standalone_mode=False)
        if code == INTERRUPTED:  # Typer turns an interrupt into this code
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except typer.TyperException as problem:
        message = problem.format_message()
        return _fail(message, 2) if message else 0  # empty: a group was called without a verb and showed its help
    except SoftlabelError as problem:
        return _fail(_with_options(str(problem), words), 2 if isinstance(problem, InputError) else 1)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except OSError as problem:
        name = "" if problem.filename is None else str(problem.filename)
        users = name != "" and problem.errno in WRONG_PATHS and any(name in word for word in words)
        return _fail(f"'{name}': {problem.strerror}" if name else problem.strerror or str(problem), 2 if users else 1)
    except Exception as problem:
        sentence = out_of_memory(problem)
        if sentence is not None:
            return _fail(sentence, 1)
        if os.environ.get("SOFTLABEL_DEBUG"):
            raise
        return _fail(f"unexpected {type(problem).__name__}: {problem} (SOFTLABEL_DEBUG=1 shows where)", 1)


def main() -> None:
    """The `softlabel` command."""
    terminal.open_streams()
    calm_threads()
    code = run()
    try:
        sys.stdout.flush()
    except terminal.OutputError as problem:
        code = _fail(str(problem), code or 1)
    sys.exit(code)


def _fail(message: str, code: int) -> int:
    if message:
        terminal.complain(message)
    return code


def _with_options(message: str, words: Sequence[str]) -> str:
    """The message of the library, which names parameters, with the options of this command instead.

    A parameter is the first word of "width must be …", or stands in backticks. A value follows it in quotes, as in
    "`drop` 'sex'"; "use `radius` None" means to leave the option out. The options of a teacher have a prefix here that
    they do not need in `TeacherOptions`.
    """
    command: Any = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    names = {each.name: max(each.opts, key=len) for each in command.params if each.param_type_name == "option"}
    names = {name.removeprefix("teacher_"): option for name, option in names.items()} | names
    message = re.sub(r"\buse (`\w+`) None", r"leave out \1", message)
    return re.sub(r"^\w+(?= must )|`\w+`", lambda match: names.get(match[0].strip("`"), match[0].strip("`")), message)
