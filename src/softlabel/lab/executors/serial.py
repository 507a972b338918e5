"""One task after another, in this process."""

from collections.abc import Iterator, Sequence

from softlabel.lab.artifacts import ArtifactStore
from softlabel.lab.executors.tasks import Task, TaskResult, perform


class Serial:
    """Runs every task here."""

    def run(self, tasks: Sequence[Task], store: ArtifactStore) -> Iterator[TaskResult]:
        return (perform(task, store.arrays) for task in tasks)

    def close(self) -> None:
        """There are no workers to end."""
