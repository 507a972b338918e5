"""What verbs leave behind and whom they speak to: nothing outside `--out` and the cache, nobody but this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.corpus import TINY, make_corpus
from tests.faults.test_kill_verbs import SETTINGS

LOOPBACK = ("127.", "::1", "localhost")
VERBS = {
    "data": "data list",
    "bounds": "bounds --gamma 0.1 --epsilon 0.1 --n 100 --figure out/bounds.png",
    "margin": "margin table.csv --label sick --time-limit 2 --rtol 0.5 --out out",
    "audit": "audit table.csv --label sick --time-limit 2 --iterations 3 --width 8",
    "dynamics": "dynamics table.csv --label sick --rows 20 --width 4 --teacher-width 8 --iterations 5 --out out",
    "train": "train table.csv --label sick --width 2 --seeds 1 --epochs 1 --out out",
    "verdict": f"verdict table.csv --label sick --teacher teacher.onnx {' '.join(TINY)} --out out",
    "verdict, auto": f"verdict table.csv --label sick {' '.join(TINY)} --out out",
    "plan": "plan table.csv --label sick --teacher teacher.onnx --accuracy 0.6 --widths 2,4 --seeds 3 --confirm 0 "
    "--epochs 1 --out out",
    "distill": "distill images.npz --teacher logits.npy --student vgg1+3 --width-multiplier 0.02 --epochs 1 --out out",
    "predict": "predict teacher.onnx x.npy --out out/predictions.csv",
    "doctor": "doctor table.csv --label sick",
    "doctor, run": "doctor run",
    "reproduce": "reproduce table1 --data digits --settings settings.toml --executor serial --out out",
    "reproduce, dask": "reproduce table1 --data digits --settings settings.toml --executor dask --workers 1 --out out",
    "results": "results list .",
    "results, show": "results show run",
    "results, export": "results export run --to out/cells.csv",
    "cite": "cite run",
}  # fmt: skip
LONG = ("reproduce", "reproduce, dask", "verdict, auto", "plan")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = make_corpus(tmp_path_factory.mktemp("footprint") / "place")
    (place / "settings.toml").write_text(SETTINGS)
    return place


@pytest.fixture(scope="module")
def spy(tmp_path_factory):
    """A library that writes down every address asked for; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = tmp_path_factory.mktemp("spy") / "sockets.so"
    source = Path(__file__).with_name("sockets.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


def footprint(place: Path, spy: Path | None, command: str, tmp_path: Path) -> tuple[list[str], list[str]]:
    """Run the command in a home of its own; returns files that it left where it should not, and addresses asked for."""
    home, temporary, seen = tmp_path / "home", tmp_path / "temporary", tmp_path / "seen"
    shutil.rmtree(place / "out", ignore_errors=True)
    for directory in (home, temporary, place / "out"):
        directory.mkdir()
    before = files(place)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SOFTLABEL"))},
        "HOME": str(home), "TMPDIR": str(temporary), "SOCKETS_SEEN": str(seen), "OMP_NUM_THREADS": "1",
    } | ({} if spy is None else {"LD_PRELOAD": str(spy)})  # fmt: skip
    words = [sys.executable, "-B", "-m", "softlabel", *command.split()]
    done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    left = [name for name, state in files(place).items() if before.get(name) != state and "/out/" not in name]
    caches = (str(home / ".cache/softlabel"), str(home / ".cache/matplotlib"))  # matplotlib keeps its list of fonts
    left += [name for name in [*files(home), *files(temporary)] if not name.startswith(caches)]
    asked = seen.read_text().splitlines() if seen.exists() else []
    return left, [line for line in asked if not line.split(" ", 1)[1].startswith(LOOPBACK)]


def files(directory: Path) -> dict[str, tuple[int, int]]:
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=pytest.mark.slow) if verb in LONG else verb for verb in VERBS]
)
def test_nothing_is_left_elsewhere_and_nobody_is_asked(place, spy, verb, tmp_path):
    left, asked = footprint(place, spy, VERBS[verb], tmp_path)
    assert left == []
    assert asked == []


def test_the_spy_sees_native_code(spy, tmp_path):
    """Without this the test above could not fail."""
    if spy is None:
        pytest.skip("no C compiler: only the files are checked here")
    seen = tmp_path / "seen"
    program = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.9', 9))"
    environment = {**os.environ, "LD_PRELOAD": str(spy), "SOCKETS_SEEN": str(seen)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert seen.read_text() == "connect 127.0.0.9\n"
