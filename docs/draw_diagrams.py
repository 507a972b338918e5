"""Draws the diagrams of the architecture as SVG, in a light and a dark version: python docs/draw_diagrams.py

The layers are those of the import contract in pyproject.toml, so that the picture cannot differ from what is checked.
"""

import tomllib
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
STATIC = DOCS / "_static"
WIDTH = 520
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
THEMES = {
    "light": {"ink": "#1f2328", "soft": "#57606a", "hues": ("#d8e8fb", "#e3f1df", "#fdebd0", "#eae3f7")},
    "dark": {"ink": "#e6edf3", "soft": "#a8b1bb", "hues": ("#1c3450", "#1f3a26", "#47351a", "#352a4f")},
}

# Package: what it is for, and the group that colors it (0 interface, 1 studies, 2 models, 3 foundations).
PACKAGES = {
    "cli": ("commands: parse, call, print", 0),
    "app": ("the explorer", 0),
    "studies": ("verdict, plan, doctor and the studies of the papers", 1),
    "report": ("tables, figures, the HTML page", 1),
    "lab": ("cells, bundles, ledger, executors, statistics", 1),
    "estimators": ("scikit-learn classes", 2),
    "export": ("ONNX, safetensors, NumPy", 2),
    "students": ("families of students", 2),
    "teachers": ("where soft labels come from, and their audit", 2),
    "networks": ("two-layer and deep networks, the fused engine", 2),
    "theory": ("margin, bounds, invariants, dynamics", 3),
    "data": ("data sets, tables, images, splits, scaling", 3),
    "numerics": ("blocks and streaming products", 3),
}
FLOW = (
    ("examples", "data", "rows, split, scale", 3),
    ("labels", "teachers", "hard, soft, smoothed", 2),
    ("students", "networks", "width, init, learning rate", 2),
    ("cells", "lab", "one training each, in bundles", 1),
    ("ledger", "lab", "one transaction per bundle", 1),
    ("report", "studies, report", "judgment, figures, page", 0),
)


def layers() -> list[list[str]]:
    """Return the packages of every layer, from top to bottom."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [[name.strip().removeprefix("softlabel.") for name in row.split("|")] for row in contract["layers"]]


def draw_layers(theme: str) -> str:
    """Return the packages as a stack; imports go down only."""
    height, gap, left = 46, 8, 36
    parts, y = [], 4
    shown = [[name for name in row if name in PACKAGES] for row in layers()]
    small = [name for row in layers() for name in row if name not in PACKAGES]
    for row in [*filter(None, shown), [" ".join(sorted(small))]]:
        width = (WIDTH - left - 4 - gap * (len(row) - 1)) / len(row)
        for position, name in enumerate(row):
            about, group = PACKAGES.get(name, ("small modules that everything may use", 3))
            x = left + position * (width + gap)
            title = name.replace(" ", ", ")
            parts.append(_box(x, y, width, height, theme, group))
            parts.append(_text(x + 12, y + 20, title, theme, 15, bold=True))
            parts.append(_text(x + 12, y + 37, about, theme, 13, soft=True))
        y += height + gap
    parts.append(_arrow(21, 8, 21, y - gap - 6, theme))
    middle = y / 2
    label = _text(0, 0, "imports", theme, 12.5, soft=True, anchor="middle")
    parts.append(f'<g transform="translate(13 {middle:g}) rotate(-90)">{label}</g>')
    return _svg(y, theme, "The packages of softlabel in layers; imports go down only", parts)


def draw_flow(theme: str) -> str:
    """Return the way of the data from examples to a report, in rows of two."""
    width, height, across, down = 234, 84, 48, 44
    parts, line = [], THEMES[theme]["soft"]
    for number, (name, package, about, group) in enumerate(FLOW):
        row, column = divmod(number, 2)
        x, y = 2 + column * (width + across), 2 + row * (height + down)
        middle = x + width / 2
        parts.append(_box(x, y, width, height, theme, group))
        parts.append(_text(middle, y + 26, name, theme, 17, bold=True, anchor="middle"))
        parts.append(_text(middle, y + 47, about, theme, 13.5, anchor="middle"))
        parts.append(_text(middle, y + 68, f"softlabel.{package}", theme, 12.5, soft=True, anchor="middle"))
        if column == 0:
            parts.append(_arrow(x + width + 5, y + height / 2, x + width + across - 6, y + height / 2, theme))
        elif number + 1 < len(FLOW):
            below, turn = y + height, y + height + down / 2
            path = f"M{middle:g} {below + 4:g} V{turn:g} H{2 + width / 2:g} V{below + down - 5:g}"
            parts.append(f'<path d="{path}" fill="none" stroke="{line}" stroke-width="1.6" marker-end="url(#tip)"/>')
    return _svg(
        len(FLOW) // 2 * (height + down) - down + 4, theme, "Data flow: " + ", ".join(name for name, *_ in FLOW), parts
    )


def _box(x: float, y: float, width: float, height: float, theme: str, group: int) -> str:
    fill = THEMES[theme]["hues"][group]
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" fill="{fill}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    theme: str,
    size: float,
    bold: bool = False,
    soft: bool = False,
    anchor: str = "start",
) -> str:
    color = THEMES[theme]["soft" if soft else "ink"]
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{color}" text-anchor="{anchor}"{weight}>'
        f"{escape(text)}</text>"
    )


def _arrow(x1: float, y1: float, x2: float, y2: float, theme: str) -> str:
    line = THEMES[theme]["soft"]
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{line}" stroke-width="1.6" '
        'marker-end="url(#tip)"/>'
    )


def _svg(height: float, theme: str, title: str, parts: list[str]) -> str:
    tip = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{THEMES[theme]["soft"]}"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'height="{height:g}" role="img" font-family="{FONT}">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", tip, *parts, "</svg>"]) + "\n"


def diagrams() -> dict[str, str]:
    """Return every diagram by its file name."""
    return {
        f"{name}-{theme}.svg": draw(theme)
        for name, draw in (("layers", draw_layers), ("data-flow", draw_flow))
        for theme in THEMES
    }


if __name__ == "__main__":
    for name, drawing in diagrams().items():
        (STATIC / name).write_text(drawing, encoding="utf-8")
