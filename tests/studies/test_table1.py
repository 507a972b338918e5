"""Table 1 as a study, small, on scikit-learn's digits: equal budgets, the test set's seclusion, verdicts, its page."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.errors import InputError
from softlabel.lab import Outcome, Results
from softlabel.studies import running
from softlabel.studies.table1 import PRESETS, Judgement, document, study
from softlabel.studies.table1 import cells as grid
from softlabel.studies.table1 import work as at_work
from softlabel.studies.table1.settings import Protocol, Table1, Teaching, further, primary, steps


def small(**changes) -> Table1:
    values = {
        "data": "digits",
        "widths": (4, 2),
        "tuning_seeds": 1,
        "runs": 2,
        "teacher": Teaching(width=16, epochs=2, patience=2),
        "protocols": (primary(2, (20.0, 60.0), (2.0, 8.0), (3.0,)),),
        "bundle_neurons": 60,
    }
    return Table1(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table1") / "run"
    return folder, running.reproduce("table1", small(), folder, executor="serial", threads=1, again="softlabel again")


def test_document_keeps_its_promises(finished):
    _, done = finished
    rows = done.document["rows"]
    assert [(row["dataset"], row["width"]) for row in rows] == [
        ("all except 1,7,4,9", 4), ("all except 1,7,4,9", 2), ("all digits", 4), ("all digits", 2),
    ]  # fmt: skip
    for row in rows + done.document["common_radius"]:
        assert {"dataset", "width", "teacher", "hard", "soft", "gap", "paper", "verdict"} <= set(row)
        for arm in ("hard", "soft", "gap"):
            part = row[arm]
            assert part["low"] <= part["mean"] <= part["high"]
            assert part["runs"] == 2
        assert row["gap"]["mean"] == pytest.approx(row["soft"]["mean"] - row["hard"]["mean"])
        assert row["verdict"] in ("soft wins", "hard wins", "no difference", "undecided")
        assert row["paper"] is None  # other data than the paper's
    assert len(done.document["common_radius"]) == 4 * 3
    assert done.document["settings"]["data"] == "digits"
    json.dumps(done.document, allow_nan=False)


def test_common_radius_is_common(finished):
    _, done = finished
    for row in done.document["common_radius"]:
        assert row["hard"]["chosen"]["radius"] == row["soft"]["chosen"]["radius"]
        assert row["hard"]["chosen"]["temperature"] is None
        assert row["soft"]["chosen"]["temperature"] in (2.0, 8.0)


def test_the_run_folder_is_whole_and_its_page_can_be_rebuilt(finished):
    folder, done = finished
    assert {path.name for path in folder.iterdir()} >= {
        "settings.toml", "ledger.sqlite", "environment.json", "report.html", "figures", "results.json",
    }  # fmt: skip
    text = done.page.read_text()
    assert "softlabel again" in text
    assert "all except 1,7,4,9" in text
    done.page.unlink()
    again = running.rebuild(folder)
    assert again.page.exists()
    assert again.document == done.document


def test_a_second_call_runs_nothing_and_says_the_same(finished):
    folder, done = finished
    before = (folder / "ledger.sqlite").read_bytes()
    again = running.reproduce("table1", small(), folder, executor="serial", threads=1, again="softlabel again")
    assert again.document == done.document
    assert len((folder / "ledger.sqlite").read_bytes()) == len(before)


@pytest.mark.parametrize("name", PRESETS)
def test_both_arms_of_every_preset_have_the_same_budget_and_the_same_seeds(name):
    settings = PRESETS[name]
    chosen: dict[tuple, dict[str, set]] = {}
    for bundle in grid.choice_bundles(settings, Results()):
        for cell in bundle.cells:
            place = chosen.setdefault((cell.protocol, cell.leave_out, cell.width, cell.seed, cell.radius), {})
            place.setdefault(cell.arm, set()).add(cell.choice)
    assert all(len(place["hard"]) == len(place["soft"]) for place in chosen.values())
    assert {key[2] for key in chosen} == {4, 6, 8}
    seeds = {key[3] for key in chosen}
    assert seeds.isdisjoint(grid.run_seeds(settings)), "choosing and testing share no seed"


def test_bundles_are_fixed_by_the_settings_and_hold_every_cell_once():
    settings = PRESETS["quick"]
    first, second = (grid.choice_bundles(settings, Results()) for _ in range(2))
    assert [bundle.key for bundle in first] == [bundle.key for bundle in second]
    keys = [cell.key for bundle in first for cell in bundle.cells]
    assert len(set(keys)) == len(keys) == 2 * 3 * 2 * 4 * 4
    sizes = [sum(cell.width for cell in bundle.cells) for bundle in first]
    assert max(sizes) <= 1.5 * settings.bundle_neurons


def test_only_the_test_stage_sees_the_test_images(monkeypatch):
    settings = small()
    seen = []
    images = at_work.images

    def watched(*arguments):
        held = images(*arguments)
        return at_work.Images(held.description, held.train, held.validation, ("test", "images"))

    monkeypatch.setattr(at_work, "images", watched)
    monkeypatch.setattr(at_work, "correct", lambda network, *what: seen.append(what) or np.ones(3, dtype=bool))
    bundle = next(b for b in grid.choice_bundles(settings, Results()) if any(c.arm == "soft" for c in b.cells))
    held = images("digits", "label>4", bundle.cells[0].leave_out, settings.validation_share, settings.test_share)
    given = {need: {"logits": np.linspace(-1, 1, len(held.train[1]), dtype=np.float32)} for need in bundle.needs}
    outcomes = at_work.train(settings, bundle.cells, given)
    assert seen == []
    assert all("test" not in outcome.metrics for outcome in outcomes)
    tested = [cell.model_copy(update={"stage": "test"}) for cell in bundle.cells]
    at_work.train(settings, tested, given)
    assert seen == [("test", "images")] * len(tested)


def test_images_are_cut_without_overlap():
    held = at_work.images("digits", "label>4", (1, 7, 4, 9), 0.2, 0.25)
    parts = [{row.tobytes() for row in part[0]} for part in (held.train, held.validation, held.test)]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert not parts[0] & parts[1]
    assert np.linalg.norm(np.concatenate([held.train[0], held.test[0]]), axis=1).max() <= 1 + 1e-6


def fake(settings: Table1, gap: float = 0.0) -> Results:
    """Outcomes as if the soft arm were right on so many more of 1,000 test images in a hundred."""
    results = Results()
    rng = np.random.default_rng(0)
    for bundle in grid.teacher_bundles(settings, results):
        for cell in bundle.cells:
            right = np.packbits(rng.random(1000) < 0.98)
            results.add("teach", cell, Outcome({"examples": 1000, "test": 98.0}, {"correct": right}))
    for bundle in grid.choice_bundles(settings, results):
        for cell in bundle.cells:
            value = 90 - abs(np.log(cell.step / 3)) + (cell.radius or 0) / 100
            results.add("choose", cell, Outcome({"validation": value}))
    for bundle in grid.final_bundles(settings, results):
        for cell in bundle.cells:
            draws = np.random.default_rng([cell.seed, cell.width]).random(1000)
            right = np.packbits(draws < 0.9 + (gap / 100 if cell.arm == "soft" else 0))
            metrics = {"test": 90.0, "validation": 90.0, "on_the_ball": 0.5}
            results.add("test", cell, Outcome(metrics, {"correct": right}))
    return results


@pytest.mark.parametrize(("gap", "verdict"), [(6.0, "soft wins"), (-6.0, "hard wins"), (0.0, "no difference")])
def test_verdicts_follow_the_outcomes(gap, verdict):
    settings = small(runs=5)
    judged = Judgement(settings, fake(settings, gap))
    assert {row.verdict for row in judged.primary} == {verdict}
    assert all(row.gap.value == pytest.approx(gap, abs=2) for row in judged.primary)
    for row in judged.primary:
        assert row.low <= row.gap.interval(settings.confidence)[0]
        assert row.p >= row.gap.p_value()


def test_the_best_on_validation_is_chosen_and_the_first_among_equals():
    settings = small()
    judged = Judgement(settings, fake(settings))
    best = judged.choices.best(settings.protocol("pgd"), (), 4, "soft")
    assert (best.radius, best.temperature, best.step) == (60.0, 2.0, 3.0)
    with_radius = judged.choices.best(settings.protocol("pgd"), (), 4, "soft", 20.0)
    assert with_radius.radius == 20.0
    without = judged.choices.best(settings.protocol("pgd"), (), 4, "hard", None)
    assert without.radius is None


def test_papers_numbers_go_with_the_papers_data():
    settings = small(data="mnist", widths=(8, 6, 4), runs=3)
    judged = Judgement(settings, fake(settings, 1.0))
    printed = document(judged, "")["rows"]
    assert printed[-1]["paper"] == {"teacher": 98.34, "hard": 88.84, "soft": 95.62}
    assert printed[0]["paper"] == {"teacher": 98.75, "hard": 97.19, "soft": 97.67}
    assert [drop["width"] for drop in document(judged, "")["drops"]] == [8, 6, 4]


def test_on_the_ball_counts_what_the_projection_holds():
    from softlabel import Student, train_students

    x = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1).max()
    y = np.where(x[:, 0] > 0, 1, -1)
    run = train_students(
        x, [Student(width=4, radius=r, step=5.0) for r in (0.1, 1e4, None)], y, iterations=50
    )  # fmt: skip
    shares = [at_work.on_the_ball(trained.network, trained.settings) for trained in run]
    assert shares == [1.0, 0.0, 0.0]


def test_settings_that_would_be_unfair_or_empty_are_refused():
    with pytest.raises(ValidationError, match="both must have the same number"):
        Protocol(
            name="x", about="", epochs=1, radii=(1.0,), temperatures=(1.0, 2.0), soft_steps=(1.0,), hard_steps=(1.0,)
        )
    with pytest.raises(ValidationError, match="no radius to train with"):
        Protocol(
            name="x", about="", epochs=1, radii=(), without_projection=False, temperatures=(1.0,), soft_steps=(1.0,),
            hard_steps=(1.0,),
        )  # fmt: skip
    with pytest.raises(ValidationError, match="one of them must be 'pgd'"):
        small(protocols=further(2))


def test_steps():
    assert steps(1.0, 100.0, 3) == (1.0, 10.0, 100.0)
    assert steps(3.0, 30.0, 1) == (3.0,)


def test_settings_files(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("runs = 4\nwidths = [4]\n[teacher]\nwidth = 64\n")
    settings = running.study_settings("table1", "quick", file)
    assert (settings.runs, settings.widths, settings.teacher.width) == (4, (4,), 64)
    for text, message in [
        ("rnus = 4", r"rnus: Extra inputs"),
        ("runs = 1", r"runs: Input should be greater than or equal to 2"),
        ('study = "figure1"', r"for the study 'figure1', not for 'table1'"),
        ("runs = ", r"is not TOML"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            running.study_settings("table1", "quick", file)
    with pytest.raises(InputError, match="there is no file"):
        running.study_settings("table1", "quick", tmp_path / "none.toml")
    with pytest.raises(InputError, match="unknown preset 'quik': did you mean 'quick'"):
        running.study_settings("table1", "quik")
    with pytest.raises(InputError, match="unknown study 'table2': did you mean 'table1'"):
        running.study_settings("table2", "quick")


def test_digits_stand_in_where_mnist_cannot_be_had(monkeypatch):
    from softlabel.data import load
    from softlabel.errors import UnavailableError

    def digits_alone(name, **more):
        if name != "digits":
            raise UnavailableError("no source answers")
        return load(name, **more)

    monkeypatch.setattr("softlabel.studies.table1.settings.load", digits_alone)
    said = []
    settings = running.with_data(PRESETS["quick"], said.append)
    assert settings.data == "digits"
    assert settings.protocols[0].epochs > PRESETS["quick"].protocols[0].epochs
    assert "stand in for it" in said[0]
    with pytest.raises(UnavailableError):
        running.with_data(PRESETS["quick"].model_copy(update={"data": "fashion-mnist"}), said.append)


def test_a_study_is_a_study():
    assert [stage.name for stage in study(small()).stages] == ["teach", "choose", "test"]
