"""Processes of the explorer: messages, pause, stop, and that none of them outlives it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from softlabel.app.children import Child, Children
from softlabel.errors import InputError

WAIT = 60.0  # the first process of a test loads the library


def count(line, most):
    for number in range(most):
        line.wait_while_paused()
        line.send("number", number)
        time.sleep(0.01)


def fail(line, error):
    raise error


def leave(line):
    os._exit(3)


def with_a_process_of_its_own(line):
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    line.send("pid", started.pid)
    time.sleep(600)


def collect(child, until=lambda messages: False):
    """All messages up to the last one, or until the condition holds."""
    messages, end = [], time.monotonic() + WAIT
    while not child.ended and not until(messages):
        assert time.monotonic() < end, messages
        messages += child.messages()
        time.sleep(0.005)
    return messages


def gone(pid):
    end = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_messages_arrive_in_order():
    messages = collect(Child(count, 5))
    assert messages == [*(("number", k) for k in range(5)), ("done", None)]


def test_pause_and_resume():
    child = Child(count, 2000)
    collect(child, lambda messages: len(messages) > 3)
    child.say("pause")
    time.sleep(0.3)
    child.messages()
    time.sleep(0.3)
    assert child.messages() == []
    child.say("resume")
    assert collect(child, lambda messages: len(messages) > 3)
    child.close()


def test_stop():
    child = Child(count, 100_000)
    collect(child, lambda messages: len(messages) > 3)
    child.say("stop")
    assert collect(child)[-1] == ("stopped", None)
    assert gone(child.pid)


def test_stop_while_paused():
    child = Child(count, 100_000)
    child.say("pause")
    child.say("stop")
    assert collect(child)[-1] == ("stopped", None)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("width must be even"), "width must be even"),
        (KeyError("name"), "unexpected KeyError: 'name'"),
        (MemoryError(), "there is not enough memory: close other programs, or use fewer rows or smaller networks"),
    ],
)
def test_errors_are_one_sentence(error, sentence):
    assert collect(Child(fail, error)) == [("error", sentence)]


def test_a_process_that_dies_is_noticed():
    kind, reason = collect(Child(leave))[-1]
    assert kind == "lost"
    assert "ended without a result" in reason


def test_closing_ends_what_the_process_started():
    children = Children()
    child = children.start(with_a_process_of_its_own)
    ((_, pid),) = collect(child, lambda messages: len(messages) > 0)
    assert children.running == 1
    children.close()
    assert children.running == 0
    assert gone(child.pid)
    assert gone(pid)


PARENT = """
import sys, time
from tests.app.test_children import Child, collect, with_a_process_of_its_own
if __name__ == "__main__":
    child = Child(with_a_process_of_its_own)
    ((_, pid),) = collect(child, lambda messages: len(messages) > 0)
    print(child.pid, pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_killed_explorer(how, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    root = Path(__file__).parents[2]
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"PYTHONPATH": str(root)})  # fmt: skip
    try:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.send_signal(how)
        parent.wait(timeout=10)
        assert all(gone(pid) for pid in pids)
    finally:
        parent.kill()
        parent.communicate()
