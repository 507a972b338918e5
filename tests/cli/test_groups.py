"""Groups of options: the command line has their fields, the verb gets objects."""

import inspect

from softlabel.cli.groups import DataChoice, TeacherChoice, grouped


def test_fields_become_options_in_their_place():
    seen = {}

    @grouped
    def verb(*, problem: DataChoice, width: int = 3, labels: TeacherChoice, size: int) -> None:
        """What it does."""
        seen.update(problem=problem, width=width, labels=labels, size=size)

    parameters = inspect.signature(verb).parameters
    assert list(parameters)[:2] == ["data", "label"]
    assert list(parameters)[11:13] == ["width", "teacher"]
    assert list(parameters)[-1] == "size"
    assert parameters["data"].default is parameters["size"].default is inspect.Parameter.empty
    assert parameters["teacher"].default == "auto"
    assert verb.__doc__ == "What it does."
    words = {name: each.default for name, each in parameters.items()} | {"data": "digits", "task": "label>4", "size": 5}
    verb(**words)
    assert seen == {
        "problem": DataChoice("digits", task="label>4"), "width": 3, "labels": TeacherChoice(), "size": 5,
    }  # fmt: skip


def test_a_loader_loads_once_and_only_when_called(monkeypatch):
    calls = []
    monkeypatch.setattr(DataChoice, "load", lambda self, **arguments: calls.append((self.data, arguments)))
    loader = DataChoice("nothing.csv").loader(seed=3)
    assert calls == []
    assert loader() is loader()
    assert calls == [("nothing.csv", {"seed": 3})]


def test_a_choice_loads_its_problem(capsys):
    problem = DataChoice("digits", classes="3,8").load()
    assert problem.classes == ("3", "8")
    assert len(problem) == 357
    assert str(problem) in capsys.readouterr().err
