"""Commands run in a watched process: exit code, output, memory, files touched, sockets, pickles, processes.

One process serves many commands, because importing everything takes seconds. The parent allows each command so many
seconds and ends the process (by its own id) if it hangs; the next command gets a fresh one.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]
SECONDS = 60.0  # for one command; what hangs, hangs longer
MEMORY = 1500  # resident megabytes that no command of these tests may exceed


@dataclass
class Ran:
    """What a command did.

    touched     files written, made, renamed or removed outside the allowed places
    sockets     addresses asked for that are not of this machine
    loaded      pickles loaded, processes started
    """

    words: list[str]
    code: int | None
    out: str
    err: str
    megabytes: float
    touched: list[str] = field(default_factory=list)
    sockets: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    @property
    def hung(self) -> bool:
        return self.code is None

    def faults(self) -> list[str]:
        """Everything that no input whatever may cause; empty when the command behaved."""
        faults = []
        if self.hung:
            return [f"did not end within {SECONDS:.0f} s, or took its process with it"]
        lines = self.err.strip().splitlines()
        if "Traceback (most recent call last)" in self.err + self.out:
            faults.append("a traceback")
        if any(line.startswith("softlabel: unexpected") for line in lines):
            faults.append("an unexpected error")
        if self.code not in (0, 2):
            faults.append(f"exit code {self.code}")
        if self.code == 2:
            if self.out:
                faults.append("something on stdout although it was refused")
            if sum(line.startswith("softlabel: ") for line in lines) != 1 or not lines[-1].startswith("softlabel: "):
                faults.append("not one line that says why")
        if "onnxruntime" in self.err and "[E:" in self.err:
            faults.append("a library's own log")
        if any((ord(sign) < 32 and sign not in "\n\t") or 127 <= ord(sign) < 160 for sign in self.err + self.out):
            faults.append("control characters")
        if self.code == 0 and "--json" in self.words:
            try:
                json.loads(self.out, parse_constant=_no_constant)
            except ValueError:
                faults.append("stdout is not one JSON document")
        if self.megabytes > MEMORY:
            faults.append(f"{self.megabytes:.0f} MB of memory")
        for what, names in (("touched", self.touched), ("connected", self.sockets), ("loaded", self.loaded)):
            if names:
                faults.append(f"{what} {names[:3]}")
        return faults

    def __str__(self) -> str:
        return f"{' '.join(self.words)!r} → {self.code}\n  stdout: {self.out[:400]}\n  stderr: {self.err[-600:]}"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class Watched:
    """Runs commands in `place`; only `place`/out… and the caches there may be written."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "home").mkdir(parents=True, exist_ok=True)
        (place / "temporary" / "files").mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._end()

    def run(self, *words: object, seconds: float = SECONDS) -> Ran:
        """Run one command and say what it did."""
        argv = [str(word) for word in words]
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(argv).encode() + b"\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        answer = process.stdout.readline() if ready else b""
        if not answer:
            out, err = (self._text(name) for name in ("stdout", "stderr"))
            self._end()
            return Ran(argv, None, out, err, 0.0)
        done = json.loads(answer)
        return Ran(argv, done["code"], self._text("stdout"), self._text("stderr"), done["megabytes"],
                   done["touched"], done["sockets"], done["loaded"])  # fmt: skip

    def _text(self, name: str) -> str:
        return (self.place / "temporary" / name).read_text(encoding="utf-8", errors="backslashreplace")

    def _running(self) -> subprocess.Popen:
        if self._process is None or self._process.poll() is not None:
            home = self.place / "home"
            inherited = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
            environment = {
                **inherited,
                "HOME": str(home),
                "XDG_CACHE_HOME": str(home / ".cache"),
                "TMPDIR": str(self.place / "temporary" / "files"),
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
            }
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.server", str(self.place)],
                cwd=self.place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            assert self._process.stdout is not None
            assert self._process.stdout.readline() == b"ready\n"
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def check(ran: Sequence[Ran]) -> None:
    """Fail with everything that went wrong, a few examples of each kind."""
    kinds: dict[str, list[Ran]] = {}
    for one in ran:
        for fault in one.faults():
            kinds.setdefault(fault, []).append(one)
    messages = [f"{fault} ({len(cases)} times), e.g. {cases[0]}" for fault, cases in kinds.items()]
    assert not messages, "\n".join(messages)
