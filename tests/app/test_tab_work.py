"""The work of a tab: what a request, a stop and a late start leave behind."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from nicegui import Client
from nicegui.page import page

from softlabel.app.tab_work import TabWork


class SlowChild:
    """A process that takes a while to start."""

    def __init__(self, messages=()):
        self.queue, self.closed, self.ended = list(messages), False, False

    def messages(self):
        messages, self.queue = self.queue, []
        self.ended = any(kind == "done" for kind, _ in messages)
        return messages

    def close(self):
        self.closed = True


def tab_work(child, handle=lambda kind, content: None, delay=0.2):
    started = []

    def start(work, *arguments):
        time.sleep(delay)
        started.append((work, arguments))
        return child

    explorer = SimpleNamespace(children=SimpleNamespace(start=start))
    with Client(page("/test"), request=None):
        return TabWork(explorer, handle), started


def test_a_process_that_starts_after_its_tab_is_gone_is_ended():
    child = SlowChild()
    work, started = tab_work(child)

    async def scenario():
        work.request(len)
        starting = asyncio.create_task(work._look())
        await asyncio.sleep(0.05)
        work.stop()
        starting.cancel()  # as NiceGUI does with the timer of a tab that is deleted
        await asyncio.sleep(0.4)

    asyncio.run(scenario())
    assert started == [(len, ())]
    assert child.closed
    assert not work.busy


@pytest.mark.parametrize(
    ("failure", "reason"), [(OSError(24, "Too many open files"), "Too many open files"), (EOFError(), "EOFError")]
)
def test_a_process_that_cannot_be_started_is_told_in_a_sentence(failure, reason):
    handled = []

    def start(work, *arguments):
        raise failure

    explorer = SimpleNamespace(children=SimpleNamespace(start=start))
    with Client(page("/test"), request=None):
        work = TabWork(explorer, lambda kind, content: handled.append((kind, content)))

    async def scenario():
        work.request(len)
        await work._look()

    asyncio.run(scenario())
    ((kind, sentence),) = handled
    assert kind == "error"
    assert sentence.startswith(f"the work could not be started ({reason}")
    assert not work.busy


def test_a_failed_start_leaves_a_later_request_alone():
    child, handled = SlowChild([("done", None)]), []
    work, _ = tab_work(child, lambda kind, content: handled.append(kind))

    def fail(*arguments):
        time.sleep(0.2)
        raise OSError(24, "Too many open files")

    start, work._explorer.children.start = work._explorer.children.start, fail

    async def scenario():
        work.request(len)
        starting = asyncio.create_task(work._look())
        await asyncio.sleep(0.05)
        work._explorer.children.start = start
        work.request(len)
        await starting
        assert work.busy
        await work._look()

    asyncio.run(scenario())
    assert handled == ["done"]


def test_a_failing_message_does_not_lose_the_others():
    handled = []

    def handle(kind, content):
        handled.append(kind)
        if kind == "bad":
            raise ValueError("it cannot be shown")

    child = SlowChild([("good", 1), ("bad", 2), ("good", 3), ("done", None)])
    work, _ = tab_work(child, handle, delay=0.0)

    async def scenario():
        work.request(len)
        with pytest.raises(ValueError, match="it cannot be shown"):
            await work._look()

    asyncio.run(scenario())
    assert handled == ["good", "bad", "good", "done"]
    assert not work.busy
    assert child.closed
