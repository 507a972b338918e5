"""The top of a plan's page: the answer in one sentence, one picture, advice and costs."""

from dataclasses import replace

import pytest

from softlabel.report.page import write_page
from softlabel.studies.plan.answer import advice, lead, picture, promise, recommended
from softlabel.studies.plan.page import plan_page
from softlabel.studies.plan.search import fit_curve
from tests.studies.students.quick import plan
from tests.studies.students.toy import Toy

TOY = Toy(rows=600, sharp=4.0)


@pytest.fixture
def result(tmp_path):
    return plan(
        TOY.inputs, TOY.labels, TOY.truth, accuracy=0.7, widths=[2, 4], seeds=3, epochs=5, batch_size=64, confirm=0,
        bisections=0, out=tmp_path / "run",
    )  # fmt: skip


def planned(result, **widths: int | None) -> None:
    """Replace the planned widths."""
    for arm, width in widths.items():
        parameters = None if width is None else 10 * width
        arms = replace(result.arms[arm], width=width, accuracy_width=width or 4, parameters=parameters)
        result.arms[arm] = arms


@pytest.mark.parametrize(
    ("widths", "says"),
    [
        (
            {"soft": 4, "hard": 8},
            "A student of 4 neurons (40 parameters) appears to reach accuracy 0.7 when it learns from soft",
        ),
        ({"soft": 4, "hard": 8}, "on hard labels it takes 8 neurons."),
        ({"soft": 4, "hard": 4}, "learns from hard labels, and needs the same size on soft labels."),
        ({"soft": None, "hard": 4}, "on soft labels no student of up to 4 neurons is shown to."),
        ({"soft": None, "hard": None}, "No student of up to 4 neurons is shown to reach accuracy 0.7"),
    ],
)
def test_the_first_sentence_answers(result, widths, says):
    planned(result, **widths)
    assert says in lead(result)


def test_the_chosen_student_is_marked_in_the_picture(result):
    planned(result, soft=4, hard=8)
    (panel,) = picture(result).panels
    (star,) = (series for series in panel.series if series.star)
    assert list(star.x) == [4.0]
    assert list(star.y) == [result.soft.accuracy.mean]
    assert recommended(result).arm == "soft"
    assert promise(result)


def test_without_a_student_there_is_no_mark_but_advice(result):
    planned(result, soft=None, hard=None)
    (panel,) = picture(result).panels
    assert not any(series.star for series in panel.series)
    assert promise(result) == []
    assert "larger students" in advice(result)[0]


def test_answer_and_picture_come_before_everything_else(result, tmp_path):
    text = write_page(plan_page(result), tmp_path).read_text()
    order = [text.index(part) for part in (
        'class="lead"', 'id="chart-answer"', "What to do, and what it costs", "The plan", "<h2>Method</h2>",
    )]  # fmt: skip
    assert order == sorted(order)


def law(widths, top, half, power, chance=0.1):
    return [chance + (top - chance) / (1 + (half / width) ** power) for width in widths]


def test_a_fitted_curve_that_says_something():
    widths = [2, 4, 8, 16, 32, 64]
    fit = fit_curve(widths, law(widths, 0.95, 6.0, 2.0), 0.1)
    assert fit.informative
    assert fit.half == pytest.approx(6.0, rel=1e-3)
    assert fit.half_interval[0] <= 6.0 + 1e-6
    assert fit.half_interval[1] >= 6.0 - 1e-6


@pytest.mark.parametrize(
    "accuracies",
    [
        [0.93, 0.94, 0.95, 0.955, 0.957, 0.958],  # halfway is far below the narrowest student
        [0.95, 0.949, 0.951, 0.95, 0.949, 0.951],
        [0.5, 0.9, 0.4, 0.95, 0.3, 0.9],
    ],
)
def test_a_fitted_curve_that_says_nothing_is_not_printed(result, accuracies):
    fit = fit_curve([2, 4, 8, 16, 32, 64], accuracies, 0.1)
    assert fit is None or not fit.informative
    result.fits = {"soft": fit, "hard": fit}
    assert "Fitted curve" not in str(result)
