"""`verdict` and `plan` with students of every kind, at the ends of what can happen."""

import json

import numpy as np
import polars as pl
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

import softlabel as sl
from softlabel.errors import InputError, SoftlabelError
from softlabel.studies.rebuild import read_run, resume
from softlabel.studies.students.families import FAMILIES, family_of
from softlabel.studies.students.recipe import StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.teachers.sources import query_teacher
from tests.studies.students.quick import comparable, plan, verdict
from tests.studies.students.toy import Toy

TOY = Toy(rows=400, sharp=2.0)
ANSWERS = ("soft wins", "no difference", "hard wins", "undecided")


def small_network(seed):
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


def trained(name, arm="soft", seeds=(0, 1), **more):
    problem = TOY.problem()
    taught_problem = TaughtProblem.from_predictions(problem, query_teacher(problem, TOY.truth))
    family = family_of(name)
    recipe = family.recipe(len(problem.train), None, None, False)
    choice = family.choices(recipe, arm)[0] | more
    cells = [StudentCell(stage="test", arm=arm, width=family.size, seed=seed, **choice) for seed in seeds]
    return [student.probabilities(taught_problem.test.X) for student in family.train(taught_problem, recipe, cells)]


@pytest.mark.parametrize("name", ["tree", "boosted-trees", "forest"])
@pytest.mark.parametrize("arm", ["hard", "soft"])
def test_seeds_make_students_differ(name, arm):
    one, other = trained(name, arm)
    assert not np.array_equal(one, other)


def test_logistic_students_of_all_seeds_are_the_same():
    one, other = trained("logistic")
    assert np.array_equal(one, other)


@pytest.mark.parametrize("student", ["tree", "logistic", DecisionTreeClassifier(min_samples_leaf=5), small_network])
def test_verdicts(tmp_path, student):
    more = {"epochs": 2} if callable(student) else {}
    result = verdict(TOY.inputs, TOY.labels, TOY.truth, student=student, seeds=3, out=tmp_path, **more)
    document = result.to_dict()
    assert result.verdict in ANSWERS
    assert np.isfinite([result.gap.low, result.gap.mean, result.gap.high]).all()
    json.dumps(document, allow_nan=False)
    family = family_of(student)
    assert document["settings"]["student"] == family.name
    assert document["settings"]["width"] == family.size
    assert family.phrase(family.size) in str(result)
    assert comparable(read_run(tmp_path).to_dict()) == comparable(document)


def test_without_variance_of_seeds_test_rows_alone_decide(tmp_path):
    result = verdict(TOY.inputs, TOY.labels, TOY.wrong, student="logistic", seeds=12, out=tmp_path)
    assert result.analysis.gap.run_part == 0
    assert result.gap.low < result.gap.mean < result.gap.high
    assert result.verdict == "hard wins"
    assert result.runs == 5  # the first look


def test_a_plan_of_trees(tmp_path):
    result = plan(
        TOY.inputs, TOY.labels, TOY.truth, student="tree", accuracy=0.57, widths=[4, 8, 16], seeds=6, confirm=0,
        out=tmp_path,
    )  # fmt: skip
    assert result.rival is None
    assert "leaves" in str(result)
    entry = result.to_dict()["students"][0]
    model = sl.load_model(entry["files"][0])
    assert model.softening.calibration is not None
    problem = sl.load((TOY.inputs, TOY.labels))
    right = (model.predict(problem.X[problem.test.rows]) == problem.test.y).mean()
    assert right == pytest.approx(entry["accuracy"])


@pytest.mark.parametrize("student", ["forest", lambda seed: torch.nn.Sequential(torch.nn.LazyLinear(2))])
def test_files_of_students_take_the_columns_of_a_table(tmp_path, student):
    """Text and gaps included."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({
        "age": [None if k % 17 == 0 else value for k, value in enumerate(rng.normal(50, 10, 300))],
        "city": np.array(["Rome", "Paris", "Oslo"])[rng.integers(3, size=300)],
        "dose": rng.standard_normal(300),
    })  # fmt: skip
    labels = np.where(frame["dose"].to_numpy() + (frame["city"] == "Rome").to_numpy() > 0.3, "ill", "well")

    def teacher(rows):
        score = 3 * (rows["dose"].to_numpy() + (rows["city"].to_numpy() == "Rome") - 0.3)
        return np.stack([score, -score], axis=1)

    more = {"epochs": 100} if callable(student) else {"widths": [4, 8]}
    result = plan(frame, labels, teacher, student=student, accuracy=0.6, seeds=5, confirm=0, out=tmp_path, **more)
    assert result.exported
    for path in result.exported:
        model = sl.load_model(path)
        assert model.columns == ("age", "city", "dose")
        assert model.classes == ("ill", "well")
        assert (np.array(model.classes)[model.predict(frame)] == labels).mean() > 0.7


@pytest.mark.parametrize(("accuracy", "width"), [(0.6, 1), (0.999, None)])
def test_a_plan_of_one_size_answers_yes_or_no(tmp_path, accuracy, width):
    result = plan(TOY.inputs, TOY.labels, TOY.truth, student="logistic", accuracy=accuracy, seeds=3, out=tmp_path)
    assert result.hard.width == width
    assert len(result.curve) == 2


def test_a_plan_of_networks_of_any_size(tmp_path):
    def network(seed, size):
        return torch.nn.Sequential(torch.nn.Linear(4, size), torch.nn.ReLU(), torch.nn.Linear(size, 1))

    result = plan(
        TOY.inputs, TOY.labels, TOY.truth, student=network, accuracy=0.55, widths=[2, 8], seeds=3, epochs=6,
        bisections=0, out=tmp_path,
    )  # fmt: skip
    assert [point.parameters for point in result.points("hard")] == [13, 49]
    assert all(path.endswith(".onnx") for path in result.exported)


def test_images_reach_a_network_as_images(tmp_path):
    seen = set()

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(64, 2)

        def forward(self, pixels):
            seen.add(tuple(pixels.shape[1:]))
            return self.layer(pixels.flatten(1))

    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    pixels = rng.uniform(0, 0.4, (200, 1, 8, 8)).astype(np.float32)
    pixels[labels == 1, :, :4] += 0.4
    problem = sl.load((pixels, labels))

    def teacher(x):
        return np.asarray(x)[:, 0, :4].mean((1, 2)) * 40 - 16

    result = verdict(problem, teacher=teacher, student=lambda seed: Network(), seeds=2, epochs=2, out=tmp_path)
    assert result.verdict in ANSWERS
    assert seen == {(1, 8, 8)}


def test_a_run_of_local_functions_cannot_be_resumed_from_its_directory(tmp_path):
    def stop(at):
        if at.stage.startswith("look"):
            raise KeyboardInterrupt

    def ask(progress):
        return verdict(
            TOY.inputs, TOY.labels, TOY.truth, student=lambda seed: small_network(seed), seeds=2, epochs=1,
            out=tmp_path, progress=progress,
        )  # fmt: skip

    with pytest.raises(KeyboardInterrupt):
        ask(stop)
    with pytest.raises(SoftlabelError, match="rerun the original call"):
        resume(tmp_path)
    assert ask(False).runs == 2


def test_other_processes_train_the_same_students(tmp_path):
    def ask(executor):
        return verdict(
            TOY.inputs, TOY.labels, TOY.truth, student=DecisionTreeClassifier(max_features=0.5), seeds=2,
            executor=executor, out=tmp_path / executor,
        )  # fmt: skip

    assert comparable(ask("local").to_dict()) == comparable(ask("serial").to_dict())


def test_a_local_function_needs_the_serial_executor(tmp_path):
    with pytest.raises(InputError, match="use `executor` 'serial'"):
        verdict(TOY.inputs, TOY.labels, TOY.truth, student=lambda seed: small_network(seed), executor="local",
                out=tmp_path / "run")  # fmt: skip
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"student": "tree", "width": 1}, "number of leaves of a student must be a whole number from 2"),
        ({"student": "logistic", "width": 4}, "have one size, 1, got"),
        ({"student": "forest", "batch_size": 10}, "`batch_size` does not apply"),
        ({"student": "resnet"}, "`student` 'resnet' needs images"),
        ({"student": small_network, "width": 8}, "use a function of seed and size"),
    ],
)
def test_what_a_family_does_not_have_is_refused(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        verdict(TOY.inputs, TOY.labels, TOY.truth, out=tmp_path / "run", **change)
    assert not (tmp_path / "run").exists()


def test_every_family_has_equal_budgets():
    for family in FAMILIES.values():
        recipe = family.recipe(1000, None, None, False)
        assert len({len(family.choices(recipe, arm)) for arm in ("hard", "soft", "smooth", "transfer")}) == 1
