"""Every mistake in training is made on purpose, by training with the setting that causes it, and named."""

import json

import numpy as np
import pytest

from softlabel.cli.main import run
from softlabel.networks import Student, TrainingOptions, hard_labels, train_students
from softlabel.studies.doctor import doctor
from softlabel.studies.doctor.courses import Course, CourseGroup, Signs
from softlabel.studies.doctor.records import write_records
from softlabel.studies.doctor.signatures import examine_group

SHORT = "learning rate too small or training too short"


def names(result, severity="mistake"):
    return {finding.name for finding in result.findings if finding.severity == severity}


def trained(tmp_path, words, code=0):
    """The findings of doctor on `softlabel train` with these options."""
    assert run(["train", *words.split(), "--out", str(tmp_path / "run")]) == code
    result = doctor(tmp_path / "run")
    json.dumps(result.to_dict(), allow_nan=False)
    return result


def write_csv(path, x, y):
    columns = [f"x{k}" for k in range(x.shape[1])]
    lines = [",".join([*columns, "y"])] + [",".join(map(str, [*row, label])) for row, label in zip(x, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def quadrants(rows=400, seed=7):
    """The four quadrants of the plane, two classes in turn: two neurons cannot tell them apart."""
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, rows)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1), (np.sin(2 * angle) > 0).astype(int)


@pytest.mark.parametrize(
    "words",
    [
        "--learning-rate 20", "--learning-rate 30 --width 64", "--learning-rate 0.1 --optimizer adam",
        "--learning-rate 20 --radius 30", "--learning-rate 30 --activation tanh", "--learning-rate 10 --smoothing 0.3",
        "--learning-rate 10 --batch-size 8 --epochs 6",
    ],
)  # fmt: skip
def test_healthy_runs_have_no_mistakes(tmp_path, words):
    result = trained(tmp_path, f"digits --width 8 {words}")
    assert result.findings == ()
    assert str(result).endswith("No known mistake was found.")


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("words", ["--learning-rate 1000 --activation tanh", "--learning-rate 100 --radius 5"])
def test_a_learning_rate_that_is_too_large(tmp_path, words, seed):
    result = trained(tmp_path, f"digits --width 8 {words} --seed {seed}")
    assert "learning rate too large" in names(result)
    finding = next(one for one in result.findings if one.name == "learning rate too large")
    assert finding.where["width"] == 8
    assert finding.where["learning rate"] == float(words.split()[1])
    assert f"instead of {words.split()[1]}" in finding.remedy
    assert not names(result) & {SHORT, "width too small", "radius too small"}


def test_a_learning_rate_with_which_students_diverge(tmp_path):
    result = trained(tmp_path, "digits --width 8 --learning-rate 1e38", code=1)
    assert names(result) == {"learning rate too large"}
    assert "diverged at step 0" in result.findings[0].evidence["the first"]


@pytest.mark.parametrize("rate", ["1e-9", "0.01", "0.3", "2"])
def test_a_learning_rate_that_is_too_small(tmp_path, rate):
    result = trained(tmp_path, f"digits --width 8 --learning-rate {rate}")
    assert names(result) == {SHORT}
    assert "use a larger learning rate" in result.findings[0].remedy


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_training_that_is_too_short(tmp_path, epochs, seed):
    """Though after so few batches the loss still jumps."""
    assert names(trained(tmp_path, f"digits --width 8 --learning-rate 20 --epochs {epochs} --seed {seed}")) == {SHORT}


def test_neurons_that_a_large_step_killed(tmp_path):
    result = trained(tmp_path, "digits --width 8 --learning-rate 300")
    assert names(result) == {"dead neurons"}
    assert result.findings[0].evidence["share of neurons inactive on every recorded row"] == 1.0


def test_half_of_the_neurons_dead_is_a_hint(tmp_path):
    result = trained(tmp_path, "digits --width 8 --learning-rate 1 --optimizer adam --seeds 4")
    assert "dead neurons" in names(result, "hint")
    assert "dead neurons" not in names(result)


def test_seeds_of_which_some_are_dead_from_the_start(tmp_path):
    """Inputs in a narrow cone: two equal neurons that point away from it never see any of them."""
    rng = np.random.default_rng(3)
    side = np.where(np.arange(200) % 2 == 0, 0.3, -0.3)
    x = np.stack([np.ones(200) + 0.01 * rng.standard_normal(200), side + 0.02 * rng.standard_normal(200)], axis=1)
    table = write_csv(tmp_path / "cone.csv", x, (side > 0).astype(int))
    result = trained(tmp_path, f"{table} --label y --scale max --width 2 --learning-rate 3 --epochs 100 --seeds 9")
    assert "seeds disagree" in names(result)
    evidence = next(one for one in result.mistakes if one.name == "seeds disagree").evidence
    assert 1 <= evidence["seeds that failed"] < evidence["of"] == 9
    assert evidence["their training error"] > 0.4 > 0.1 > evidence["that of the others"]
    assert evidence["their loss, relative to the initial one"] == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_seeds_of_which_a_large_step_kills_some(tmp_path, seed):
    words = f"digits --width 8 --learning-rate 60 --batch-size 8 --epochs 6 --seeds 9 --seed {seed}"
    assert "seeds disagree" in names(trained(tmp_path, words))


def test_a_width_that_is_too_small(tmp_path):
    table = write_csv(tmp_path / "quadrants.csv", *quadrants())
    result = trained(tmp_path, f"{table} --label y --width 2 --width 32 --learning-rate 10 --epochs 100 --seeds 3")
    assert names(result) == {"width too small"}
    assert result.mistakes[0].where["width"] == 2
    evidence = result.mistakes[0].evidence
    assert evidence["training error"] > evidence["error of wider students, or the teacher's"] + 0.05


def test_a_width_with_nothing_to_compare_is_a_hint(tmp_path):
    table = write_csv(tmp_path / "quadrants.csv", *quadrants())
    result = trained(tmp_path, f"{table} --label y --width 2 --learning-rate 10 --epochs 600 --seeds 3")
    assert names(result) == set()
    assert names(result, "hint") == {"width too small"}


@pytest.mark.parametrize("radius", ["0.001", "0.03", "0.3"])
def test_a_radius_that_is_too_small(tmp_path, radius):
    result = trained(tmp_path, f"digits --width 8 --learning-rate 10 --radius {radius}")
    assert names(result) == {"radius too small"}
    assert result.findings[0].evidence["share of neurons that the projection restrains"] >= 0.5


def test_a_radius_that_never_binds(tmp_path):
    result = trained(tmp_path, "digits --width 8 --learning-rate 20 --radius 1000")
    assert names(result) == set()
    assert names(result, "hint") == {"radius too large"}
    assert result.findings[0].evidence["largest displacement, relative to the radius"] < 0.1


def test_a_radius_that_never_binds_while_the_student_overfits(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 30))
    y = (x[:, 0] + rng.standard_normal(150) > 0).astype(int)
    table = write_csv(tmp_path / "noisy.csv", x, y)
    words = f"{table} --label y --width 64 --learning-rate 0.02 --optimizer adam --radius 1000 --epochs 100 --seeds 3"
    assert names(trained(tmp_path, words)) == {"radius too large"}


def test_several_radii_are_compared_with_each_other(tmp_path):
    """A radius that costs 5 points against a larger one of the same run, though it is far from guessing."""
    from softlabel.data import load

    rows = load("digits", task="label>4").full_train
    labels = {"hard": hard_labels(rows.signs)}
    students = [
        Student(width=8, seed=seed, radius=radius, learning_rate=5.0) for radius in (5.0, 40.0) for seed in range(3)
    ]
    done = train_students(
        rows.in_unit_ball, students, labels, epochs=40, batch_size=128, options=TrainingOptions(record_every=50)
    )
    write_records(tmp_path, students, labels, run=done, evaluation_errors=[0.1] * 6)
    result = doctor(tmp_path)
    assert names(result) == {"radius too small"}
    assert result.mistakes[0].where["radius"] == 5.0
    assert result.mistakes[0].evidence["training error"] < 0.24


def test_soft_labels_are_measured_by_their_teacher(tmp_path):
    """Students cannot be expected to beat a teacher that errs in a third of the rows."""
    x, y = quadrants()
    table = write_csv(tmp_path / "quadrants.csv", x, y)
    rng = np.random.default_rng(1)
    wrong = rng.random(len(y)) < 0.35
    np.save(tmp_path / "p.npy", np.where((y == 1) != wrong, 0.9, 0.1))
    words = f"{table} --label y --soft-labels {tmp_path / 'p.npy'} --width 32 --learning-rate 5 --epochs 100 --seeds 3"
    result = trained(tmp_path, words)
    records = json.loads((tmp_path / "run" / "records.json").read_text())
    assert records["teacher_error"] == pytest.approx(0.35, abs=0.06)
    assert result.findings == ()


def group(*losses, errors=None, **more):
    """Students whose losses at thirteen records are these."""
    steps = list(range(13))
    students = tuple(
        Course(seed, steps, list(loss), None if errors is None else [errors[seed]] * 13)
        for seed, loss in enumerate(losses)
    )
    return CourseGroup("", "hard", 8, 1.0, 1.0, 0.0, None, students, **more)


def named_in(one, **more):
    return {finding.name for finding in examine_group(one, **more)}


def test_a_cosine_is_not_mistaken_for_convergence():
    """The same fall along the path: steady in steps of a constant size, and under a cosine, where it looks flat."""
    over = np.arange(13) / 12
    path = over + np.sin(np.pi * over) / np.pi
    steady = 1 - 0.5 * path
    assert steady[9] - steady[12] < 0.03  # next to nothing in the last quarter of the steps
    assert named_in(group(steady, errors=[0.3], schedule="cosine")) == {SHORT}
    assert named_in(group(1 - 0.5 * over, errors=[0.3])) == {SHORT}
    assert named_in(group(1 - 0.5 * path, errors=[0.3])) == set()


@pytest.mark.parametrize("rate", [0.5, 2.0, 4.0, 8.0])
def test_what_is_left_of_an_exponential_fall_decides(rate):
    loss = 0.2 + 0.8 * np.exp(-rate * np.arange(13) / 12)
    assert (SHORT in named_in(group(loss, errors=[0.2]))) == (rate < 2.77)
    assert named_in(group(loss, errors=[0.001])) == set()


def test_signs_of_a_known_course():
    signs = Signs.from_course(Course(0, [0, 1, 2, 3, 4], [1.0, 2.0, 0.5, 0.75, 0.5]), "constant")
    assert (signs.initial, signs.highest, signs.end) == (1.0, 2.0, 0.5)
    assert signs.climbs == pytest.approx(2.5)
    assert (signs.last_half, signs.last_quarter) == (0.0, 0.0)
    noisy = Signs.from_course(Course(0, [0, 1, 2, 3, 4], [1.0, 0.8, 0.6, 0.5, 0.55]), "constant")
    assert (noisy.last_half, noisy.last_quarter) == (pytest.approx(0.2), 0.0)


def test_most_seeds_must_show_a_learning_rate_that_is_too_large():
    calm = np.geomspace(1, 0.1, 13)
    wild = np.where(np.arange(13) % 2, 2.0, 1.0)
    assert "learning rate too large" in named_in(group(calm, wild, wild, errors=[0.1] * 3))
    assert "learning rate too large" not in named_in(group(calm, calm, wild, errors=[0.1] * 3))


def test_labels_with_nothing_to_learn_are_left_alone():
    assert named_in(group(np.zeros(13), errors=[0.5])) == set()


def test_students_without_errors_are_judged_by_their_losses():
    assert named_in(group(1 - 0.05 * np.arange(13))) == {SHORT}
    assert named_in(group(np.geomspace(1, 0.01, 13))) == set()


def test_widths_that_were_tried_on_purpose():
    rest = 0.5 + 0.5 * np.exp(-np.arange(13))
    assert named_in(group(rest, errors=[0.3]), wider=0.1) == {"width too small"}
    assert named_in(group(rest, errors=[0.3]), wider=0.1, narrow_on_purpose=True) == set()
    assert named_in(group(rest, errors=[0.3]), wider=0.26) == set()


@pytest.mark.parametrize(
    ("ends", "failed"),
    [
        ([0.1, 0.12, 0.9], 1),
        ([0.1, 0.9, 0.95, 1.0], 3),
        ([0.04, 0.04, 0.04, 0.04, 0.6, 1.0, 1.0, 1.0], 4),
        ([0.1, 0.35, 0.6, 0.85], 0),
        ([0.1, 0.4, 0.5, 0.7, 0.9], 0),
        ([0.3, 0.32, 0.5], 0),
        ([0.1, 0.9], 0),
    ],
)
def test_two_clusters_are_distinguished_from_a_spread(ends, failed):
    one = group(*(np.geomspace(1, end, 13) for end in ends), errors=[end / 2 for end in ends])
    clusters = [finding for finding in examine_group(one) if finding.name == "seeds disagree"]
    assert [finding.evidence["seeds that failed"] for finding in clusters] == ([failed] if failed else [])
