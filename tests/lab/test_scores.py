import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from softlabel.errors import InputError
from softlabel.lab.scores import METRICS, example_scores, find_metric, unseen


def said(seed: int, n: int, classes: int, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((n, classes))
    if ties:
        logits = np.round(logits)
    p = np.exp(logits)
    truth = np.concatenate([np.arange(classes), rng.integers(classes, size=n - classes)])
    return p / p.sum(1, keepdims=True), truth


@given(st.integers(0, 10**6), st.integers(12, 60), st.sampled_from([2, 3, 5]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_means_are_the_metrics_of_scikit_learn(seed, n, classes, ties):
    p, truth = said(seed, n, classes, ties)
    area = roc_auc_score(truth, p[:, 1]) if classes == 2 else roc_auc_score(truth, p, multi_class="ovr")
    assert example_scores("auc", p, truth).mean() == pytest.approx(area)
    assert -example_scores("log loss", p, truth).mean() == pytest.approx(log_loss(truth, p))
    if not ties:
        assert example_scores("accuracy", p, truth).mean() == pytest.approx((p.argmax(1) == truth).mean())
        balanced = balanced_accuracy_score(truth, p.argmax(1))
        assert example_scores("balanced accuracy", p, truth).mean() == pytest.approx(balanced)


def test_a_tie_is_a_mistake():
    assert example_scores("accuracy", np.array([[0.5, 0.5], [0.4, 0.6]]), np.array([0, 1])).tolist() == [0, 1]


def test_the_variance_of_pseudo_values_is_that_of_the_area_over_samples():
    rng = np.random.default_rng(0)

    def sample(n=400):
        truth = (np.arange(n) < n // 3).astype(int)
        one = 1 / (1 + np.exp(-(rng.standard_normal(n) + 1.2 * truth)))
        return np.stack([1 - one, one], axis=1), truth

    areas, claimed = [], []
    for _ in range(400):
        scores = example_scores("auc", *sample())
        areas.append(scores.mean())
        claimed.append(scores.var(ddof=1) / len(scores))
    assert np.mean(claimed) == pytest.approx(np.var(areas, ddof=1), rel=0.2)


@pytest.mark.parametrize("name", ["AUC", "log-loss", "Balanced_Accuracy", "accuracy"])
def test_names_are_found_however_they_are_spelled(name):
    assert find_metric(name) in METRICS


def test_an_unknown_metric_is_refused_with_the_nearest():
    names = "accuracy, balanced-accuracy, auc, log-loss"  # as the command line spells them
    with pytest.raises(InputError, match=f"did you mean 'accuracy'\\? there are {names}$"):
        find_metric("acuracy")


def test_the_variance_of_balanced_accuracy_is_that_over_samples():
    """Few rows of one class: what a class contributes is its own spread, not the weight of its rows."""
    rng = np.random.default_rng(0)
    truth = (np.arange(1000) < 20).astype(int)
    values, claimed = [], []
    for _ in range(400):
        right = rng.random(1000) < 0.9
        one = np.where(right == (truth == 1), 0.8, 0.2)
        scores = example_scores("balanced accuracy", np.stack([1 - one, one], axis=1), truth)
        values.append(scores.mean())
        claimed.append(scores.var(ddof=1) / len(scores))
    assert np.mean(claimed) == pytest.approx(np.var(values, ddof=1), rel=0.2)


@pytest.mark.parametrize("metric", ["accuracy", "balanced accuracy", "auc"])
@pytest.mark.parametrize("class_rows", [(40, 400), (30, 60, 90)])
def test_what_was_not_met_hides_no_more_than_it_says(metric, class_rows):
    """A kind of examples, of any class, on which all is wrong: where none was met, the bound holds in all but α."""
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(len(class_rows)), class_rows)
    failure, missed = 0.05, 0
    for _ in range(400):
        shares = rng.random(len(class_rows)) * 0.15
        if (rng.random(len(truth)) < shares[truth]).any():
            continue  # one was met: the ordinary interval knows of them
        weights = np.array(class_rows) / len(truth)
        lost = {"accuracy": shares @ weights, "balanced accuracy": shares.mean(), "auc": _lost_area(shares, weights)}
        missed += 100 * lost[metric] > unseen(metric, class_rows, failure)
    assert missed <= 400 * failure


def _lost_area(shares, weights):
    """Mean over one-against-rest curves: a pair is lost where either of it is of the kind."""
    others = [np.delete(shares, k) @ np.delete(weights, k) / (1 - weights[k]) for k in range(len(shares))]
    return np.mean([1 - (1 - own) * (1 - rest) for own, rest in zip(shares, others, strict=True)])


@pytest.mark.parametrize("classes", [2, 20])
def test_even_classes_hide_no_more_of_balanced_accuracy_than_of_accuracy(classes):
    """A kind that was not met may be of any class, but not of all of them at once."""
    class_rows = (50,) * classes
    assert unseen("balanced accuracy", class_rows, 0.01) == pytest.approx(unseen("accuracy", class_rows, 0.01))


def test_the_auc_of_rare_classes_is_bounded_by_the_rows_that_were_met():
    assert unseen("auc", (60, 3940), 0.0097) == pytest.approx(100 * np.log(1 / 0.0097) / 60)
    assert unseen("auc", (60, 3940), 0.0097, farthest=0.0) == 0
    farthest = 100 * 0.3 * 4000 / 60  # one row of the rare class, placed 0.3 apart by both arms
    assert unseen("auc", (60, 3940), 0.0097, farthest) == pytest.approx(0.3 * unseen("auc", (60, 3940), 0.0097))


def test_absent_classes_count_for_nothing():
    for metric in METRICS:
        assert unseen(metric, (40, 0, 60), 0.05) == unseen(metric, (40, 60), 0.05)


def test_the_log_loss_has_no_bound():
    assert unseen("log loss", (10, 10), 0.05) == 0
