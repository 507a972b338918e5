"""Table 1 with ordinary training, small, on scikit-learn's digits; its verdicts from invented results."""

import json
import math

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from softlabel.errors import InputError
from softlabel.lab import CellResult, StageResults
from softlabel.networks import TwoLayer
from softlabel.studies.ordinary import PRESETS, OrdinaryResult, OrdinarySettings, OrdinaryStudy, training
from softlabel.studies.ordinary.settings import Way
from softlabel.studies.run import Execution, run_in


def small(**changes) -> OrdinarySettings:
    values = {
        "data": "digits", "widths": (4, 3), "epochs": 2, "batch_size": 64, "temperatures": (8.0,),
        "label_temperatures": (), "learning_rates": (1e-3,), "inits": ("he",), "runs": 3, "other_runs": 2,
        "teacher_width": 16, "teacher_epochs": 2,
    }  # fmt: skip
    return OrdinarySettings(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("ordinary") / "run"
    return run_dir, run_in(run_dir, OrdinaryStudy(small()), Execution(threads=1, progress=False))


def test_it_is_judged_and_drawn(finished):
    run_dir, result = finished
    document = result.to_dict()
    json.dumps(document, allow_nan=False)
    assert len(document["printed"]) == 2 * 2 * 2
    assert all(one["printed"] is None and len(one["values"]) == 3 for one in document["printed"])
    assert {row["way"]["pixels"] for row in document["ways"]} == {"standardized", "unit"}
    for one in document["printed"]:
        assert all(0 <= live <= one["width"] for live in one["live"])
        assert len(one["live"]) == 3
    for row in document["ways"]:
        for name, values in row["per_seed"].items():
            assert np.mean(values) == pytest.approx(row[name]["mean"])
            assert len(values) == row[name]["runs"]
    text = result.report.read_text()
    assert "Written down before the run:" in text
    assert {"live-neurons.png", "distributions.png"} <= {path.name for path in (run_dir / "figures").iterdir()}


def test_every_seed_has_its_own_order_and_its_own_teacher():
    settings = small()
    teachers, students = (bundles(settings, StageResults()) for bundles in
                          (training.teacher_bundles, training.student_bundles))  # fmt: skip
    assert all(len({cell.seed for cell in bundle.cells}) == 1 for bundle in students)
    needs = [bundle.needs for bundle in students]
    assert sorted(needs) == sorted((bundle.cells[0].key,) for bundle in teachers)
    ways = {bundle.cells[0].seed: {cell.way for cell in bundle.cells} for bundle in students
            if bundle.cells[0].way.pixels == "standardized"}  # fmt: skip
    assert ways[2] < ways[0]
    assert set(settings.primary.values()) <= ways[2]
    assert {way.arm for way in ways[0]} == {"hard", "soft"}


def test_what_is_recorded_is_what_the_networks_do(monkeypatch):
    """Accuracies and live neurons against each network alone."""
    settings = small(other_runs=2)
    bundle = training.student_bundles(settings, StageResults())[0]
    teacher = training.OrdinaryTeacherCell(leave_out=bundle.cells[0].leave_out, pixels="standardized", seed=0)
    (taught,) = training.train_teachers(settings, [teacher], {})
    runs = []
    train_students = training.train_students
    monkeypatch.setattr(training, "train_students", lambda *a, **k: runs.append(train_students(*a, **k)) or runs[-1])
    results = training.train(settings, bundle.cells, {teacher.key: taught.arrays})
    x, _, test, truth = training._images_of(settings, teacher, "standardized")
    for trained, result in zip(runs[0], results, strict=True):
        network = trained.network
        assert network.outputs == 2
        accuracy = 100 * (network.logits(test).argmax(1) == truth).mean()
        assert result.metrics["test"] == pytest.approx(accuracy)
        assert result.arrays["epochs"][-1] == pytest.approx(accuracy)
        assert result.metrics["best_epoch"] == pytest.approx(result.arrays["epochs"].max())
        active = x @ network.hidden.numpy().T + network.hidden_bias.numpy() > 0
        assert result.metrics["live"] == active.any(0).sum()


def test_dead_neurons_are_those_that_are_never_active():
    network = TwoLayer(torch.tensor([[1.0, 0.0], [-1.0, -1.0], [0.0, 1.0]]), torch.ones(2, 3),
                       torch.tensor([0.0, 0.0, -5.0]), torch.zeros(2))  # fmt: skip
    assert training.live_neurons([network], np.random.default_rng(0).random((50, 2))) == [1]


def test_a_factor_of_the_loss_changes_next_to_nothing_with_adam():
    """Why there is no arm without the factor T²: with T = 20 the loss is 400 times smaller, the logits hardly."""
    x = torch.randn(256, 10, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] + x[:, 1] > 0).long()

    def trained(factor: float) -> torch.Tensor:
        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).double()
        optimizer = torch.optim.Adam(network.parameters(), 0.01)
        for _ in range(100):
            optimizer.zero_grad()
            (factor * torch.nn.functional.cross_entropy(network(x.double()), y)).backward()
            optimizer.step()
        return network(x.double()).detach()

    with_it, without = trained(1.0), trained(1 / 400)
    assert (with_it - without).abs().max() < 0.02 * with_it.abs().max()


def invented(settings: OrdinarySettings, accuracy) -> OrdinaryResult:
    """Runs of which `accuracy(arm, live)` is the share of right rows, with some dead neurons in the hard arm only."""
    results = StageResults()
    for bundle in training.student_bundles(settings, StageResults()):
        for cell in bundle.cells:
            rng = np.random.default_rng([cell.seed, cell.width])
            live = cell.width - int(cell.way.arm == "hard" and rng.random() < 0.4)
            share = accuracy(cell.way.arm, live == cell.width) + rng.normal(0, 0.001)
            right = np.arange(2000) < 2000 * share
            metrics = {"test": 100 * right.mean(), "best_epoch": 100 * right.mean() + 1, "live": live, "examples": 2000}
            arrays = {"correct": np.packbits(right), "epochs": np.array([100 * right.mean()])}
            results.add("train", cell, CellResult(metrics, arrays))
    return OrdinaryResult(settings, results)


def test_dead_neurons_as_the_reason_for_a_gap():
    """Ten points are lost with a dead neuron, nothing else differs: the gap vanishes where all neurons live."""
    result = invented(small(runs=30, other_runs=2), lambda arm, alive: 0.9 if alive else 0.8)
    for one in result.mediation:
        assert one.gap.low > 0
        assert one.alive.mean == pytest.approx(0, abs=0.05)
        assert one.dead["hard"].mean > one.dead["soft"].mean == 0
        assert [mode.accuracy for mode in one.modes] == pytest.approx([80, 90], abs=0.2)
        assert sum(mode.runs["hard"] for mode in one.modes) == 30
    assert "where no neuron is dead" in result.summary[0]
    assert "dead neurons explain 4 of the 4 gaps that exclude 0" in result.summary[1]


def test_printed_numbers_are_placed_among_the_runs():
    settings = small(data="mnist", widths=(4,), runs=40, other_runs=2)
    result = invented(settings, lambda arm, alive: 0.8884 if arm == "hard" else 0.93)
    hard, soft = (one for one in result.printed if one.dataset == "all digits")
    assert hard.printed == 88.84
    assert hard.inside
    assert not soft.inside  # 95.62 is printed
    assert soft.below.mean == 1.0
    assert hard.best_of[10] == pytest.approx(hard.below.mean**10)
    assert hard.best_epoch < hard.below.mean  # one point more at the best epoch
    assert "of the paper's 4 numbers" in result.summary[0]


def test_presets_and_bad_settings():
    standard = PRESETS["standard"]
    assert standard.runs >= 100
    assert standard.primary["soft"] == Way(temperature=2.0)
    assert math.isclose(standard.primary["hard"].learning_rate, 0.01)
    for changes in ({"other_runs": 9}, {"widths": ()}, {"widths": (4, 4)}, {"runs": 1}, {"temperature": 0.0},
                    {"temperatures": (2.0,)}, {"learning_rates": (0.01,)}, {"inits": ("torch",)},
                    {"label_temperatures": (2.0, 2.0)}):  # fmt: skip
        with pytest.raises(ValidationError):
            small(**changes)
    with pytest.raises((ValidationError, InputError), match="unknown init"):
        small(inits=("other",))
