"""One task after another, in this process."""

from collections.abc import Iterator, Sequence

from softlabel.lab.executors.tasks import Finished, Task, perform


class Serial:
    """Runs every task here."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]:
        return map(perform, tasks)
