"""Table 1 as a study, small, on scikit-learn's digits: choices, the test set's seclusion, verdicts, its page."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from softlabel.errors import InputError
from softlabel.lab import CellResult, StageResults
from softlabel.studies.paper_settings import learning_rates
from softlabel.studies.rebuild import read_run
from softlabel.studies.reproduce import study_settings, with_available_data
from softlabel.studies.run import Execution, run_in
from softlabel.studies.table1 import PRESETS, Table1Result, Table1Settings, Table1Study, training
from softlabel.studies.table1 import cells as grid
from softlabel.studies.table1.settings import Protocol, Teaching, other_protocols, primary

EXECUTION = Execution(executor="serial", threads=1, progress=False, command="softlabel reproduce table1")


def small(**changes) -> Table1Settings:
    values = {
        "data": "digits",
        "widths": (4, 2),
        "tuning_seeds": 1,
        "runs": 2,
        "teacher": Teaching(width=16, epochs=2, patience=2),
        "protocols": (primary(2, (20.0, 60.0), (2.0, 8.0), (3.0,)),),
        "bundle_neurons": 60,
    }
    return Table1Settings(**(values | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("table1") / "run"
    return run_dir, run_in(run_dir, Table1Study(small()), EXECUTION)


def test_document_keeps_its_promises(finished):
    document = finished[1].to_dict()
    rows = document["rows"]
    assert [(row["dataset"], row["width"]) for row in rows] == [
        ("all except 1,7,4,9", 4), ("all except 1,7,4,9", 2), ("all digits", 4), ("all digits", 2),
    ]  # fmt: skip
    for row in rows + document["common_radius"]:
        assert {"dataset", "width", "teacher", "hard", "soft", "gap", "paper", "verdict"} <= set(row)
        for arm in ("hard", "soft", "gap"):
            part = row[arm]
            assert part["low"] <= part["mean"] <= part["high"]
            assert part["runs"] == 2
        assert row["gap"]["mean"] == pytest.approx(row["soft"]["mean"] - row["hard"]["mean"])
        assert row["verdict"] in ("soft wins", "hard wins", "no difference", "undecided")
        assert row["paper"] is None  # other data than the paper's
    assert len(document["common_radius"]) == 4 * 3
    assert document["settings"]["data"] == "digits"
    json.dumps(document, allow_nan=False)


def test_common_radius_is_common(finished):
    for row in finished[1].to_dict()["common_radius"]:
        assert row["hard"]["chosen"]["radius"] == row["soft"]["chosen"]["radius"]
        assert row["hard"]["chosen"]["temperature"] is None
        assert row["soft"]["chosen"]["temperature"] in (2.0, 8.0)


def test_the_run_directory_is_complete_and_its_page_can_be_rebuilt(finished):
    run_dir, result = finished
    assert {path.name for path in run_dir.iterdir()} >= {
        "settings.toml", "ledger.sqlite", "environment.json", "report.html", "figures", "results.json",
    }  # fmt: skip
    text = result.report.read_text()
    assert "softlabel reproduce table1" in text
    assert "all except 1,7,4,9" in text
    result.report.unlink()
    rebuilt = read_run(run_dir)
    assert rebuilt.report == result.report
    assert result.report.exists()
    assert rebuilt.to_dict() == result.to_dict()


def test_the_result_in_one_line_as_a_figure_and_in_a_notebook(finished):
    _, result = finished
    assert repr(result).startswith("<Table1Result: On a small ball around the initialization (B = 20) ")
    assert "\n" not in repr(result)
    assert str(result) == "\n".join(result.summary)
    assert len(result.plot().axes) == 1
    html = result._repr_html_()
    assert "data:image/svg+xml" in html
    assert "all except 1,7,4,9" in html


def test_a_second_call_runs_nothing_and_says_the_same(finished):
    run_dir, result = finished
    before = (run_dir / "ledger.sqlite").read_bytes()
    second = run_in(run_dir, Table1Study(small()), EXECUTION)
    assert second.to_dict() == result.to_dict()
    assert len((run_dir / "ledger.sqlite").read_bytes()) == len(before)


@pytest.mark.parametrize("name", PRESETS)
def test_both_arms_of_every_preset_have_equally_many_choices_and_the_same_seeds(name):
    settings = PRESETS[name]
    chosen: dict[tuple, dict[str, set]] = {}
    for bundle in grid.choice_bundles(settings, StageResults()):
        for cell in bundle.cells:
            row = chosen.setdefault((cell.protocol, cell.leave_out, cell.width, cell.seed, cell.radius), {})
            row.setdefault(cell.arm, set()).add((cell.init, cell.radius, cell.temperature, cell.learning_rate))
    assert all(len(row["hard"]) == len(row["soft"]) for row in chosen.values())
    assert {key[2] for key in chosen} == {4, 6, 8}
    seeds = {key[3] for key in chosen}
    assert seeds.isdisjoint(settings.seeds), "choosing and testing share no seed"


def test_bundles_are_fixed_by_the_settings_and_hold_every_cell_once():
    settings = PRESETS["quick"]
    first, second = (grid.choice_bundles(settings, StageResults()) for _ in range(2))
    assert [bundle.key for bundle in first] == [bundle.key for bundle in second]
    keys = [cell.key for bundle in first for cell in bundle.cells]
    assert len(set(keys)) == len(keys) == 2 * 3 * 2 * 4 * 4
    sizes = [sum(cell.width for cell in bundle.cells) for bundle in first]
    assert max(sizes) <= 1.5 * settings.bundle_neurons


def test_only_the_test_stage_sees_the_test_images(monkeypatch):
    settings = small()
    seen = []
    images = training.images

    def marked(*arguments):
        data = images(*arguments)
        return training.Table1Images(data.description, data.train, data.validation, ("test", "images"))

    monkeypatch.setattr(training, "images", marked)
    monkeypatch.setattr(training, "correct", lambda network, *what: seen.append(what) or np.ones(3, dtype=bool))
    bundle = next(b for b in grid.choice_bundles(settings, StageResults()) if any(c.arm == "soft" for c in b.cells))
    data = images("digits", "label>4", bundle.cells[0].leave_out, settings.validation_share, settings.test_share)
    arrays = {need: {"logits": np.linspace(-1, 1, len(data.train[1]), dtype=np.float32)} for need in bundle.needs}
    results = training.train(settings, bundle.cells, arrays)
    assert seen == []
    assert all("test" not in result.metrics for result in results)
    tested = [cell.model_copy(update={"stage": "test"}) for cell in bundle.cells]
    training.train(settings, tested, arrays)
    assert seen == [("test", "images")] * len(tested)


def test_images_are_cut_without_overlap():
    data = training.images("digits", "label>4", (1, 7, 4, 9), 0.2, 0.25)
    parts = [{row.tobytes() for row in part[0]} for part in (data.train, data.validation, data.test)]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert not parts[0] & parts[1]
    assert np.linalg.norm(np.concatenate([data.train[0], data.validation[0]]), axis=1).max() <= 1 + 1e-6


def fake(settings: Table1Settings, gap: float = 0.0) -> StageResults:
    """Results in which the soft arm is correct on `gap` per cent more of 1,000 test images."""
    results = StageResults()
    rng = np.random.default_rng(0)
    for bundle in grid.teacher_bundles(settings, results):
        for cell in bundle.cells:
            right = np.packbits(rng.random(1000) < 0.98)
            results.add("teach", cell, CellResult({"examples": 1000, "test": 98.0}, {"correct": right}))
    for bundle in grid.choice_bundles(settings, results):
        for cell in bundle.cells:
            value = 90 - abs(np.log(cell.learning_rate / 3)) + (cell.radius or 0) / 100
            results.add("choose", cell, CellResult({"validation": value}))
    for bundle in grid.final_bundles(settings, results):
        for cell in bundle.cells:
            draws = np.random.default_rng([cell.seed, cell.width]).random(1000)
            right = np.packbits(draws < 0.9 + (gap / 100 if cell.arm == "soft" else 0))
            metrics = {"test": 90.0, "validation": 90.0, "on_the_ball": 0.5}
            results.add("test", cell, CellResult(metrics, {"correct": right}))
    return results


@pytest.mark.parametrize(("gap", "verdict"), [(6.0, "soft wins"), (-6.0, "hard wins"), (0.0, "no difference")])
def test_verdicts_follow_the_outcomes(gap, verdict):
    settings = small(runs=5)
    result = Table1Result(settings, fake(settings, gap))
    assert {row.verdict for row in result.primary} == {verdict}
    assert all(row.gap.mean == pytest.approx(gap, abs=2) for row in result.primary)
    for row in result.primary:
        assert row.low <= row.gap.interval(settings.confidence)[0]
        assert row.p >= row.gap.p_value()


def test_the_best_on_validation_is_chosen_and_the_first_among_equals():
    settings = small()
    result = Table1Result(settings, fake(settings))
    best = result.choices.best(settings.protocol("pgd"), (), 4, "soft")
    assert (best.radius, best.temperature, best.learning_rate) == (60.0, 2.0, 3.0)
    with_radius = result.choices.best(settings.protocol("pgd"), (), 4, "soft", 20.0)
    assert with_radius.radius == 20.0
    without = result.choices.best(settings.protocol("pgd"), (), 4, "hard", None)
    assert without.radius is None


def test_a_setting_with_which_runs_collapse_is_not_confirmed():
    """The best of two tuning seeds collapses once among the seeds of the confirmation, and another is chosen."""
    settings = small(tuning_seeds=2, shortlist=3, confirmation_seeds=4)
    results = fake(settings)
    first = Table1Result(settings, results).choices.best(settings.protocol("pgd"), (), 4, "hard", 60.0)
    bundles = grid.confirmation_bundles(settings, results)
    seeds = {cell.seed for bundle in bundles for cell in bundle.cells}
    assert seeds == set(range(1_000_002, 1_000_006))
    confirmed = StageResults()
    for stage in ("teach", "choose"):
        for cell, result in results[stage]:
            confirmed.add(stage, cell, result)
    for bundle in bundles:
        for cell in bundle.cells:
            same = cell.model_copy(update={"stage": "choose", "seed": first.seed}) == first
            collapsed = same and cell.seed == 1_000_003
            confirmed.add("confirm", cell, CellResult({"validation": 50.0 if collapsed else 90.0}))
    choices = grid.Choices(settings, confirmed)
    protocol = settings.protocol("pgd")
    shortlist = choices.ranked(protocol, (), 4, "hard", 60.0, final=False)
    assert len(shortlist) == min(3, len(protocol.hard_learning_rates))
    assert first in shortlist
    assert choices.best(protocol, (), 4, "hard", 60.0) != first
    with pytest.raises(ValidationError, match="go together"):
        small(shortlist=3)


@pytest.mark.parametrize(
    ("gap", "words"), [(6.0, "soft labels win by"), (-6.0, "hard labels win by"), (0.0, "the arms tie")]
)
def test_the_first_sentence_answers(gap, words):
    settings = small(runs=5)
    result = Table1Result(settings, fake(settings, gap))
    answer = result.summary[0]
    assert answer.count(words) == 2  # on the small ball, and without one
    mean = result.mean_gaps[20.0]
    rows = [row.gap.mean for row in result.common if row.chosen["hard"].radius == 20.0]
    assert mean.mean == pytest.approx(np.mean(rows))
    assert f"({mean.low:+.1f} … {mean.high:+.1f})" in answer or f", {mean.low:+.1f} … {mean.high:+.1f})" in answer


def test_papers_numbers_go_with_the_papers_data():
    settings = small(data="mnist", widths=(8, 6, 4), runs=3)
    result = Table1Result(settings, fake(settings, 1.0))
    printed = result.to_dict()["rows"]
    assert printed[-1]["paper"] == {"teacher": 98.34, "hard": 88.84, "soft": 95.62}
    assert printed[0]["paper"] == {"teacher": 98.75, "hard": 97.19, "soft": 97.67}
    assert [drop["width"] for drop in result.to_dict()["drops"]] == [8, 6, 4]


def test_on_the_ball_counts_what_the_projection_holds():
    from softlabel import Student, train_students

    x = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1).max()
    y = np.where(x[:, 0] > 0, 1, -1)
    run = train_students(
        x, [Student(width=4, radius=r, learning_rate=5.0) for r in (0.1, 1e4, None)], y, iterations=50
    )  # fmt: skip
    shares = [training.on_the_ball(trained.network, trained.settings) for trained in run]
    assert shares == [1.0, 0.0, 0.0]


def test_settings_that_would_be_unfair_or_empty_are_refused():
    with pytest.raises(ValidationError, match="both must have the same number"):
        Protocol(
            name="x",
            about="",
            epochs=1,
            radii=(1.0,),
            temperatures=(1.0, 2.0),
            soft_learning_rates=(1.0,),
            hard_learning_rates=(1.0,),
        )
    for radii, hard in (((1.0, 1.0), (1.0, 2.0)), ((1.0,), (3.0, 3.0))):
        with pytest.raises(ValidationError, match="must be different numbers"):
            Protocol(
                name="x", about="", epochs=1, radii=radii, temperatures=(1.0, 2.0), soft_learning_rates=(1.0,),
                hard_learning_rates=hard,
            )  # fmt: skip
    with pytest.raises(ValidationError, match="no radius to train with"):
        Protocol(
            name="x", about="", epochs=1, radii=(), without_projection=False, temperatures=(1.0,),
            soft_learning_rates=(1.0,), hard_learning_rates=(1.0,),
        )  # fmt: skip
    with pytest.raises(ValidationError, match="one of them must be 'pgd'"):
        small(protocols=other_protocols(2))


def test_learning_rates():
    assert learning_rates(1.0, 100.0, 3) == (1.0, 10.0, 100.0)
    assert learning_rates(3.0, 30.0, 1) == (3.0,)


def test_settings_files(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("runs = 4\nwidths = [4]\n[teacher]\nwidth = 64\n")
    settings = study_settings("table1", "quick", file)
    assert (settings.runs, settings.widths, settings.teacher.width) == (4, (4,), 64)
    for text, message in [
        ("rnus = 4", r"unknown setting 'rnus': did you mean 'runs'"),
        ("[teacher]\nwith = 4", r"there is no setting `teacher.with`"),
        ("runs = 1", r"`runs` must be greater than or equal to 2, got 1"),
        ("runs = 'many'", r"`runs` must be a valid integer, .*, got 'many'"),
        ("widths = []", r"`widths` needs at least 1 value, got 0"),
        ('study = "figure1"', r"for the study 'figure1', not for 'table1'"),
        ("runs = ", r"is not TOML"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            study_settings("table1", "quick", file)
    with pytest.raises(InputError, match="there is no file"):
        study_settings("table1", "quick", tmp_path / "none.toml")
    with pytest.raises(InputError, match="unknown preset 'quik': did you mean 'quick'"):
        study_settings("table1", "quik")
    with pytest.raises(InputError, match="unknown study 'table2': did you mean 'table1'"):
        study_settings("table2", "quick")


def test_digits_replace_mnist_where_it_is_unavailable(monkeypatch, caplog):
    from softlabel.data.loading import load_raw
    from softlabel.errors import UnavailableError

    def digits_alone(name, **more):
        if name != "digits":
            raise UnavailableError("no source answers")
        return load_raw(name, **more)

    monkeypatch.setattr("softlabel.studies.table1.settings.load_raw", digits_alone)
    with caplog.at_level("INFO", logger="softlabel"):
        settings = with_available_data(PRESETS["quick"])
    assert settings.data == "digits"
    assert settings.protocols[0].epochs > PRESETS["quick"].protocols[0].epochs
    assert "using scikit-learn's digits instead" in caplog.text
    with pytest.raises(UnavailableError):
        with_available_data(PRESETS["quick"].model_copy(update={"data": "fashion-mnist"}))


def test_stages():
    assert [stage.name for stage in Table1Study(small()).stages] == ["teach", "choose", "confirm", "test"]
