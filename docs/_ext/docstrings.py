"""Lets docstrings be plain text and name any object.

Signs such as |x| and names such as classes_ have no meaning as markup in them. A reference to a public name by the
module that defines it leads to the page of the public name; a reference to an internal name is shown without a link.
"""

import pydoc
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

CODE = re.compile(r"(``.*?``|`[^`]*`)")
MARKUP = re.compile(r"(?<!\\)\||(?<=[^\W_])(?<!\\)_(?=[\s,.;:)\]*]|$)")
STAR = re.compile(r"(?<![*\\])\*(?!\*)")


def escape_text(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape bars and trailing underscores outside code, literal blocks, examples and directives."""
    literal = -1  # indentation of the paragraph that a literal block belongs to
    for number, line in enumerate(lines):
        text = line.lstrip()
        indent = len(line) - len(text)
        if text and literal >= 0 and indent <= literal:
            literal = -1
        if not text or literal >= 0 or text.startswith(("..", ">>>", "...")):
            continue
        if text.rstrip().endswith("::"):
            literal = indent
        lines[number] = "".join(part if part.startswith("`") else _escape(part) for part in CODE.split(line))


def _escape(text: str) -> str:
    text = MARKUP.sub(r"\\\g<0>", text)
    # A single star as in (n, *shape) is no emphasis.
    return STAR.sub(r"\\*", text) if len(STAR.findall(text)) == 1 else text


def skip_member(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the methods that scikit-learn adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def resolve_name(app: Sphinx, env: BuildEnvironment, node: Any, content: nodes.Element) -> nodes.Element | None:
    """Resolve a reference to an object of softlabel that has no page under this name; others stay errors."""
    import softlabel

    target = node.get("reftarget", "")
    value = pydoc.locate(target) if node.get("refdomain") == "py" and target.startswith("softlabel.") else None
    if value is None:
        return None
    name = target.rpartition(".")[2]
    if name in softlabel.__all__ and getattr(softlabel, name) is value:
        domain = env.get_domain("py")
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", f"softlabel.{name}", node, content)
    return content


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", escape_text, priority=600)  # after numpydoc
    app.connect("autodoc-skip-member", skip_member)
    app.connect("missing-reference", resolve_name)
    return {"version": "1", "parallel_read_safe": True}
