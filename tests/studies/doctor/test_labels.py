"""Every mistake in a teacher's labels is made on purpose, in files, and named."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, softmax

from softlabel.errors import InputError
from softlabel.studies.doctor import doctor
from softlabel.studies.doctor.labels import AGREEMENT

CLASSES = ("cat", "dog", "fox")


def made(rows=200, classes=CLASSES, seed=1, sure=4.0):
    """A table and a teacher's true probabilities: classes are drawn from them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, len(classes))).round(6)
    p = softmax(sure * x, axis=1)
    y = (p.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1)
    frame = pl.DataFrame({f"x{k}": x[:, k] for k in range(len(classes))})
    return frame.with_columns(pl.Series("kind", [classes[k] for k in y])), p, y


def examine(tmp_path, frame, labels, **options):
    frame.write_csv(tmp_path / "data.csv")
    if isinstance(labels, pl.DataFrame):
        path = tmp_path / "labels.csv"
        labels.write_csv(path)
    else:
        path = tmp_path / "labels.npy"
        np.save(path, labels)
    return doctor(tmp_path / "data.csv", path, label="kind", **options)


def named(p, prefix="p_", classes=CLASSES):
    return pl.DataFrame({f"{prefix}{name}": p[:, k] for k, name in enumerate(classes)})


def only(result, name):
    assert [finding.name for finding in result.findings] == [name]
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["findings"][0]["name"] == name
    return result.findings[0]


def test_healthy_labels_have_no_findings(tmp_path):
    frame, p, _ = made()
    for labels in (
        p,
        np.log(p),
        np.log(p) + 7,
        named(p),
        named(np.log(p), "logit_"),
        named(p).select("p_fox", "p_cat", "p_dog"),
    ):
        result = examine(tmp_path, frame, labels)
        assert result.findings == ()
        assert len(result.examined) == 2


def test_healthy_labels_of_two_classes(tmp_path):
    frame, p, _ = made(classes=("no", "yes"))
    odds = np.log(p[:, 1] / p[:, 0])
    for labels in (p, p[:, 1], odds, pl.DataFrame({"p_yes": p[:, 1]}), pl.DataFrame({"p_no": p[:, 0]}),
                   pl.DataFrame({"logit_yes": odds})):  # fmt: skip
        assert examine(tmp_path, frame, labels).findings == ()


@pytest.mark.parametrize("seed", range(8))
def test_a_teacher_that_knows_little_is_not_accused(tmp_path, seed):
    frame, p, _ = made(seed=seed, sure=0.4)
    assert examine(tmp_path, frame, p).findings == ()
    rng = np.random.default_rng(100 + seed)
    weak = softmax(0.5 * rng.standard_normal((200, 3)) + 0.3 * np.log(p), axis=1)
    assert not {one.name for one in examine(tmp_path, frame, weak).findings} - {"misaligned labels"}


@pytest.mark.parametrize("shift", [1, -1, 3, -10])
def test_labels_shifted_by_a_few_rows(tmp_path, shift):
    frame, p, _ = made()
    finding = only(examine(tmp_path, frame, np.roll(p, shift, axis=0)), "misaligned labels")
    rows = f"{abs(shift)} row{'' if abs(shift) == 1 else 's'} {'up' if shift > 0 else 'down'}"
    assert f"they fit shifted by {rows}:" in finding.remedy
    assert finding.evidence[f"shifted by {rows}"] > 0.6 > 0.5 > finding.evidence[AGREEMENT]


def test_labels_of_the_sorted_data(tmp_path):
    frame, p, y = made()
    finding = only(examine(tmp_path, frame, p[np.argsort(y, kind="stable")]), "misaligned labels")
    assert "the data sorted by the label" in finding.remedy
    finding = only(examine(tmp_path, frame, p[np.argsort(frame["x1"].to_numpy())]), "misaligned labels")
    assert "the data sorted by column 'x1'" in finding.remedy
    finding = only(examine(tmp_path, frame, p[::-1]), "misaligned labels")
    assert "in reverse order" in finding.remedy


def test_labels_that_a_common_column_would_match(tmp_path):
    frame, p, _ = made()
    frame = frame.with_columns(pl.Series("patient", [f"n{k * 7919 % 100003}" for k in range(200)]))
    order = np.random.default_rng(0).permutation(200)
    labels = named(p).with_columns(frame["patient"])[order]
    result = examine(tmp_path, frame, labels)
    assert result.findings[0].name == "misaligned labels"
    assert "matched by column 'patient'" in result.findings[0].remedy
    assert examine(tmp_path, frame, labels, id_column="patient").findings == ()


def test_labels_in_no_known_order(tmp_path):
    frame, p, _ = made()
    shuffled = p[np.random.default_rng(0).permutation(200)]
    finding = only(examine(tmp_path, frame, shuffled), "misaligned labels")
    assert finding.evidence[AGREEMENT] < 0.45 < finding.evidence["claimed"]


def test_labels_of_another_number_of_rows(tmp_path):
    frame, p, _ = made()
    finding = only(examine(tmp_path, frame, p[:-1]), "misaligned labels")
    assert finding.evidence == {"rows of labels": 199, "rows of data.csv": 200}


def test_labels_find_their_split(tmp_path):
    frame, p, _ = made()
    other, q, _ = made(seed=2)
    frame.write_csv(tmp_path / "train.csv")
    other.write_csv(tmp_path / "test.csv")
    np.save(tmp_path / "q.npy", q)
    np.save(tmp_path / "p.npy", p)
    paths = [tmp_path / name for name in ("train.csv", "q.npy", "test.csv", "p.npy")]
    assert doctor(*paths, label="kind").findings == ()


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1)])
def test_classes_in_another_order(tmp_path, order):
    frame, p, _ = made()
    finding = only(examine(tmp_path, frame, p[:, order]), "classes in another order")
    assert finding.evidence["with the columns reordered"] > finding.evidence[AGREEMENT] + 0.1
    for column, meant in enumerate(order):
        renamed = f"'{CLASSES[column]}' means '{CLASSES[meant]}'"
        assert (renamed in finding.evidence["columns"]) == (column != meant)


def test_two_classes_the_wrong_way_round(tmp_path):
    frame, p, _ = made(classes=("no", "yes"))
    assert only(examine(tmp_path, frame, p[:, 0]), "classes in another order")


def test_probabilities_written_as_logits(tmp_path):
    frame, p, _ = made()
    finding = only(examine(tmp_path, frame, named(p, "logit_")), "probabilities given as logits")
    assert finding.evidence["sum of a row"] == pytest.approx(1)
    assert finding.evidence["largest probability, read as logits"] < 0.6
    finding = only(examine(tmp_path, frame, expit(4 * np.log(p) + 5)), "probabilities given as logits")
    assert finding.evidence["largest"] <= 1
    finding = only(examine(tmp_path, frame, 100 * p), "probabilities given as logits")
    assert "divide them by 100" in finding.remedy


def test_probabilities_of_two_classes_written_as_logits(tmp_path):
    frame, p, _ = made(classes=("no", "yes"))
    assert only(examine(tmp_path, frame, pl.DataFrame({"logit_yes": p[:, 1]})), "probabilities given as logits")


def test_logits_written_as_probabilities(tmp_path):
    frame, p, _ = made()
    finding = only(examine(tmp_path, frame, named(np.log(p))), "logits given as probabilities")
    assert "logit_CLASS" in finding.remedy
    frame, p, _ = made(classes=("no", "yes"))
    odds = np.log(p[:, 1] / p[:, 0])
    finding = only(examine(tmp_path, frame, pl.DataFrame({"p_yes": odds})), "logits given as probabilities")
    assert finding.evidence["smallest number"] == pytest.approx(odds.min())


def test_a_few_rows_that_do_not_add_up(tmp_path):
    frame, p, _ = made()
    p[7] *= 0.8
    for labels in (p, named(p)):
        finding = only(examine(tmp_path, frame, labels), "neither probabilities nor logits")
        assert finding.evidence["first row without probabilities"] == 8


@pytest.mark.parametrize("sure", [2.0, 4.0, 10.0])
def test_labels_softmaxed_twice(tmp_path, sure):
    frame, p, _ = made(sure=sure)
    finding = only(examine(tmp_path, frame, softmax(p, axis=1)), "softmaxed twice")
    assert finding.evidence["with one softmax undone"] == pytest.approx(p.max(), abs=1e-4)
    frame, p, _ = made(classes=("no", "yes"), sure=sure)
    assert only(examine(tmp_path, frame, softmax(p, axis=1)), "softmaxed twice")
    assert only(examine(tmp_path, frame, expit(p[:, 1])), "softmaxed twice")


def test_collapsed_labels(tmp_path):
    frame, _, _ = made()
    finding = only(examine(tmp_path, frame, np.tile([0.5, 0.3, 0.2], (200, 1))), "collapsed labels")
    assert finding.evidence["share of rows labeled 'cat'"] == 1.0
    noise = 0.1 * np.random.default_rng(2).random((200, 1)) * [-1, 0.5, 0.5]
    finding = only(examine(tmp_path, frame, np.array([0.8, 0.1, 0.1]) + noise), "collapsed labels")
    assert finding.evidence["largest range of a class probability"] > 0.05
    assert 0.4 < finding.evidence["AUC"] < 0.6


def test_labels_that_name_one_class_but_rank_rows_are_shifted(tmp_path):
    frame, p, _ = made()
    finding = only(examine(tmp_path, frame, 0.2 * p + [0.8, 0, 0]), "labels shifted toward one class")
    assert finding.evidence["its mean probability"] > finding.evidence["its share in the data"] + 0.05
    assert finding.evidence["AUC"] > 0.8


@pytest.mark.parametrize("ranks", [True, False])
def test_a_good_teacher_of_a_rare_class_has_not_collapsed(tmp_path, ranks):
    """It predicts the rare class, 4% of the rows, for none of them, because no row is likelier to have it than not."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(1500).round(6)
    p = expit(1.1 * x - 3.6)
    p[p > 0.45] = 0.45
    sick = rng.random(1500) < p
    assert 0.02 < sick.mean() < 0.06
    frame = pl.DataFrame({"x": x, "kind": np.where(sick, "sick", "well")})
    labels = pl.DataFrame({"p_sick": p, "p_well": 1 - p})
    result = examine(tmp_path, frame, labels if ranks else labels[rng.permutation(1500)])
    expected = ["imbalanced classes"] if ranks else ["collapsed labels", "imbalanced classes"]
    assert [finding.name for finding in result.findings] == expected


def test_hard_labels(tmp_path):
    frame, p, y = made()
    decided = np.eye(3)[p.argmax(axis=1)]
    assert only(examine(tmp_path, frame, decided), "hard labels").severity == "mistake"
    assert only(examine(tmp_path, frame, 30 * decided), "hard labels")
    finding = only(examine(tmp_path, frame, y), "hard labels")
    assert "class numbers" in finding.remedy


def test_ids_of_labels(tmp_path):
    frame, p, _ = made()
    frame = frame.with_columns(pl.Series("id", range(1000, 1200)))
    order = np.random.default_rng(0).permutation(200)
    labels = named(p).with_columns(frame["id"])
    assert examine(tmp_path, frame, labels[order], id_column="id").findings == ()
    finding = only(examine(tmp_path, frame, labels[:190], id_column="id"), "ids without labels")
    assert (finding.evidence["ids of the data without labels"], finding.evidence["the first"]) == (10, "'1190'")
    twice = pl.concat([labels, labels[3:4]])
    finding = only(examine(tmp_path, frame, twice, id_column="id"), "ids twice")
    assert (finding.evidence["in rows"], finding.where["file"][-10:]) == ([4, 201], "labels.csv")
    wrong = named(p).with_columns(pl.Series("id", np.roll(np.arange(1000, 1200), 1)))
    finding = only(examine(tmp_path, frame, wrong, id_column="id"), "misaligned labels")
    assert "check the ids" in finding.remedy


def test_few_rows_are_not_judged_by_their_order(tmp_path):
    frame, p, _ = made(rows=20)
    assert examine(tmp_path, frame, np.roll(p, 1, axis=0)).findings == ()


def test_labels_beside_an_archive(tmp_path):
    frame, p, y = made()
    np.savez(tmp_path / "data.npz", X=frame.drop("kind").to_numpy(), y=y)
    np.save(tmp_path / "p.npy", np.roll(p, 2, axis=0))
    assert only(doctor(tmp_path / "data.npz", tmp_path / "p.npy"), "misaligned labels")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full((200, 4), 0.25), "has shape"),
        (np.full((200, 3), np.nan), "not finite"),
        (pl.DataFrame({"u": ["a"] * 200}), "has 1 column"),
        (np.array(["a"] * 200), "must be numbers"),
    ],
)
def test_files_that_are_no_labels_are_bad_input(tmp_path, labels, message):
    with pytest.raises(InputError, match=message) as problem:
        examine(tmp_path, made()[0], labels)
    assert "\n" not in str(problem.value)


def test_pickles_are_never_loaded(tmp_path):
    frame, _, _ = made()
    frame.write_csv(tmp_path / "data.csv")
    np.save(tmp_path / "labels.npy", np.array([{}] * 200), allow_pickle=True)
    with pytest.raises(InputError, match="holds Python objects, which softlabel never unpickles"):
        doctor(tmp_path / "data.csv", tmp_path / "labels.npy", label="kind")
