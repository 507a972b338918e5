"""Where results go is checked before the work: nothing is lost, and nothing is created on refusal."""

import pytest

from softlabel.lab import LEDGER, Ledger
from tests.cli.option_cases import COMMANDS, base

ENDINGS = {"bounds": "/f.png", "predict": "/p.csv", "results export": "/c.csv"}  # they write a file, not a folder
OPTIONS = [
    (verb, max(each.opts, key=len))
    for verb, command in COMMANDS.items()
    for each in command.params
    if each.name in ("out", "to", "figure", "save")
]


@pytest.mark.parametrize("place", ["taken", "taken/below", "/proc/nothing", "nowhere", "x" * 300])
@pytest.mark.parametrize(("verb", "option"), OPTIONS)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(verb, option, place, call, tiny_data):
    (tiny_data / "taken").write_text("x")
    if not (tiny_data / "nowhere").is_symlink():
        (tiny_data / "nowhere").symlink_to("missing/folder")
        (tiny_data / "run").mkdir()
        Ledger(tiny_data / "run" / LEDGER).close()
    words = [word if word != "nowhere" else "run" for word in base(verb)]
    before = sorted(tiny_data.rglob("*"))
    code, error = call([*verb.split(), *words, f"{option}={place}{ENDINGS.get(verb, '')}"])
    assert code == 2
    assert error.splitlines()[-1].startswith(f"softlabel: {option} must be a ")
    assert sorted(tiny_data.rglob("*")) == before


def test_every_verb_that_writes_is_here():
    assert {verb for verb, _ in OPTIONS} == {
        "bounds", "distill", "dynamics", "margin", "plan", "predict", "reproduce", "results export", "train", "verdict",
    }  # fmt: skip


@pytest.mark.parametrize("verb", ["verdict", "plan"])
def test_a_default_folder_that_cannot_be_made_is_refused_before_the_work(verb, call, tiny_data, tmp_path, monkeypatch):
    for name in ("tiny.csv", "labels.csv"):
        (tmp_path / name).write_bytes((tiny_data / name).read_bytes())
    (tmp_path / "runs").write_text("x")
    monkeypatch.chdir(tmp_path)
    code, error = call([verb, *base(verb)])
    assert code == 2
    assert "'runs' is a file" in error.splitlines()[-1]
