"""CPUs that a process may use, with control groups of both versions as files, and settings for thread pools."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from softlabel import processors
from softlabel.processors import available_cpus, calm_children, calm_threads, cpu_quota


class Machine:
    """The files in which Linux describes the control groups of a process."""

    def __init__(self, folder: Path, version: int, path: str = "/", root: str = "/") -> None:
        self.groups, self.process = folder / "groups", folder / "proc"
        self.process.mkdir()
        self.groups.mkdir()
        kind, options = ("cgroup2", "rw") if version == 2 else ("cgroup", "rw,cpu,cpuacct")
        line = f"0::{path}" if version == 2 else f"4:cpu,cpuacct:{path}\n3:memory:/elsewhere"
        (self.process / "cgroup").write_text(f"{line}\n")
        (self.process / "mountinfo").write_text(
            "29 1 8:1 / / rw - ext4 /dev/sda rw\n"
            f"31 29 0:28 {root} {self.groups} rw,nosuid shared:4 - {kind} {kind} {options}\n"
        )

    def limit(self, group: str, **files: str) -> None:
        directory = self.groups / group
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name.replace("__", ".")).write_text(f"{text}\n")


def test_without_control_groups_there_is_no_quota(tmp_path):
    assert cpu_quota(tmp_path) is None


def test_a_quota_of_version_2_is_that_of_the_group_or_of_one_around_it(tmp_path):
    machine = Machine(tmp_path, 2, "/user/session")
    machine.limit("user/session", cpu__max="max 100000")
    assert cpu_quota(machine.process) is None
    machine.limit("user", cpu__max="150000 100000")
    assert cpu_quota(machine.process) == 1.5
    machine.limit("user/session", cpu__max="50000 100000")
    assert cpu_quota(machine.process) == 0.5
    machine.limit("user/other", cpu__max="1000 100000")
    assert cpu_quota(machine.process) == 0.5


def test_a_quota_of_version_1(tmp_path):
    machine = Machine(tmp_path, 1, "/job")
    machine.limit("job", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert cpu_quota(machine.process) is None
    machine.limit("job", cpu__cfs_quota_us="300000")
    assert cpu_quota(machine.process) == 3.0


def test_a_container_that_sees_only_its_own_group(tmp_path):
    """Its path is that of the host, but the mount begins at its group."""
    machine = Machine(tmp_path, 1, "/docker/0a1b", root="/docker/0a1b")
    machine.limit(".", cpu__cfs_quota_us="200000", cpu__cfs_period_us="100000")
    assert cpu_quota(machine.process) == 2.0


@pytest.mark.parametrize("text", ["", "max", "200000", "many 100000", "200000 0", "\x00\xff 1"])
def test_damaged_files_are_no_quota(tmp_path, text):
    machine = Machine(tmp_path, 2)
    machine.limit(".", cpu__max=text)
    assert cpu_quota(machine.process) is None


@pytest.mark.parametrize(("allowed", "quota", "cpus"), [(8, None, 8), (8, 2.5, 2), (2, 6.0, 2), (8, 0.3, 1)])
def test_the_smaller_of_affinity_and_quota_counts(monkeypatch, allowed, quota, cpus):
    monkeypatch.setattr(processors, "allowed_cpus", lambda: allowed)
    monkeypatch.setattr(processors, "cpu_quota", lambda: quota)
    assert available_cpus() == cpus
    added = calm_threads({})
    assert added.get("OMP_NUM_THREADS") == (str(cpus) if cpus < allowed else None)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_affinity_of_a_real_process_counts():
    first = min(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, {{{first}}})\n"
        "from softlabel.processors import available_cpus; print(available_cpus())"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_what_the_user_has_set_stays(monkeypatch, name):
    monkeypatch.setattr(processors, "cpu_quota", lambda: None)
    environment = {name: "7", "OMP_NUM_THREADS": "5"}
    assert calm_threads(environment) == {}
    assert environment == {name: "7", "OMP_NUM_THREADS": "5"}


def test_children_wait_without_spinning_and_this_process_stays_as_it_is(monkeypatch):
    for name in processors.WAITING:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    code = "import os; print(os.environ.get('OMP_WAIT_POLICY'))"
    with calm_children():
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "PASSIVE\n"
    assert dict(os.environ) == before


def test_the_command_line_sets_it_before_heavy_libraries_are_loaded():
    code = (
        "import os, sys; os.environ.pop('OMP_WAIT_POLICY', None); sys.argv = ['softlabel', '--version']\n"
        "from softlabel.cli import main\n"
        "assert not {'torch', 'numpy', 'sklearn'} & set(sys.modules)\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(os.environ['OMP_WAIT_POLICY'])"
    )
    environment = {name: value for name, value in os.environ.items() if name not in processors.WAITING}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert shown.stdout.endswith("PASSIVE\n")
