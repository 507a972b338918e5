"""Commands that are run up to where their work begins."""

from collections.abc import Callable

import pytest
import typer

from softlabel.cli.main import app, run
from softlabel.lab import driver
from softlabel.networks import pgd, privileged
from softlabel.networks.deep import training as deep_training
from softlabel.theory.margin import certified
from tests.cli.option_cases import write_data


class WorkBegan(BaseException):
    """All settings were accepted: what follows is work."""


@pytest.fixture(scope="module")
def tiny_data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.fixture
def call(tiny_data, monkeypatch, capsys) -> Callable[[list[str]], tuple[int | None, str]]:
    """Runs a command up to where its work begins; its exit code (None: it began) and its last line on stderr."""

    def begin(*_: object, **__: object) -> None:
        raise WorkBegan

    command = typer.main.get_command(app)
    monkeypatch.setattr(typer.main, "get_command", lambda _: command)  # made once: it takes as long as the rest
    monkeypatch.chdir(tiny_data)
    monkeypatch.setattr(pgd.StackTraining, "advance", begin)
    monkeypatch.setattr(privileged._PrivilegedTraining, "advance", begin)
    monkeypatch.setattr(certified._Search, "run", begin)
    monkeypatch.setattr(deep_training.Trainer, "_epoch", begin)
    monkeypatch.setattr(driver, "_run_stage", begin)

    def call(words: list[str]) -> tuple[int | None, str]:
        try:
            code = run(words)
        except WorkBegan:
            code = None
        return code, capsys.readouterr().err

    return call
