"""Mutated files and drawn tables and options: refused in one line with exit code 2, or read for what they are.

Each family goes on until it has seen so many *distinct bad* inputs (those that are refused), and every input, bad or
harmless, has to leave no traceback, hang, lost memory, stray file, socket or loaded code behind (`Ran.faults`).
`make test` sees at least 300 bad inputs, `make test-slow` at least 2,500.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults import mutations
from tests.faults.corpus import TINY, make_corpus
from tests.faults.watched import Ran, Watched, check

Change = Callable[[bytes, Random], bytes]
TRIES = 8  # inputs drawn for each bad one that is wanted, at most


@dataclass(frozen=True)
class Family:
    """Files of one kind: the valid one, how it is spoiled, the commands that read it, how many bad ones are wanted."""

    file: str
    change: Change
    commands: tuple[str, ...]
    bad: int
    bad_slow: int
    same: bool = False  # read without complaint, it must give the answer of the valid file


READ_TABLE = (
    "train {file} --label sick --width 2 --seeds 1 --epochs 1 --json",
    "predict student.safetensors {file} --json",
    "doctor {file} --label sick --json",
)
READ_ARRAYS = (
    "train {file} --width 2 --seeds 1 --epochs 1 --json",
    "predict student.safetensors {file} --json",
    "doctor {file} --json",
)
READ_ONNX = (
    "predict {file} x.npy --json",
    "predict {file} table.csv --json",
)
DISTILL = "distill {file} --teacher logits.npy --student vgg1+3 --width-multiplier 0.02 --epochs 1 --json"
TEACH = f"verdict data.csv --label sick --drop patient --teacher {{file}} {' '.join(TINY)} --json --out out-{{n}}"
FAMILIES = {
    "csv cells": Family("table.csv", mutations.change_table, READ_TABLE, 30, 250),
    "csv bytes": Family("table.csv", mutations.change_bytes, READ_TABLE, 15, 250),
    "parquet columns": Family("table.parquet", mutations.change_parquet, READ_TABLE, 20, 60),
    "parquet bytes": Family("table.parquet", mutations.change_bytes, READ_TABLE, 20, 250),
    "npz members": Family("xy.npz", mutations.change_npz, READ_ARRAYS, 20, 150),
    "npz bytes": Family("xy.npz", mutations.change_bytes, READ_ARRAYS, 15, 200),
    "npy bytes": Family("x.npy", mutations.change_bytes, READ_ARRAYS[1:], 15, 150),
    "images": Family("images.npz", mutations.change_npz, (DISTILL + " --out out-{n}",), 8, 80),
    "onnx graphs": Family("teacher.onnx", mutations.change_onnx, READ_ONNX, 20, 90),
    "onnx bytes": Family("teacher.onnx", mutations.change_bytes, READ_ONNX, 20, 250),
    "onnx teachers": Family("teacher.onnx", mutations.change_onnx, (TEACH,), 5, 30),
    "our onnx": Family("student.onnx", mutations.change_bytes, READ_ONNX, 10, 150, same=True),
    "safetensors headers": Family("student.safetensors", mutations.change_safetensors, READ_ONNX, 15, 150, same=True),
    "safetensors bytes": Family("student.safetensors", mutations.change_bytes, READ_ONNX, 15, 200, same=True),
    "soft labels": Family("labels.csv", mutations.change_table, (TEACH + " --id patient",), 10, 100),
}  # fmt: skip
LEDGERS = ("results show {file} --json", "results export {file} --to out/cells.csv --json", "report {file} --json",
           "doctor {file} --json", "results list {parent} --json")  # fmt: skip
LEDGER_BAD = (40, 250)
OPTIONS_BAD, TABLES_BAD = (40, 250), (30, 250)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("fuzz") / "place")


@pytest.fixture(scope="module")
def watched(place):
    with Watched(place) as watched:
        yield watched


@contextmanager
def spoiled(place: Path, name: str, content: bytes) -> Iterator[Path]:
    """A file of the name's kind with that content, for a while."""
    path = place / f"spoiled{Path(name).suffix}"
    path.write_bytes(content)
    yield path
    path.unlink()


def fuzz_family(watched: Watched, place: Path, name: str, wanted: int) -> list[Ran]:
    """Run until so many distinct bad inputs were refused; returns all runs."""
    family, dice = FAMILIES[name], Random(f"{name} {wanted}")
    valid = (place / family.file).read_bytes()
    truth = {
        command: watched.run(*command.format(file=family.file, n="valid").split())
        for command in family.commands
        if family.same
    }
    ran: list[Ran] = []
    bad: set[str] = set()
    for number in range(TRIES * wanted):
        content = family.change(valid, dice)
        if content == valid:
            continue
        command = family.commands[number % len(family.commands)]
        with spoiled(place, family.file, content) as path:
            one = watched.run(*command.format(file=path.name, n=number).split())
        clear_out(place)
        ran.append(one)
        if one.code == 2:
            bad.add(hashlib.sha256(content).hexdigest())
        elif family.same and one.code == 0:
            assert answers(one) == answers(truth[command]), f"{one} is not what the valid file gives"
        if len(bad) >= wanted:
            break
    assert len(bad) >= wanted, f"{name}: only {len(bad)} bad inputs among {len(ran)}"
    return ran


def answers(ran: Ran) -> list:
    return json.loads(ran.out)["predictions"]


def clear_out(place: Path) -> None:
    for path in place.glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("name", FAMILIES)
def test_mutated_files(watched, place, name):
    check(fuzz_family(watched, place, name, FAMILIES[name].bad))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_many_mutated_files(watched, place, name):
    check(fuzz_family(watched, place, name, FAMILIES[name].bad_slow))


def fuzz_ledgers(watched: Watched, place: Path, wanted: int) -> list[Ran]:
    """Ledgers spoiled as bytes and as databases; one that is read must say what the valid one says."""
    dice = Random(f"ledgers {wanted}")
    run_dir = place / "spoiled" / "run"
    ran: list[Ran] = []
    bad: set[str] = set()
    truth: dict[str, str] = {}
    for number in range(-len(LEDGERS), TRIES * wanted):
        shutil.rmtree(run_dir.parent, ignore_errors=True)
        shutil.copytree(place / "run", run_dir)
        ledger = run_dir / "ledger.sqlite"
        if number >= 0 and number % 2:
            mutations.change_ledger(ledger, dice)
        elif number >= 0:
            ledger.write_bytes(mutations.change_bytes(ledger.read_bytes(), dice))
        content = ledger.read_bytes()
        command = LEDGERS[number % len(LEDGERS)]
        words = command.format(file="spoiled/run", parent="spoiled").split()
        one = watched.run(*words)
        one.touched = [name for name in one.touched if not name.startswith(str(run_dir)) or "ledger" in name]
        clear_out(place)
        assert ledger.read_bytes() == content, f"{one} changed the ledger"
        if number < 0:
            truth[command] = one.out
            continue
        ran.append(one)
        if one.code == 2 or named_damage(one):
            bad.add(hashlib.sha256(content).hexdigest())
        elif one.code == 0:
            assert one.out == truth[command], f"{one} is not what the valid ledger gives"
        if len(bad) >= wanted:
            break
    shutil.rmtree(run_dir.parent)
    assert len(bad) >= wanted, f"only {len(bad)} bad ledgers among {len(ran)}"
    return ran


def named_damage(ran: Ran) -> bool:
    """`results show` and `results list` go on and name the damage instead."""
    if ran.code != 0 or ran.words[:2] not in (["results", "show"], ["results", "list"]):
        return False
    document = json.loads(ran.out)
    return any(run.get("problem") for run in document.get("runs", [document]))


def test_mutated_ledgers(watched, place):
    check(fuzz_ledgers(watched, place, LEDGER_BAD[0]))


@pytest.mark.slow
def test_many_mutated_ledgers(watched, place):
    check(fuzz_ledgers(watched, place, LEDGER_BAD[1]))


ODD = "-1 0 1e300 1e-300 inf -inf nan 1_0 ٣ 0x10 2147483648 9223372036854775808 18446744073709551616".split()
NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([*ODD, "", " "])).map(str)
TEXTS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=12)
OPTIONS = {
    "bounds --json": "gamma epsilon n delta c kappa alpha",
    "margin table.csv --label sick --time-limit 1 --json": "rtol confidence kappa seed rows label task scale",
    "audit table.csv --label sick --time-limit 1 --iterations 2 --width 8 --json": "radius learning-rate epsilon "
    "delta kappa seed arm",
    "train table.csv --label sick --width 2 --seeds 1 --epochs 1 --json": "temperature smoothing radius "
    "learning-rate seed init drop classes leave-out",
    TEACH.format(file="student.onnx", n=""): "width metric equivalence confidence seed scale teacher-kind",
    "plan data.csv --label sick --teacher student.onnx --epochs 1 --json --out out": "accuracy widths share confidence "
    "seed family",
    DISTILL.format(file="images.npz") + " --out out": "width-multiplier temperature soft-share smoothing "
    "learning-rate weight-decay seed student precision",
    "dynamics table.csv --label sick --rows 20 --width 4 --teacher-width 8 --iterations 5 --json": "strength "
    "init-scale learning-rate seed activation init",
    "reproduce table1 --data digits --json --out out": "preset executor workers threads scheduler settings",
    "predict student.onnx table.csv --json": "label id drop",
}  # fmt: skip


def drawn_options(watched: Watched, place: Path, wanted: int) -> list[Ran]:
    """One or two options of a verb with drawn values: mostly nonsense."""
    ran: list[Ran] = []
    bad: set[tuple[str, ...]] = set()

    @settings(max_examples=3 * wanted, deadline=None, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        command = data.draw(st.sampled_from(sorted(OPTIONS)))
        words = command.split()
        names = st.sampled_from(OPTIONS[command].split())
        for name in data.draw(st.lists(names, min_size=1, max_size=2, unique=True)):
            words += [f"--{name}", data.draw(st.one_of(NUMBERS, TEXTS))]
        if len(bad) >= wanted:
            return
        one = watched.run(*words)
        clear_out(place)
        ran.append(one)
        if one.code == 2:
            bad.add(tuple(words))

    draw()
    assert len(bad) >= wanted, f"only {len(bad)} bad commands among {len(ran)}"
    return ran


def drawn_tables(watched: Watched, place: Path, wanted: int) -> list[Ran]:
    """Tables of drawn cells under drawn names."""
    ran: list[Ran] = []
    bad: set[str] = set()
    cell = st.one_of(TEXTS, NUMBERS, st.sampled_from(["", "NA", "yes", "no", "1", "0"]))

    @settings(max_examples=3 * wanted, deadline=None, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(
        st.lists(st.one_of(TEXTS, st.sampled_from(["sick", "age", "blood", "height"])), min_size=1, max_size=5),
        st.lists(st.lists(cell, min_size=0, max_size=5), max_size=30),
        st.sampled_from(READ_TABLE),
        st.sampled_from([",", ",", ",", ";", "\t"]),
    )
    def draw(names: list[str], rows: list[list[str]], command: str, sign: str) -> None:
        if len(bad) >= wanted:
            return
        text = "\n".join(sign.join(cells) for cells in [names, *rows])
        with spoiled(place, "table.csv", text.encode()) as path:
            one = watched.run(*command.format(file=path.name).split())
        ran.append(one)
        if one.code == 2:
            bad.add(text)

    draw()
    assert len(bad) >= wanted, f"only {len(bad)} bad tables among {len(ran)}"
    return ran


def test_drawn_options(watched, place):
    check(drawn_options(watched, place, OPTIONS_BAD[0]))


@pytest.mark.slow
def test_many_drawn_options(watched, place):
    check(drawn_options(watched, place, OPTIONS_BAD[1]))


def test_drawn_tables(watched, place):
    check(drawn_tables(watched, place, TABLES_BAD[0]))


@pytest.mark.slow
def test_many_drawn_tables(watched, place):
    check(drawn_tables(watched, place, TABLES_BAD[1]))


def test_there_are_enough_of_them():
    for place, least in enumerate((300, 2500)):
        files = sum((family.bad, family.bad_slow)[place] for family in FAMILIES.values())
        assert files + LEDGER_BAD[place] + OPTIONS_BAD[place] + TABLES_BAD[place] >= least
