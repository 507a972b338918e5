"""The public names as a type checker in strict mode sees them, in a user's script and with mistakes put into it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import softlabel as sl

SCRIPT = Path(__file__).with_name("user_script.py")
MISTAKES = {  # what the script says, and the same with a mistake
    "keyword": ("teacher, width=4,", "teacher, widht=4,"),
    "keyword_of_a_class": ("sl.PlanOptions(share=", "sl.PlanOptions(shares="),
    "type_of_an_argument": ("student=students[0]", 'student="two-layer"'),
    "attribute": ("verdict.gap.high", "verdict.gap.higher"),
    "attribute_that_may_be_none": ("if plan.soft.width is not None and plan.hard", "if plan.hard"),
    "attribute_of_another_study": ("figure.families[0].slope", "figure.primary[0].gap"),
    "keyword_of_a_study": ("seed=1, execution=", "sed=1, execution="),
    "public_name": ("sl.MarginOptions(", "sl.MarginOption("),
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory) -> dict[str, list[str]]:
    """The errors of the script ("script") and of the script with each mistake, from one run of the type checker."""
    directory, text = tmp_path_factory.mktemp("typing"), SCRIPT.read_text(encoding="utf-8")
    scripts = {"script": text}
    for name, (right, wrong) in MISTAKES.items():
        assert text.count(right) == 1, right
        scripts[name] = text.replace(right, wrong)
    for name, lines in scripts.items():
        (directory / f"{name}.py").write_text(lines, encoding="utf-8")
    venv = Path(sys.prefix)
    settings = {"typeCheckingMode": "strict", "venvPath": str(venv.parent), "venv": venv.name}
    (directory / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(directory)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert report["summary"]["filesAnalyzed"] == len(scripts)
    messages: dict[str, list[str]] = {name: [] for name in scripts}
    for one in report["generalDiagnostics"]:
        line = one["range"]["start"]["line"] + 1
        messages[Path(one["file"]).stem].append(f"line {line}: {one['message']} ({one.get('rule')})")
    return messages


def test_the_script_passes_in_strict_mode(errors):
    assert errors["script"] == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_an_error(errors, mistake):
    assert errors[mistake] != []


def test_the_script_uses_every_public_name():
    names = {
        node.attr
        for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sl"
    }
    assert set(sl.__all__) <= names
