"""Time in which the explorer's server answers a moved slider of the bounds: asked are at most 100 ms.

Every slider of the panel is moved over all its values, several times; of each move the best time counts. Measured is
what the server does: the numbers, the curves, the charts and texts of the page, and the message to the browser. In turn
with that the page is built anew, which is what a panel without updates in place would do.

    python -m benchmarks.explorer_redraw
"""

import asyncio
import gc
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.measure import write

ASKED = 0.1  # seconds
ROUNDS = 3


def measure() -> dict[str, dict[str, float]]:
    """Median and worst time of a redraw over the values of each slider, and the time of a new page, in seconds."""
    from nicegui import Client, json
    from nicegui.page import page

    from softlabel.app.panels.bounds import STEPS, BoundsPage, BoundsSettings
    from softlabel.app.state import Explorer

    explorer = Explorer(Path("runs"))

    def sent(client: Client) -> bytes | str:
        """The message to the browser, as the outbox of NiceGUI makes it."""
        updates = client.outbox.updates.items()
        content = {key: element._to_dict() if hasattr(element, "_to_dict") else None for key, element in updates}
        client.outbox.updates.clear()
        client.outbox.messages.clear()
        return json.dumps(content)

    def built() -> tuple[Client, BoundsPage]:
        client = Client(page("/bounds"), request=None)
        with client:
            shown = BoundsPage(explorer, BoundsSettings())
            shown.build()
        return client, shown

    client, shown = built()
    sent(client)
    moves = {name: dict.fromkeys(values, float("inf")) for name, values in STEPS.items()}
    anew = float("inf")
    for _ in range(ROUNDS):
        for name, values in STEPS.items():
            gc.collect()
            for value in values:
                began = time.perf_counter()
                shown.move(name, value)
                sent(client)
                moves[name][value] = min(moves[name][value], time.perf_counter() - began)
            shown.move(name, getattr(BoundsSettings(), name))
            began = time.perf_counter()
            other, _ = built()
            sent(other)
            anew = min(anew, time.perf_counter() - began)
            other.delete()
    taken = {name: list(times.values()) for name, times in moves.items()} | {"page anew": [anew]}
    return {name: {"median": statistics.median(times), "worst": max(times)} for name, times in taken.items()}


async def _measured() -> dict[str, dict[str, float]]:
    return measure()  # NiceGUI's timers need a running loop


def main() -> None:
    with tempfile.TemporaryDirectory() as storage:
        os.environ["NICEGUI_STORAGE_PATH"] = storage
        times = asyncio.run(_measured())
    anew = times.pop("page anew")["median"]
    medians, worst = [one["median"] for one in times.values()], max(one["worst"] for one in times.values())
    result: dict[str, object] = {
        "asked_over_median": ASKED / max(medians),
        "asked_over_worst": ASKED / worst,
        "page_anew_over_redraw": anew / statistics.median(medians),
        "seconds": times | {"page anew": anew},
    }
    print("redraw of the bounds after a slider move, on the server (asked: 100 ms)")
    for name, one in times.items():
        print(f"  {name:<9} median {1e3 * one['median']:6.1f} ms   worst {1e3 * one['worst']:6.1f} ms")
    print(f"  asked over the slowest median     {ASKED / max(medians):6.1f}×")
    print(f"  asked over the worst              {ASKED / worst:6.1f}×   (asked: 1)")
    print(f"  page built anew over a redraw     {result['page_anew_over_redraw']:6.1f}×")
    write("explorer_redraw", result)


if __name__ == "__main__":
    main()
