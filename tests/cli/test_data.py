import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from softlabel.cli.data import app
from softlabel.data import catalogue, sources
from softlabel.data.catalogue import RawFile, Source
from softlabel.errors import InputError, SoftlabelError, UnavailableError

RAW = b"the content"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of `digits` and the small set `tiny`, and a cache folder of the test's own."""

    def place(at, entry, folder, watch):
        (folder / "one.bin").write_bytes(RAW)

    file = RawFile("one.bin", len(RAW), hashlib.sha256(RAW).hexdigest())
    tiny = replace(catalogue.MNIST, name="tiny", files=(file,), sources=(Source("fake", "here"),))
    for name in catalogue.CATALOGUE.keys() - {"digits"}:
        monkeypatch.delitem(catalogue.CATALOGUE, name)
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", tiny)
    monkeypatch.setitem(sources.PLACERS, "fake", place)
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def document(*arguments: str):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_list(home):
    result = run("list")
    assert result.exit_code == 0
    assert "not fetched" in result.stdout
    assert "tiny comes from: fake here" in result.stdout
    listed = {row["name"]: row for row in document("list")["datasets"]}
    assert listed["digits"]["state"] == "embedded"
    assert listed["tiny"]["state"] == "not fetched"
    assert listed["tiny"]["bytes"] == len(RAW)
    run("fetch", "tiny")
    assert [row["state"] for row in document("list")["datasets"]] == ["embedded", "cached"]


def test_fetch(home):
    result = run("fetch", "tiny", "digits")
    assert result.exit_code == 0
    assert f"tiny: fetched from fake here into {home / 'tiny'}, checksums right" in result.stdout
    assert "digits: embedded" in result.stdout
    assert (home / "tiny" / "one.bin").read_bytes() == RAW
    assert "already in" in run("fetch", "tiny").stdout
    repeated = document("fetch", "--all")["datasets"]
    assert [(row["name"], row["state"]) for row in repeated] == [("digits", "embedded"), ("tiny", "cached")]


def test_json_has_stdout_to_itself_while_progress_goes_to_stderr(home):
    result = run("fetch", "tiny", "--json")
    assert json.loads(result.stdout)["datasets"][0]["source"] == "fake here"
    assert "fetching tiny" in result.stderr


def test_verify(home):
    run("fetch", "tiny")
    assert run("verify", "tiny").exit_code == 0
    assert "one.bin" in run("verify").stdout
    assert document("verify", "tiny")["datasets"] == [
        {"name": "tiny", "holds": True, "files": [{"name": "one.bin", "state": "right"}]}
    ]


@pytest.mark.parametrize(
    ("spoil", "state"), [(b"THE CONTENT", "corrupted"), (b"short", "corrupted"), (None, "missing")]
)
def test_verify_finds_what_is_wrong_and_names_the_remedy(home, spoil, state):
    run("fetch", "tiny")
    if spoil is None:
        (home / "tiny" / "one.bin").unlink()
    else:
        (home / "tiny" / "one.bin").write_bytes(spoil)
    result = run("verify", "tiny", "--json")
    assert json.loads(result.stdout)["datasets"][0]["holds"] is False
    assert isinstance(result.exception, SoftlabelError)
    assert not isinstance(result.exception, InputError)
    assert str(result.exception) == f"tiny: one.bin is {state}; run softlabel data fetch tiny"
    run("fetch", "tiny")
    assert run("verify", "tiny").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch", "tinny"], "unknown data set 'tinny': did you mean 'tiny'"),
        (["fetch", "tiny", "nonsense"], "unknown data set 'nonsense'"),
        (["fetch"], "no data set is named: name one of digits, tiny, or give --all"),
        (["verify", "tinny"], "unknown data set 'tinny'"),
    ],
)
def test_what_is_wrong_with_the_input(home, arguments, message):
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert result.stdout == ""
    assert not home.exists()


def test_no_source_answers(home, monkeypatch):
    def fail(at, entry, folder, watch):
        raise sources.SourceFailed("could not be reached")

    monkeypatch.setitem(sources.PLACERS, "fake", fail)
    result = run("fetch", "tiny", "--json")
    assert isinstance(result.exception, UnavailableError)
    assert "fake here: could not be reached" in str(result.exception)
    assert result.stdout == ""


@pytest.mark.parametrize("verb", ["list", "fetch", "verify"])
def test_every_verb_helps_with_an_example(verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"softlabel data {verb}" in result.stdout
    assert "--json" in result.stdout
