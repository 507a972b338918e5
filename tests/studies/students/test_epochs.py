"""How long students are trained: doubled while an arm gains, the same for all arms, and said where it is cut short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.lab import CellResult, StageResults
from softlabel.studies.students.epochs import (
    LEAST_GAIN,
    TrainingLength,
    by_epochs,
    epoch_cells,
    epoch_stages,
    length_warning,
    training_length,
)
from softlabel.studies.students.recipe import MOST_STEPS, Recipe, StudentCell, recipe_for

RECIPE = Recipe(epochs=10, batch_size=32, doublings=4, tuning_seeds=3)
CHOSEN = [StudentCell(stage="choose", arm=arm, width=8, seed=0, learning_rate=0.1) for arm in ("hard", "soft")]


def searched(quality, recipe=RECIPE, fold=0):
    """Results of a search in which a student's score is quality(arm, epochs, seed)."""
    results = StageResults()
    for k, stage in enumerate(epoch_stages(recipe), start=1):
        for cell in epoch_cells(recipe, k, results, CHOSEN, 0, fold):
            results.add(stage, cell, CellResult({"validation": quality(cell.arm, cell.epochs, cell.seed)}))
    return results


@pytest.mark.parametrize(
    ("best", "epochs", "cut"), [(10, 10, False), (40, 40, False), (160, 160, True), (9999, 160, True)]
)
def test_epochs_are_doubled_while_students_gain(best, epochs, cut):
    results = searched(lambda arm, epochs, seed: 0.5 + 0.01 * np.log2(min(epochs, best)))
    assert training_length(RECIPE, results) == TrainingLength(epochs, cut)


def test_one_arm_that_gains_is_enough_and_all_arms_train_as_long():
    results = searched(lambda arm, epochs, seed: 0.9 if arm == "hard" else 0.5 + 0.01 * np.log2(min(epochs, 40)))
    assert training_length(RECIPE, results).epochs == 40
    assert {cell.arm for cell, _ in results["epochs ×4"]} == {"hard", "soft"}
    assert results["epochs ×16"] == []  # nothing was gained by ×8


def test_small_gains_and_noise_do_not_count():
    results = searched(lambda arm, epochs, seed: 0.5 + 0.9 * LEAST_GAIN * np.log2(epochs))
    assert training_length(RECIPE, results).epochs == 10
    rng = np.random.default_rng(0)
    lengths = [
        training_length(RECIPE, searched(lambda *_: 0.5 + 0.01 * rng.standard_normal())).epochs for _ in range(200)
    ]
    assert np.mean(np.array(lengths) == 10) > 0.5
    assert np.mean(np.array(lengths) == 160) < 0.1


@given(st.integers(0, 4), st.integers(1, 5))
def test_the_search_never_looks_at_other_folds(fold, other):
    gaining = searched(lambda arm, epochs, seed: np.log2(epochs), fold=fold)
    assert training_length(RECIPE, gaining, fold).epochs == 160
    assert training_length(RECIPE, gaining, fold + other).epochs == 10


def test_a_number_that_a_user_chose_is_used_as_it_is():
    assert recipe_for(1000, epochs=7).doublings == 0
    assert epoch_stages(recipe_for(1000, epochs=7)) == []
    assert training_length(recipe_for(1000, epochs=7), StageResults()) == TrainingLength(7, cut_short=False)


@given(st.integers(2, 10**7))
def test_the_longest_training_has_a_limit(rows):
    recipe = recipe_for(rows)
    steps = -(-rows // recipe.batch_size) * recipe.epochs
    assert recipe.doublings == 0 or steps * 2**recipe.doublings <= MOST_STEPS < steps * 2 ** (recipe.doublings + 1)


def test_seeds_of_the_search_are_used_for_nothing_else():
    cells = epoch_cells(RECIPE, 1, StageResults(), CHOSEN, 5)
    assert len(cells) == 2 * 2 * 3
    assert min(cell.seed for cell in cells) >= 1_500_000


def test_students_of_different_lengths_are_trained_apart_and_keep_their_order():
    cells = [CHOSEN[0].model_copy(update={"seed": k, "epochs": (None, 20, 40)[k % 3]}) for k in range(7)]
    calls = []

    def train(recipe, some):
        calls.append((recipe.epochs, [cell.seed for cell in some]))
        return [cell.seed for cell in some]

    assert by_epochs(RECIPE, cells, train) == list(range(7))
    assert calls == [(10, [0, 3, 6]), (20, [1, 4]), (40, [2, 5])]


def test_a_training_that_was_cut_short_is_said():
    assert length_warning([TrainingLength(10), TrainingLength(20)]) is None
    assert "reached 160" in str(length_warning([TrainingLength(10), TrainingLength(160, cut_short=True)]))
