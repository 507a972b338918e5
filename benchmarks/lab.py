"""What the lab costs over calling the engine directly, and what a second Dask worker brings.

Table 1, quick preset. The teachers are trained once; then the settings to choose from are trained by the engine
only and by the lab (ledger, settings, transactions), alternating. The Dask part trains the same cells in
small bundles with one thread each, so that one worker leaves cores idle.

    python -m benchmarks.lab
"""

import shutil
import tempfile
from pathlib import Path

from benchmarks.measure import alternate, write
from softlabel.lab import Stage, StageResults, Study, cores, make_executor, open_run, run_stages
from softlabel.lab.executors import Executor
from softlabel.lab.executors.dask import Dask
from softlabel.lab.executors.tasks import exactly
from softlabel.studies.table1 import PRESETS, Table1Study
from softlabel.studies.table1.cells import choice_bundles
from softlabel.studies.table1.training import train


class TeacherStage(Table1Study):
    """Table 1 without students."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        return super().stages[:1]


class ChoiceStages(Table1Study):
    """Table 1 without the test."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        return super().stages[:2]


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        result = {**overhead(directory), **workers(directory)}
    write("lab", result)


def run_study(study: Study, run_dir: Path, executor: Executor, threads: int) -> StageResults:
    """Run what is left of a study in this directory, without judging it."""
    with open_run(run_dir, study, threads=threads) as ledger:
        return run_stages(study, ledger, executor)


def overhead(directory: Path) -> dict[str, object]:
    """Time of the lab relative to the engine on the choice of settings, serial, all cores."""
    settings = PRESETS["quick"]
    teachers = run_study(TeacherStage(settings), directory / "teachers", make_executor("local", cores()), cores())
    bundles = choice_bundles(settings, StageResults())
    arrays = {need: teachers.arrays(need) for bundle in bundles for need in bundle.needs}

    def engine() -> None:
        with exactly(cores()):
            for bundle in bundles:
                train(settings, bundle.cells, arrays)

    def lab() -> None:
        shutil.rmtree(directory / "run", ignore_errors=True)
        shutil.copytree(directory / "teachers", directory / "run")
        run_study(ChoiceStages(settings), directory / "run", make_executor("serial", 1), cores())

    best = alternate({"engine": engine, "lab": lab}, rounds=3)
    ratio = best["lab"] / best["engine"]
    print(f"Table 1, quick preset, {sum(len(bundle.cells) for bundle in bundles)} students, {cores()} threads")
    print(f"  lab over engine alone           {ratio:.3f}×   (required: ≤ 1.05)")
    return {"lab_over_engine": ratio}


def workers(directory: Path) -> dict[str, object]:
    """One Dask worker against two, one thread each."""
    from distributed import LocalCluster

    settings = PRESETS["quick"].model_copy(update={"bundle_neurons": 96})
    run_study(TeacherStage(settings), directory / "dask", make_executor("local", cores()), 1)
    clusters = {
        count: LocalCluster(
            n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        )
        for count in (1, 2)
    }

    def go(count: int) -> None:
        run_dir = directory / f"dask-{count}"
        shutil.rmtree(run_dir, ignore_errors=True)
        shutil.copytree(directory / "dask", run_dir)
        run_study(ChoiceStages(settings), run_dir, Dask(count, clusters[count].scheduler_address), 1)

    best = alternate({str(count): lambda count=count: go(count) for count in (1, 2)}, rounds=2)
    for cluster in clusters.values():
        cluster.close()
    ratio = best["1"] / best["2"]
    print(f"Dask, {len(choice_bundles(settings, StageResults()))} bundles of one thread, {cores()} cores")
    print(f"  two workers over one            {ratio:.2f}×")
    return {"two_workers_over_one": ratio}


if __name__ == "__main__":
    main()
