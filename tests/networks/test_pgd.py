import dataclasses
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.errors import DivergedError, InputError
from softlabel.networks import (
    Labels,
    Student,
    TrainingOptions,
    Validation,
    hard_labels,
    soft_labels,
    teacher_logits,
    train_students,
)
from softlabel.networks.activations import ACTIVATIONS
from softlabel.networks.initialization import INITS, draw_weights
from softlabel.networks.optimizers import OPTIMIZERS
from softlabel.networks.pgd import StackTraining
from softlabel.networks.two_layer import TwoLayer
from tests.networks.plain import plain_training

DOUBLE = TrainingOptions(precision="float64")


def problem(n: int = 60, d: int = 7, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, dict[str, Labels]]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1).max()
    if classes == 2:
        z = 4 * np.sin(3 * x[:, 0]) + x[:, 1]
        return x, {
            "hard": hard_labels(np.where(z > 0, 1, -1)),
            "teacher": teacher_logits(z),
            "soft": soft_labels(1 / (1 + np.exp(-z))),
        }
    z = x @ rng.standard_normal((d, classes)) * 5
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    return x, {"hard": hard_labels(z.argmax(1)), "teacher": teacher_logits(z), "soft": soft_labels(p)}


LOSSES = [
    {"labels": "hard"},
    {"labels": "hard", "smoothing": 0.2},
    {"labels": "teacher", "temperature": 3.0},
    {"labels": "teacher", "temperature": 3.0, "temperature_on": "both"},
    {"labels": "soft", "temperature": 2.0},
    {"labels": "soft", "smoothing": 0.1},
]


def many(width: int = 6, **settings) -> list[Student]:
    return [
        Student(width=width, seed=k, learning_rate=0.7, radius=0.9, **loss, **settings) for k, loss in enumerate(LOSSES)
    ]


def check_all(x, labels, students, tolerance, *, iterations=15, dtype=torch.float64, batches=None, **options):
    precision = str(dtype).removeprefix("torch.")
    settings = TrainingOptions(precision=precision)
    run = train_students(x, students, labels, iterations=iterations, options=settings, **options)
    rule = {"optimizer": options["optimizer"]} if "optimizer" in options else {}
    for trained in run:
        student = trained.settings
        truth, _ = plain_training(
            x, student, labels[student.labels], iterations=iterations, dtype=dtype, batches=batches, **rule
        )
        np.testing.assert_allclose(trained.network.logits(x), truth, rtol=0, atol=tolerance)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_equals_a_plain_network_trained_alone(init, activation, classes):
    x, labels = problem(classes=classes)
    check_all(x, labels, many(init=init, activation=activation), 1e-10)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("train_output", "biases"), [(True, False), (False, True), (True, True)])
def test_trainable_output_and_biases_equal_plain(train_output, biases, classes):
    x, labels = problem(classes=classes)
    check_all(x, labels, many(train_output=train_output, biases=biases), 1e-10)
    check_all(x, labels, many(width=5, init="gaussian", train_output=train_output, biases=biases), 1e-10)


@pytest.mark.parametrize("optimizer", ["gradient", "adam"])
@pytest.mark.parametrize("n", [60, 9])  # more rows than columns, and fewer (rotated into their span)
def test_mini_batches_equal_plain(optimizer, n):
    x, labels = problem(n=n, d=20)
    order = [np.random.default_rng([5, epoch]).permutation(n) for epoch in range(9)]
    batches = [epoch[s : s + 4] for epoch in order for s in range(0, n, 4)]
    check_all(x, labels, many(), 1e-10, batches=batches, batch_size=4, seed=5, optimizer=optimizer)


@pytest.mark.parametrize("optimizer", ["gradient", "adam"])
def test_few_rows_and_empty_columns_equal_plain(optimizer):
    x, labels = problem(n=12, d=60)
    x[:, ::3] = 0
    students = [*many(), *many(biases=True), *many(width=4, activation="tanh")]
    check_all(x, labels, students, 1e-10, optimizer=optimizer)


def test_everything_at_once_equals_plain():
    """Widths, starts, shapes, labels and losses mixed in one run, odd widths among them."""
    x, labels = problem()
    students = [
        *many(),
        *many(width=3, init="he"),
        *many(width=5, init="glorot", train_output=True, activation="gelu"),
        *many(width=2, biases=True),
        *[dataclasses.replace(s, radius=None) for s in many(width=8)],
        *many(output_scale=3.0),
        *many(width=5, init="torch", output_scale=0.5, train_output=True, biases=True),
    ]
    check_all(x, labels, students, 1e-10)


@pytest.mark.parametrize("outputs", [1, 2])
def test_an_ordinary_pytorch_network(outputs):
    """`init` "torch" with an output scale of √m is a network of linear layers, with one output or two."""
    x, labels = problem()
    hard = labels["hard"].values
    two = Labels("hard", np.stack([hard < 0, hard > 0], axis=1).astype(float))
    student = Student(width=5, seed=3, init="torch", output_scale=5**0.5, train_output=True, biases=True, radius=None,
                      learning_rate=0.05)  # fmt: skip
    run = train_students(x, [student], two if outputs == 2 else labels["hard"], iterations=20, optimizer="adam",
                         options=TrainingOptions(precision="float64"))  # fmt: skip
    drawn = draw_weights("torch", width=5, inputs=x.shape[1], outputs=outputs, seed=3)
    network = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 5), torch.nn.ReLU(), torch.nn.Linear(5, outputs)).double()
    arrays = (drawn.hidden, drawn.hidden_bias, drawn.output, drawn.output_bias)
    with torch.no_grad():
        for parameter, array in zip(network.parameters(), arrays, strict=True):
            parameter.copy_(torch.from_numpy(array))
    adam = torch.optim.Adam(network.parameters(), lr=0.05)
    inputs, truth = torch.from_numpy(x).double(), torch.from_numpy((hard > 0).astype(int))
    for _ in range(20):
        logits = network(inputs)
        loss = (
            torch.nn.functional.cross_entropy(logits, truth)
            if outputs == 2
            else torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], truth.double())
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
    expected = network(inputs).detach().numpy()
    np.testing.assert_allclose(run[0].network.logits(x), expected if outputs == 2 else expected[:, 0], atol=1e-10)


def test_float32_is_within_a_hundred_thousandth():
    x, labels = problem()
    check_all(x, labels, many(), 1e-5, dtype=torch.float32)


def repeated(labels: dict[str, Labels], times: np.ndarray) -> dict[str, Labels]:
    return {name: Labels(given.kind, given.values.repeat(times, axis=0)) for name, given in labels.items()}


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("optimizer", ["gradient", "adam"])
@pytest.mark.parametrize("blocks", [None, 17])
def test_weights_equal_repeated_rows_and_zero_equals_absence(classes, optimizer, blocks, monkeypatch):
    """Against one plain network on the repeated rows; weights count by their ratios alone."""
    if blocks is not None:
        monkeypatch.setattr("softlabel.networks.fused.block_rows", lambda rows, inputs: blocks)
    x, labels = problem(classes=classes)
    times = np.random.default_rng(1).integers(0, 4, len(x))
    assert (times == 0).any()
    students = [*many(), *many(width=5, init="he", train_output=True, biases=True)]
    if optimizer == "adam":  # which makes steps out of gradients that are nothing but rounding
        students = [dataclasses.replace(student, learning_rate=0.02) for student in students]
    options = {
        "iterations": 12, "optimizer": optimizer, "options": TrainingOptions(precision="float64", record_every=6)
    }  # fmt: skip
    run = train_students(x, students, labels, sample_weight=times * 0.37, **options)
    longer = repeated(labels, times)
    again = train_students(x.repeat(times, axis=0), students, longer, **options)
    for trained, other in zip(run, again, strict=True):
        student = trained.settings
        truth, losses = plain_training(
            x.repeat(times, axis=0), student, longer[student.labels], iterations=12, optimizer=optimizer
        )
        result = trained.network.logits(x)
        np.testing.assert_allclose(result.repeat(times, axis=0), truth, rtol=0, atol=1e-10)
        np.testing.assert_allclose(result, other.network.logits(x), rtol=0, atol=1e-10)
        np.testing.assert_allclose(trained.records["loss"][:2], [losses[0], losses[6]], rtol=0, atol=1e-10)


def test_weights_in_mini_batches_are_divided_by_the_batch_size():
    x, labels = problem(n=10)
    y = torch.from_numpy(labels["hard"].values)
    weights = np.random.default_rng(2).uniform(0, 3, 10)
    student = Student(width=4, init="he", radius=None, learning_rate=0.7)
    run = train_students(x, [student], labels, sample_weight=weights, epochs=3, batch_size=4, seed=5, options=DOUBLE)
    init = TwoLayer.initialized("he", width=4, inputs=7)
    hidden = init.hidden.clone().requires_grad_()
    for epoch in range(3):
        order = np.random.default_rng([5, epoch]).permutation(10)
        for rows in (order[:4], order[4:8], order[8:]):
            f = torch.relu(torch.from_numpy(x[rows]) @ hidden.t()) @ init.output[0] / 2
            counts = torch.from_numpy(weights[rows] / weights.mean())
            loss = (counts * torch.log1p(torch.exp(-y[rows] * f))).sum() / len(rows)
            (slope,) = torch.autograd.grad(loss, hidden)
            hidden = (hidden - 0.7 * slope).detach().requires_grad_()
    torch.testing.assert_close(run[0].network.hidden, hidden.detach(), rtol=0, atol=1e-12)


def test_equal_weights_are_none():
    x, labels = problem()
    plain, weighted = (
        train_students(x, many(), labels, sample_weight=w, iterations=9) for w in (None, np.full(60, 1e-300))
    )
    for one, other in zip(plain, weighted, strict=True):
        torch.testing.assert_close(one.network.hidden, other.network.hidden, rtol=0, atol=1e-6)


def test_more_rows_than_a_block_holds(monkeypatch):
    monkeypatch.setattr("softlabel.networks.fused.block_rows", lambda rows, inputs: 17)
    x, labels = problem()
    check_all(x, labels, [*many(), *many(width=3, init="he", train_output=True, biases=True)], 1e-10)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 300),
    d=st.integers(1, 70),
    widths=st.lists(st.integers(1, 40).map(lambda h: 2 * h), min_size=1, max_size=5),
    precision=st.sampled_from(["float32", "float64"]),
    classes=st.sampled_from([2, 3]),
)
def test_a_symmetric_init_is_exactly_zero(n, d, widths, precision, classes):
    rng = np.random.default_rng(n * d)
    x = rng.standard_normal((n, d))
    z = np.tile([1.0, -1.0], n)[:n] if classes == 2 else np.eye(3)[np.arange(n) % 3]
    seen = []
    run = train_students(
        x,
        [Student(width=w, seed=k, labels="t") for k, w in enumerate(widths)],
        {"t": teacher_logits(z), "hard": Labels("hard", z)},
        iterations=1,
        options=TrainingOptions(
            precision=precision,
            record_every=1,
            callback=lambda step, weights: seen.append([weights[k].logits(x) for k in range(len(widths))]),
        ),
    )
    assert all((f == 0).all() for f in seen[0])
    assert all(trained.records["error"][0] == 1.0 for trained in run)  # y·0 ≤ 0 is an error


def test_same_settings_give_the_same_bits_and_companions_only_rounding():
    x, labels = problem(n=500, d=30)
    students = [Student(width=w, seed=s, learning_rate=0.5) for w, s in itertools.product((4, 6, 8), range(4))]
    together = train_students(x, students, labels, iterations=40)
    again = train_students(x, students, labels, iterations=40)
    for one, other in zip(together, again, strict=True):
        assert torch.equal(one.network.hidden, other.network.hidden)
    alone = [train_students(x, [student], labels, iterations=40)[0] for student in students]
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one.network.hidden, other.network.hidden, rtol=0, atol=2e-6)


def test_a_memory_mapped_table_equals_the_same_in_memory(tmp_path):
    x, labels = problem(n=300, d=20)
    x = x.astype(np.float32)
    x[:, 3] = 0
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for options in ({}, {"batch_size": 50}):
        kept = train_students(x, many(), labels, iterations=10, options=TrainingOptions(record_every=5), **options)
        streamed = train_students(
            mapped, many(), labels, iterations=10, options=TrainingOptions(record_every=5), **options
        )
        for one, other in zip(kept, streamed, strict=True):
            assert torch.equal(one.network.hidden, other.network.hidden)
            assert one.records == other.records


def test_records_are_what_they_say():
    x, labels = problem()
    students = many()
    networks: dict[int, list] = {}
    run = train_students(
        x,
        students,
        labels,
        iterations=12,
        options=TrainingOptions(
            precision="float64",
            record_every=5,
            callback_every=5,
            callback=lambda step, weights: networks.__setitem__(step, [weights[k] for k in range(len(students))]),
        ),
    )
    y = labels["hard"].values
    for k, trained in enumerate(run):
        assert trained.records["step"] == [0, 5, 10, 12]
        _, losses = plain_training(x, students[k], labels[students[k].labels], iterations=12)
        np.testing.assert_allclose(trained.records["loss"][:3], [losses[0], losses[5], losses[10]], atol=1e-12)
        init, last = networks[0][k], networks[12][k]
        assert trained.records["error"][-1] == np.mean(y * last.logits(x) <= 0)
        moved = (last.hidden - init.hidden).norm(dim=1).max() * np.sqrt(6) / 0.9
        assert trained.records["displacement"][-1] == pytest.approx(float(moved))
        flips = ((x @ last.hidden.numpy().T > 0) != (x @ init.hidden.numpy().T > 0)).mean()
        assert trained.records["flipped"][-1] == pytest.approx(flips)


@pytest.mark.parametrize("blocks", [None, 17])
def test_dead_neurons_are_active_on_no_example(blocks, monkeypatch):
    """Odd widths, whose phantom is active nowhere, in one run with even ones; on inputs that let neurons die."""
    if blocks is not None:
        monkeypatch.setattr("softlabel.networks.fused.block_rows", lambda rows, inputs: blocks)
    x, labels = problem(d=3)
    x = np.abs(x)
    students = [
        *[Student(width=w, init="gaussian", learning_rate=3.0, seed=w) for w in (1, 3, 7, 15)],
        *[Student(width=w, biases=True, learning_rate=5.0, radius=None, activation="tanh") for w in (2, 8)],
    ]
    networks = []
    options = TrainingOptions(
        precision="float64", record_every=20, callback_every=20,
        callback=lambda step, weights: networks.append([weights[k] for k in range(len(students))]),
    )  # fmt: skip
    run = train_students(x, students, labels, iterations=20, options=options)
    shares = []
    for k, trained in enumerate(run):
        for record, network in zip(trained.records["dead"], (networks[0][k], networks[1][k]), strict=True):
            bias = 0 if network.hidden_bias is None else network.hidden_bias.numpy()
            z = x @ network.hidden.numpy().T + bias
            shares.append(np.mean(z.max(axis=0) <= 0))
            assert record == pytest.approx(shares[-1], abs=1e-12)
    assert max(shares) > 0
    assert min(shares) < 1


def test_the_radius_holds_and_none_lets_go():
    x, labels = problem()
    bound = train_students(
        x, [Student(width=4, radius=0.05)], labels, iterations=60, options=TrainingOptions(record_every=10)
    )[0]
    free = train_students(
        x, [Student(width=4, radius=None)], labels, iterations=60, options=TrainingOptions(record_every=10)
    )[0]
    assert max(bound.records["displacement"]) <= 1 + 1e-6
    assert bound.records["displacement"][-1] == pytest.approx(1, abs=1e-5)
    assert free.records["displacement"][-1] > 0.2


def test_tolerance_stops_a_student_that_rests_and_lets_the_others_go_on():
    x, labels = problem()
    students = [Student(width=4, radius=0.01), Student(width=4, radius=None, seed=1)]
    run = train_students(x, students, labels, iterations=400, options=TrainingOptions(tolerance=1e-3))
    assert run[0].stopped == "tolerance"
    assert run[0].steps < 400
    assert run[1].stopped == "iterations"
    alone = train_students(x, students[1:], labels, iterations=400)[0]
    torch.testing.assert_close(run[1].network.hidden, alone.network.hidden, rtol=0, atol=1e-4)


def test_early_stopping_keeps_the_best_weights_of_each_student():
    x, labels = problem(n=120)
    x_validation, y_validation = x[80:], labels["hard"].values[80:]
    train = {"hard": hard_labels(labels["hard"].values[:80])}
    students = [Student(width=w, learning_rate=s, radius=None) for w, s in ((4, 5.0), (8, 0.5), (2, 20.0))]
    seen: list[list[float]] = [[] for _ in students]

    def collect(step, weights):
        for k in weights.training:
            seen[k].append(float(np.mean(y_validation * weights[k].logits(x_validation) <= 0)))

    run = train_students(
        x[:80],
        students,
        train,
        iterations=300,
        validation=Validation(x_validation, y_validation, every=1, patience=8),
        options=TrainingOptions(callback=collect),
    )
    assert {trained.stopped for trained in run} >= {"validation"}
    for k, trained in enumerate(run):
        assert trained.validation_error == min(seen[k])
        assert trained.best_step == int(np.argmin(seen[k]))
        assert float(np.mean(y_validation * trained.network.logits(x_validation) <= 0)) == min(seen[k])
        if trained.stopped == "validation":
            assert trained.steps == trained.best_step + 8


def test_validation_sees_columns_that_are_empty_in_training():
    x, labels = problem(n=80, d=30)
    train = x.copy()
    train[:, 10:] = 0
    y = labels["hard"].values
    run = train_students(train, [Student(width=6)], y, iterations=3, validation=Validation(x, y))
    error = run[0].validation_error
    assert error == np.mean(y * run[0].network.logits(x) <= 0)


def test_divergence_names_the_student_and_the_step():
    x, labels = problem()
    students = [Student(width=4), Student(width=6, seed=3, learning_rate=1e38, radius=None)]
    with pytest.raises(DivergedError, match=r"student 1 \(width 6, seed 3, labels 'hard'\).*at step \d+"):
        train_students(x, students, labels, iterations=20)


X, LABELS = problem()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": X[:, 0]}, "rows and columns"),
        ({"inputs": np.where(np.arange(60)[:, None] == 7, np.nan, X)}, "nan at row 7, column 0"),
        ({"inputs": np.where(np.arange(7) == 2, np.inf, X)}, "inf at row 0, column 2"),
        ({"inputs": X[:50]}, "'hard' have 60 rows, inputs have 50"),
        ({"inputs": np.full((60, 2), "a")}, "must be numbers"),
        ({"students": []}, "at least one Student"),
        ({"students": [Student(width=4, labels="tutor")]}, "unknown label array 'tutor'"),
        ({"iterations": None}, "exactly one of `iterations`"),
        ({"iterations": 0}, "iterations must be a whole number from 1"),
        ({"epochs": 3}, "exactly one of `iterations`"),
        ({"optimizer": "adamm"}, "did you mean 'adam'"),
        ({"options": {"precision": "float16"}}, "precision must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"batch_size": 5, "options": {"tolerance": 0.1}}, "`tolerance` needs full-batch"),
        ({"options": {"tolerance": -1.0}}, "tolerance must be"),
        ({"options": {"record_every": 0}}, "record_every must be"),
        ({"options": {"callback_every": 0}}, "callback_every must be"),
        ({"sample_weight": np.ones(59)}, r"one entry per row: 60 rows, got shape \(59,\)"),
        ({"sample_weight": np.ones((60, 2))}, r"one column per student: 1 in all, got shape \(60, 2\)"),
        ({"sample_weight": np.where(np.arange(60) == 7, -1.0, 1.0)}, "not negative, got -1.0 at row 7"),
        ({"sample_weight": np.where(np.arange(60) == 8, np.nan, 1.0)}, "finite and not negative, got nan at row 8"),
        ({"sample_weight": np.where(np.arange(60) == 9, np.inf, 1.0)}, "finite and not negative, got inf at row 9"),
        ({"sample_weight": np.zeros(60)}, "`sample_weight` is zero for every row"),
        ({"sample_weight": ["heavy"] * 60}, "sample_weight must be numeric"),
        ({"validation": Validation(X[:, :3], LABELS["hard"].values)}, "7 columns as in training, got 3"),
        ({"validation": Validation(X[:9], LABELS["hard"].values)}, "60 rows, validation inputs have 9"),
        (
            {"labels": {"hard": LABELS["hard"], "k": Labels("logits", np.zeros((60, 3)))}},
            "differ in the number of classes",
        ),
    ],
)
def test_bad_calls_say_what_is_wrong(change, message):
    call = {"inputs": X, "students": [Student(width=4)], "labels": LABELS, "iterations": 2} | change
    with pytest.raises(InputError, match=message):
        train_students(**(call | {"options": TrainingOptions(**call.get("options", {}))}))


@pytest.mark.parametrize("optimizer", ["gradient", "adam"])
@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_schedules_are_their_formulas(schedule, optimizer):
    """A run with a schedule equals one whose learning rates are set step by step."""
    x, labels = problem()
    students, steps = many(), 7
    result = train_students(
        x, students, labels, iterations=steps, schedule=schedule, optimizer=optimizer, options=DOUBLE
    )
    by_hand = StackTraining(x, students, labels, None, optimizer, None, DOUBLE)
    for step in range(steps):
        finished = step / steps
        factor = 1 - finished if schedule == "linear" else 0.5 * (1 + np.cos(np.pi * finished))
        for group in by_hand.stack.slots():
            group.learning_rate *= factor
        by_hand.update = OPTIMIZERS[optimizer]()  # which has not seen other learning rates
        by_hand.advance(step, None)
        for group in by_hand.stack.slots():
            group.learning_rate /= factor
    for number, trained in enumerate(result):
        np.testing.assert_allclose(
            trained.network.logits(x), by_hand.stack.network(number).logits(x), rtol=0, atol=1e-12
        )
    constant = train_students(x, students, labels, iterations=steps, optimizer=optimizer, options=DOUBLE)
    assert np.abs(constant[0].network.logits(x) - result[0].network.logits(x)).max() > 1e-6


def test_an_unknown_schedule():
    x, labels = problem()
    with pytest.raises(InputError, match="unknown schedule 'cosin': did you mean 'cosine'"):
        train_students(x, many(), labels, iterations=3, schedule="cosin")
