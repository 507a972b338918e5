"""The wheel is complete: installed into an empty environment it answers a question, without the source tree."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import softlabel

ROOT = Path(__file__).parent.parent


def run(*words: str | Path, **options: object) -> str:
    """Run a command outside the source tree and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False,
        env=environment | {"OMP_NUM_THREADS": "1"}, **options,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def build_wheel(out: Path) -> Path:
    """Build the wheel with the installed build backend; nothing is downloaded."""
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", out, ROOT)
    (wheel,) = out.glob("softlabel-*.whl")
    return wheel


def install(wheel: Path, directory: Path) -> Path:
    """Install the wheel into a new environment that finds the dependencies of this one; return its programs."""
    run(sys.executable, "-m", "venv", "--without-pip", directory)
    programs = directory / "bin"
    run(sys.executable, "-m", "pip", "--python", programs / "python", "install", "-q", "--no-deps", "--no-index", wheel)
    here = sysconfig.get_paths()
    (packages,) = directory.glob("lib/python*/site-packages")
    # Only the directories are added: the .pth files in them, one of which points to the source tree, are not read.
    (packages / "dependencies.pth").write_text("\n".join(dict.fromkeys((here["purelib"], here["platlib"]))) + "\n")
    return programs


def test_the_wheel_is_complete_and_works(tmp_path):
    wheel = build_wheel(tmp_path)
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = [path for path in (ROOT / "src" / "softlabel").glob("**/*") if path.is_file()]
    assert {str(path.relative_to(ROOT / "src")) for path in sources if path.parent.name != "__pycache__"} <= names
    assert {"softlabel/py.typed", "softlabel/__init__.pyi"} <= names
    assert all(name.startswith(("softlabel/", f"softlabel-{softlabel.__version__}.dist-info/")) for name in names)

    programs = install(wheel, tmp_path / "environment")
    code = "import softlabel, importlib.metadata as m; print(softlabel.__file__, m.version('softlabel'))"
    file, version = run(programs / "python", "-c", code, cwd=tmp_path).split()
    assert Path(file).is_relative_to(tmp_path)
    assert version == softlabel.__version__
    assert run(programs / "softlabel", "--version").strip() == f"softlabel {version}"

    options = "--seeds 5 --width 4 --epochs 4 --json --out runs/verdict"
    answer = json.loads(run(programs / "softlabel", "verdict", "digits", *options.split(), cwd=tmp_path))
    assert answer["verdict"] in {"soft wins", "hard wins", "no difference", "undecided"}
    assert answer["runs"] == 5
    assert (tmp_path / "runs" / "verdict" / "report.html").is_file()


def test_the_version_has_one_source():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r"^version\s*=", text, re.MULTILINE) is None
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version:", citation, re.MULTILINE) is None
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:\.dev\d+)?", softlabel.__version__)
