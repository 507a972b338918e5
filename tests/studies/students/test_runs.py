"""Verdicts and plans are the same with every executor, after a killed worker, and when resumed without their data."""

import os
import signal
import subprocess
import sys
from multiprocessing import active_children
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

import softlabel as sl
from softlabel.errors import InputError
from softlabel.studies.arguments import problem_from
from softlabel.studies.students import preparation
from tests.lab.toys import contents
from tests.studies.students.quick import comparable, plan, verdict
from tests.studies.students.toy import Toy

TOY = Toy(rows=200, sharp=3.0)
QUESTIONS = {
    "verdict": (verdict, {"width": 2, "epochs": 1, "batch_size": 64, "seeds": 5}),
    "plan": (plan, {"accuracy": 0.6, "widths": (2, 4), "seeds": 6, "confirm": 0, "bisections": 0, "epochs": 20}),
}


def ask(name: str, out, **more):
    function, settings = QUESTIONS[name]
    return function(TOY.problem(), teacher=TOY.truth, out=out, **settings, **more)


@pytest.fixture(scope="module", params=QUESTIONS)
def serial(request, tmp_path_factory):
    """The question, its result and its run directory with the serial executor."""
    run_dir = tmp_path_factory.mktemp("serial") / "run"
    return request.param, ask(request.param, run_dir), run_dir


def same(serial, result, run_dir) -> None:
    _, expected, expected_dir = serial
    assert comparable(result.to_dict()) == comparable(expected.to_dict())
    assert contents(run_dir) == contents(expected_dir)


def test_processes_give_the_same_result_also_if_one_is_killed(serial, tmp_path):
    victims = []

    def kill(at) -> None:
        if at.done and not victims:
            victims.append(active_children()[0].pid)
            os.kill(victims[0], signal.SIGKILL)

    result = ask(serial[0], tmp_path / "run", executor="local", progress=kill)
    same(serial, result, tmp_path / "run")
    assert len(victims) == 1
    assert active_children() == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_dask_gives_the_same_result(serial, tmp_path):
    result = ask(serial[0], tmp_path / "run", executor="dask")
    same(serial, result, tmp_path / "run")


def test_an_interrupted_run_resumes_from_its_directory_alone(serial, tmp_path):
    def stop(at) -> None:
        if at.stage not in ("teacher", "choose"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(serial[0], tmp_path / "run", progress=stop)
    assert 0 < len(contents(tmp_path / "run")["bundles"]) < len(contents(serial[2])["bundles"])
    code = "import sys; import softlabel as sl; sl.resume(sys.argv[1], sl.Execution(progress=False))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=True)  # it has neither data nor teacher
    result = sl.read_run(tmp_path / "run")
    same(serial, result, tmp_path / "run")
    assert result.report == tmp_path / "run" / "report.html"
    if serial[0] == "plan":
        assert result.exported
        assert all(Path(path).is_file() for path in result.exported)


def test_a_run_whose_teacher_is_not_finished_does_not_resume(tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(preparation, "audited_teacher", interrupt)
    with pytest.raises(KeyboardInterrupt):
        verdict(TOY.inputs, TOY.labels, out=tmp_path / "run", **QUESTIONS["verdict"][1])
    with pytest.raises(InputError, match=r"the teacher of the run in .* is not finished; rerun the original command"):
        sl.resume(tmp_path / "run")
    with pytest.raises(InputError, match="is not a run directory"):
        sl.resume(tmp_path / "nothing")


def test_results_are_shown_in_one_line_in_notebooks_and_as_figures(serial):
    _, result, run_dir = serial
    assert repr(result).startswith(f"<{type(result).__name__}: ")
    assert "\n" not in repr(result)
    assert str(result) == "\n".join(result.summary)
    assert isinstance(result.plot(), Figure)
    html = result._repr_html_()
    assert "data:image/svg+xml;base64," in html
    assert "<table" in html
    assert "<script" not in html
    assert result.run_dir == run_dir
    assert result.report == run_dir / "report.html"


def test_names_are_escaped_in_notebooks(serial, monkeypatch):
    result = serial[1]
    monkeypatch.setattr(type(result), "summary", property(lambda _: ["<script>alert('&')</script>", "<b>bold</b>"]))
    html = result._repr_html_()
    assert "<script" not in html
    assert "<b>bold" not in html
    assert "&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;" in html


def test_attributes_are_those_of_the_document(serial):
    name, result, _ = serial
    document = result.to_dict()
    if name == "verdict":
        assert result.verdict == document["verdict"]
        assert (result.gap.mean, result.gap.low, result.gap.high) == tuple(
            document["gap"][key] for key in ("mean", "low", "high")
        )
        assert result.arms["soft"].mean == document["arms"]["soft"]["mean"]
        assert (result.runs, result.runs_needed) == (document["runs"], document["runs_needed"])
    else:
        assert (result.soft.width, result.hard.width) == tuple(
            document["arms"][arm]["width"] for arm in ("soft", "hard")
        )
        assert [(point.arm, point.width) for point in result.curve] == [
            (point["arm"], point["width"]) for point in document["curve"]
        ]
        assert result.exported == document["exported"]
        assert result.exported


@pytest.fixture
def forms(tmp_path):
    """The same data in every form that a public function accepts, as arguments of `problem_from`."""
    frame = pl.DataFrame(TOY.inputs, schema=list("abcd")).with_columns(y=pl.Series(TOY.labels))
    frame.write_csv(tmp_path / "data.csv")
    pandas = frame.to_pandas() if _has("pandas", "pyarrow") else frame
    file = tmp_path / "data.csv"
    return {
        "file": ((str(file),), {"label": "y"}), "path": ((file, "y"), {}),
        "arrays": ((TOY.inputs, TOY.labels), {}), "tuple": (((TOY.inputs, TOY.labels),), {}),
        "lists": ((TOY.inputs.tolist(), TOY.labels.tolist()), {}), "problem": ((TOY.problem(),), {}),
        "frame and column": ((frame, "y"), {}), "frame and label": ((frame,), {"label": "y"}),
        "frame and labels": ((frame.drop("y"), frame["y"]), {}), "pandas": ((pandas, "y"), {}),
    }  # fmt: skip


def _has(*modules: str) -> bool:
    from importlib.util import find_spec

    return all(find_spec(module) for module in modules)


def test_every_form_of_the_data_is_the_same_problem(forms):
    expected = TOY.problem()
    for name, (arguments, more) in forms.items():
        problem = problem_from(*arguments, **more)
        assert problem.classes == ("0", "1"), name
        for part in ("train", "validation", "test"):
            assert (problem.part(part).rows == expected.part(part).rows).all(), name
            assert problem.part(part).scaled.tobytes() == expected.part(part).scaled.tobytes(), name
            assert (problem.part(part).y == expected.part(part).y).all(), name


def test_verdict_and_plan_take_a_file_by_its_name(serial, forms, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, settings = QUESTIONS[serial[0]]
    result = function("data.csv", label="y", teacher=TOY.truth, **settings)
    (run_dir,) = (tmp_path / "runs").iterdir()
    assert run_dir.name.startswith(f"{serial[0]}-data-")
    assert result.run_dir.resolve() == run_dir.resolve()
    assert comparable(result.to_dict())["arms"] == comparable(serial[1].to_dict())["arms"]
