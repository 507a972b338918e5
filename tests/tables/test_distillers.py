"""The page of the comparison with other distillers: means over splits, and choices that never see the test rows."""

import json

import pytest
from benchmarks.distillers_page import chosen, compared, summarized, write_page


def run(name, kind, seed, accuracy, own, **more):
    return {"table": "t", "seed": seed, "name": name, "kind": kind, "accuracy": accuracy, "log_loss": 0.5,
            "bytes": 1000, "milliseconds": 0.1, "milliseconds_thousand": 1.0, "seconds": 1.0,
            "own_score": own} | more  # fmt: skip


OURS, THEIRS = "softlabel student", "AutoGluon student"
RUNS = [
    run("softlabel: tree", OURS, 0, 0.7, own=0.9, way=0.8),
    run("softlabel: tree", OURS, 1, 0.8, own=0.6, way=0.6),
    run("softlabel: two-layer", OURS, 0, 0.9, own=0.7, way=0.8),
    run("softlabel: two-layer", OURS, 1, 0.6, own=0.7, way=0.8),
    run("AutoGluon: A", THEIRS, 0, 0.75, own=-0.1, bytes=4000),
    run("AutoGluon: A", THEIRS, 1, 0.75, own=-0.1, bytes=6000),
    run("AutoGluon: B", THEIRS, 1, 0.99, own=-0.2),
]
ABSENT = {"table": "t", "seed": 0, "name": "softlabel: forest", "kind": OURS, "accuracy": None, "seconds": 1.0}


def test_means_over_splits_with_the_range():
    tree, *_ = summarized(RUNS)
    assert tree["accuracy"] == pytest.approx(0.75)
    assert (tree["low"], tree["high"], tree["runs"], tree["of"], tree["ways"]) == (0.7, 0.8, 2, 2, [0.8, 0.6])


def test_a_choice_uses_each_sides_own_score():
    assert [run["accuracy"] for run in chosen(RUNS, OURS).values()] == [0.7, 0.6]  # not the best on test rows
    assert {run["name"] for run in chosen(RUNS, THEIRS).values()} == {"AutoGluon: A"}


def test_losses_are_shown():
    line = next(line for line in compared({"t": RUNS}) if line.startswith("| t |"))
    assert "-10.00 points" in line
    assert "5.0×" in line


def test_a_family_without_a_student_is_a_row(tmp_path):
    settings = {"tables": "t", "families": "tree", "seeds": 2, "rows": 9, "time_limit": 1.0, "plan": "", "remark": ""}
    write_page(tmp_path, [*RUNS, ABSENT], settings)
    assert "| softlabel: forest | 1/2 | – | no student reaches the goal |" in (tmp_path / "README.md").read_text()
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["settings"] == settings
    assert len(document["runs"]) == len(RUNS) + 1


def test_without_students_of_both_sides_there_is_nothing_to_compare():
    assert "| t | – | A | – |" in "\n".join(compared({"t": [ABSENT, RUNS[4]]}))
