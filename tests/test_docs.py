"""The documentation site builds without a warning, its links lead somewhere, and its commands and tests exist."""

import importlib
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
import typer

import softlabel

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = {DOCS / "reference" / "command-line.md"}
PAGES = [*sorted(set(DOCS.glob("**/*.md")) - GENERATED), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


class Links(HTMLParser):
    """Collects what a page links to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


def test_readme_names_every_command_with_its_function():
    text = re.search(r"In Python, .*?\n\n", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    functions, *others = re.split("are functions of the same name|Only the command line has", text[0])
    same_name = set(re.findall(r"`(\w+)`", functions))
    elsewhere = set(re.findall(r"`softlabel (\w+)`", others[0]))
    assert all(callable(getattr(softlabel, name)) for name in same_name)
    for path in re.findall(r"`sl\.([\w.]+)`", others[0]):
        assert callable(attrgetter(path)(softlabel))
    commands: Any = typer.main.get_command(importlib.import_module("softlabel.cli.main").app)
    assert same_name | elsewhere | set(re.findall(r"`(\w+)`", others[1])) == set(commands.commands)


def script(name: str) -> Any:
    """Import a script of the documentation."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dead_links(site: Path) -> list[str]:
    """Return every internal link of a built site that leads nowhere; templates of the theme in _static are no pages."""
    site = site.resolve()
    files = [path for path in sorted(site.glob("**/*.html")) if path.relative_to(site).parts[0] != "_static"]
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in files}
    dead = []
    for path, page in pages.items():
        for target in page.targets:
            if urlsplit(target).scheme or target.startswith("//"):
                continue
            address, anchor = urldefrag(target)
            file = (path.parent / unquote(urlsplit(address).path)).resolve() if address else path
            if not file.is_file():
                dead.append(f"{path.relative_to(site)}: {target}")
            elif anchor and file in pages and unquote(anchor) not in pages[file].anchors:
                dead.append(f"{path.relative_to(site)}: {target} (no such anchor)")
    return dead


def test_the_site_builds_without_a_warning_and_its_links_work(tmp_path):
    site = tmp_path / "site"
    build = ["-b", "html", "-W", "--keep-going", "-q", "-d", str(tmp_path / "doctrees"), str(DOCS), str(site)]
    done = subprocess.run([sys.executable, "-m", "sphinx", *build], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert dead_links(site) == []
    index = (site / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    assert [name for name in softlabel.__all__ if f"{name}" not in index] == []
    pages = "".join(path.read_text(encoding="utf-8") for path in (site / "reference" / "api").glob("*.html"))
    documented = [name for name in softlabel.__all__ if not isinstance(getattr(softlabel, name), ModuleType)]
    assert [name for name in documented if f'id="softlabel.{name}"' not in pages] == []
    commands = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert [option for options in all_options().values() for option in options if f"{option}" not in commands] == []


def test_a_dead_link_is_noticed(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"></p><a href="b.html#there"></a><a href="#here"></a>')
    (tmp_path / "b.html").write_text('<a href="c.html"></a><a href="a.html#here"></a><img src="no.png">')
    assert dead_links(tmp_path) == ["a.html: b.html#there (no such anchor)", "b.html: c.html", "b.html: no.png"]


def all_options() -> dict[str, set[str]]:
    """Return the options of every command, by its name."""
    root: Any = typer.main.get_command(importlib.import_module("softlabel.cli.main").app)
    options: dict[str, set[str]] = {}

    def visit(command: Any, path: str) -> None:
        options[path] = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
        options[path] = {word for word in options[path] if word.startswith("--")}
        for name, member in getattr(command, "commands", {}).items():
            visit(member, f"{path} {name}".strip())

    visit(root, "")
    return options


def commands(page: Path) -> list[str]:
    """Return the commands in the code of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = [line for block in re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    inline = [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)]
    matches = (re.match(r"\s*(?:\$ )?softlabel ((?:[a-z]|--).*)", line) for line in [*blocks, *inline])
    return [match[1].partition(" #")[0] for match in matches if match]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_documentation_exist(page):
    options = all_options()
    for command in commands(page):
        words = shlex.split(command)
        name = next((name for name in (" ".join(words[:2]), words[0]) if name in options), "")
        if words[0].startswith("--"):
            name = ""
        elif name == "":
            pytest.fail(f"{page.name}: softlabel {command}: there is no such command")
        known = options[name] | {"--help", "--install-completion", "--show-completion"}
        unknown = {word.partition("=")[0] for word in words if word.startswith("--")} - known
        assert unknown == set(), f"softlabel {command}"


def test_tests_that_the_documentation_names_exist():
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("**/test_*.py")]
    defined = {name for text in tests for name in re.findall(r"def (test_\w+)", text)}
    keys = {"test_rows", "test_rows_needed"}  # of a JSON document
    for page in PAGES:
        named = set(re.findall(r"`(?:[\w/.]+::)?(test_\w+)`", page.read_text(encoding="utf-8")))
        assert named - keys <= defined, page.name


def test_benchmarks_that_the_documentation_names_exist():
    for page in PAGES:
        for name in re.findall(r"python -m benchmarks\.(\w+)", page.read_text(encoding="utf-8")):
            places = (ROOT / "benchmarks" / f"{name}.py", ROOT / "benchmarks" / name / "__main__.py")
            assert any(place.is_file() for place in places), f"{page.name}: {name}"


def test_reports_share_one_script():
    reports = sorted((DOCS / "results").glob("*/report.html"))
    assert len(reports) >= 3
    for report in reports:
        text = report.read_text(encoding="utf-8")
        assert '<script src="../plotly.min.js"></script>' in text, f"publish {report} with docs/publish.py"
        assert len(text) < 1_000_000
        assert all((report.parent / name).is_file() for name in re.findall(r"figures/[\w-]+\.\w+", text)), report
    assert "plotly.js v" in (DOCS / "results" / "plotly.min.js").read_text(encoding="utf-8")[:400]


def test_a_report_is_published_only_with_the_same_plotly(tmp_path: Path):
    run, results = tmp_path / "runs" / "study", tmp_path / "results"
    (run / "figures").mkdir(parents=True)
    for name in ("results.json", "settings.toml", "ledger.sqlite", "figures/map.png", "figures/map.svg"):
        (run / name).write_text(name)
    (run / "report.html").write_text(
        "<meta content=\"script-src 'unsafe-inline'; img-src data:\"><script>PLOTLY 1</script>"
        "<script>newPlot()</script>(figures/map.png, figures/map.svg)"
    )
    publish = script("publish").publish
    publish(run, results, "PLOTLY 1")
    assert (results / "study" / "report.html").read_text() == (
        "<meta content=\"script-src 'unsafe-inline' 'self' file:; img-src data:\">"
        '<script src="../plotly.min.js"></script><script>newPlot()</script>(figures/map.png)'
    )
    files = sorted(str(path.relative_to(results)) for path in results.rglob("*") if path.is_file())
    assert files == [f"study/{name}" for name in ("figures/map.png", "report.html", "results.json", "settings.toml")]
    with pytest.raises(ValueError, match="another version of Plotly"):
        publish(run, results, "PLOTLY 2")


def test_diagrams_show_the_layers_that_are_checked():
    for name, drawing in script("draw_diagrams").diagrams().items():
        current = (DOCS / "_static" / name).read_text(encoding="utf-8")
        assert current == drawing, "run python docs/draw_diagrams.py"
