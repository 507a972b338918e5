"""The top of a verdict's page: the answer in one sentence, one picture, advice and costs."""

from types import SimpleNamespace

import pytest

from softlabel.lab.statistics import Interval
from softlabel.report.drawing import chart_figure
from softlabel.report.interactive import plotly_json
from softlabel.report.page import write_page
from softlabel.studies.verdict.answer import advice, lead, picture
from softlabel.studies.verdict.page import verdict_page
from tests.studies.students.quick import verdict
from tests.studies.students.toy import Toy

NOISY = Toy(rows=600, sharp=1.0)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return verdict(
        NOISY.inputs, NOISY.labels, NOISY.truth, width=3, seeds=4, epochs=3, batch_size=64,
        out=tmp_path_factory.mktemp("verdict") / "run",
    )  # fmt: skip


def judged(result, word: str, mean: float, low: float, high: float) -> SimpleNamespace:
    """The result with another answer."""
    return SimpleNamespace(
        verdict=word, gap=Interval(mean, low, high, 4), settings=result.settings, arms=result.arms,
        comparisons=result.comparisons, facts=result.facts,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "gap", "begin", "says"),
    [
        ("soft wins", (1.9, 0.9, 2.9), "Yes, distill: students of 3 neurons", "gain 1.9 points of accuracy (95%"),
        (
            "hard wins",
            (-4.1, -5.0, -3.0),
            "No, do not distill",
            "lose 4.1 points of accuracy (95% interval −5.0 to −3.0)",
        ),
        ("no difference", (0.1, -0.2, 0.3), "No need to distill", "within the ±0.5 points that do not matter"),
        ("undecided", (-4.1, -9.0, 2.0), "Undecided", "anything from −9.0 to +2.0 points is plausible"),
    ],
)
def test_the_first_sentence_answers(result, word, gap, begin, says):
    other = judged(result, word, *gap)
    sentence = lead(other)
    assert sentence.startswith(begin)
    assert says in sentence
    assert sentence.count(".") - sentence.count("0.") < 8
    assert advice(other)


def test_advice_follows_the_answer(result):
    assert "soft labels" in advice(judged(result, "soft wins", 2.0, 1.0, 3.0))[0]
    assert "no teacher is needed" in advice(judged(result, "hard wins", -2.0, -3.0, -1.0))[0]


def test_the_picture_shows_the_gap_against_the_range_that_does_not_matter(result):
    (panel,) = picture(result).panels
    assert panel.horizontal
    assert panel.band == (-0.5, 0.5)
    first = panel.series[0]
    assert (list(first.y), list(first.low), list(first.high)) == (
        [result.gap.mean], [result.gap.low], [result.gap.high],
    )  # fmt: skip
    left, right = chart_figure(picture(result)).axes[0].get_xlim()
    assert left < min(result.gap.low, -0.5) < max(result.gap.high, 0.5) < right
    assert '"x0":-0.5' in plotly_json(picture(result))
    assert '"error_x"' in plotly_json(picture(result))


def test_answer_and_picture_come_before_everything_else(result, tmp_path):
    page = verdict_page(result)
    text = write_page(page, tmp_path).read_text()
    order = [text.index(part) for part in (
        'class="lead"', 'id="chart-answer"', "What to do, and what it costs", "The arms", "<h2>Method</h2>",
    )]  # fmt: skip
    assert order == sorted(order)
    assert len(page.answer) <= 2


def test_every_sentence_of_the_summary_is_on_the_page(result):
    page = verdict_page(result)
    shown = " ".join([*page.answer, *page.notes, *page.warnings])
    for sentence in result.summary:
        assert sentence.removeprefix("Warning: ")[1:] in shown


def test_the_cost_of_the_teacher_is_named(result):
    table = verdict_page(result).costs
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.cells}
    assert list(table.header) == ["", "student", "teacher"]
    assert rows["parameters"][0] == f"{result.arms['hard'].parameters:,}"
    assert rows["time to train"][1].endswith((" s", " min"))
