"""What the lab costs over calling the engine directly, and what a second Dask worker brings.

Table 1, quick preset. The teachers are trained once; then the settings to choose from are trained by the engine
alone and by the lab (ledger, settings, transactions), taking turns. The Dask part trains the same cells in
small bundles with one thread each, so that one worker leaves cores idle.

    python -m benchmarks.lab
"""

import dataclasses
import shutil
import tempfile
from pathlib import Path

from benchmarks.measure import alternate, write
from softlabel.lab import Ledger, Results, cores, make_executor, run_study
from softlabel.lab.executors.dask import Dask
from softlabel.lab.executors.tasks import exactly
from softlabel.studies.table1 import PRESETS, study
from softlabel.studies.table1.cells import choice_bundles
from softlabel.studies.table1.work import train


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        result = {**overhead(folder), **workers(folder)}
    write("lab", result)


def overhead(folder: Path) -> dict[str, object]:
    """The lab over the engine on the choice of settings, serial, all cores."""
    settings = PRESETS["quick"]
    whole = study(settings)
    taught = dataclasses.replace(whole, stages=whole.stages[:1])
    chosen = dataclasses.replace(whole, stages=whole.stages[:2])
    run_study(taught, folder / "taught", make_executor("local", cores()), threads=cores())
    bundles = choice_bundles(settings, Results())
    with Ledger(folder / "taught" / "ledger.sqlite") as ledger:
        given = {need: ledger.arrays(need) for bundle in bundles for need in bundle.needs}

    def engine() -> None:
        with exactly(cores()):
            for bundle in bundles:
                train(settings, bundle.cells, given)

    def lab() -> None:
        shutil.rmtree(folder / "run", ignore_errors=True)
        shutil.copytree(folder / "taught", folder / "run")
        run_study(chosen, folder / "run", make_executor("serial", 1), threads=cores())

    best = alternate({"engine": engine, "lab": lab}, rounds=3)
    ratio = best["lab"] / best["engine"]
    print(f"Table 1, quick preset, {sum(len(bundle.cells) for bundle in bundles)} students, {cores()} threads")
    print(f"  lab over engine alone           {ratio:.3f}×   (asked: ≤ 1.05)")
    return {"lab_over_engine": ratio}


def workers(folder: Path) -> dict[str, object]:
    """One Dask worker against two, one thread each."""
    from distributed import LocalCluster

    settings = PRESETS["quick"].model_copy(update={"bundle_neurons": 96})
    whole = study(settings)
    chosen = dataclasses.replace(whole, stages=whole.stages[:2])
    taught = dataclasses.replace(whole, stages=whole.stages[:1])
    run_study(taught, folder / "dask", make_executor("local", cores()), threads=1)
    clusters = {
        count: LocalCluster(
            n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        )
        for count in (1, 2)
    }

    def go(count: int) -> None:
        place = folder / f"dask-{count}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder / "dask", place)
        run_study(chosen, place, Dask(count, clusters[count].scheduler_address), threads=1)

    best = alternate({str(count): lambda count=count: go(count) for count in (1, 2)}, rounds=2)
    for cluster in clusters.values():
        cluster.close()
    ratio = best["1"] / best["2"]
    print(f"Dask, {len(choice_bundles(settings, Results()))} bundles of one thread, {cores()} cores")
    print(f"  two workers over one            {ratio:.2f}×")
    return {"two_workers_over_one": ratio}


if __name__ == "__main__":
    main()
