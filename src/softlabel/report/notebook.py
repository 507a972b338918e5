"""HTML of results for notebooks: a headline, a figure and a table, without scripts or external files."""

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from softlabel.report.page import Table, template_environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def result_html(headline: str | Sequence[str], figure: "Figure | None" = None, table: Table | None = None) -> str:
    """Render a result as HTML, for `_repr_html_`.

    The figure is embedded as an SVG image, every text is escaped, and nothing is loaded from elsewhere.

    Parameters
    ----------
    headline : str or sequence of str
        What the result says. The first sentence is emphasized, the others follow as paragraphs.
    figure : matplotlib.figure.Figure, optional
        The figure of the result.
    table : Table, optional
        The table of the result.

    Returns
    -------
    str
        One HTML element.

    Examples
    --------
    >>> from softlabel.report.notebook import result_html
    >>> html = result_html("Soft labels win by 1.2 points & more.")
    >>> "1.2 points &amp; more." in html
    True
    """
    sentences = [headline] if isinstance(headline, str) else list(headline)
    image = None if figure is None else _svg(figure)
    text = template_environment().get_template("notebook.html").render(sentences=sentences, image=image, table=table)
    return text.encode("utf-8", "backslashreplace").decode()


def _svg(figure: "Figure") -> str:
    """The figure as SVG in base64."""
    from softlabel.report.drawing import SVG, save

    buffer = io.BytesIO()
    save(figure, buffer, **SVG)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
