"""What the command line says around the explorer; the explorer itself has tests of its own."""

import json
import sys

import pytest

import softlabel.app
from softlabel.cli.main import run

URL = "http://127.0.0.1:8765/"


@pytest.fixture
def calls(monkeypatch):
    """An explorer that is ready at once, and the arguments that it was called with."""
    made = []

    def explore(directory, *, ready, **settings):
        made.append({"directory": str(directory), **settings})
        ready(URL)

    monkeypatch.setattr(softlabel.app, "explore", explore)
    return made


def test_the_address_is_the_result(calls, capsys):
    assert run(["explore"]) == 0
    assert capsys.readouterr() == (f"softlabel explorer: {URL}\n", "Ctrl-C ends it.\n")
    assert calls == [{"directory": "runs", "port": None, "host": "127.0.0.1", "browser": True}]


def test_the_address_as_json(calls, capsys):
    assert run(["explore", "elsewhere", "--port", "9000", "--host", "0.0.0.0", "--no-browser", "--json"]) == 0
    out, errors = capsys.readouterr()
    assert json.loads(out) == {"url": URL, "runs": "elsewhere"}
    assert errors == "Ctrl-C ends it.\n"
    assert calls == [{"directory": "elsewhere", "port": 9000, "host": "0.0.0.0", "browser": False}]


def test_without_nicegui_the_message_says_how_to_install_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NICEGUI_STORAGE_PATH", str(tmp_path))  # which the explorer sets
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert run(["explore", str(tmp_path / "runs"), "--port", "0", "--no-browser"]) == 1
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.splitlines() == [
        "softlabel: the explorer needs NiceGUI, which is not installed: pip install 'softlabel[explorer]'"
    ]
    assert not (tmp_path / "runs").exists()


def test_another_host_than_this_machine_is_warned_about(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("softlabel.app.server._serve", lambda runs, address, token, listener, announce: announce())
    assert run(["explore", str(tmp_path), "--port", "0", "--host", "0.0.0.0", "--no-browser"]) == 0
    out, errors = capsys.readouterr()
    assert "/?token=" in out
    assert "everyone on the network of '0.0.0.0' who has the token can read the runs" in errors
    assert "connections are not encrypted" in errors
    assert run(["explore", str(tmp_path), "--port", "0", "--no-browser"]) == 0
    out, errors = capsys.readouterr()
    assert "token" not in out
    assert errors == "Ctrl-C ends it.\n"
