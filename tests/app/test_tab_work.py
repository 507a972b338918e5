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
