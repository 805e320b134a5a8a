"""matplotlib drawings as SVG that stands in a page: in the page's font and colours, light and dark, with a description.

Colours are names of style.css.  matplotlib is given a stand-in for each, and `svg_of` puts the name in its place.
"""

import re
from io import StringIO
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "ink_map", "new_figure", "svg_of"]

_NAMES = (
    *("ink", "soft", "line", "grid", "paper", "accent", "compute", "allreduce", "transfer", "idle", "gain", "bound"),
    *("link", "ring0", "ring1", "ring2", "ring3", "ring4", "ring5"),
)
COLOURS = {name: f"#0b{17 * i % 256:02x}{i:02x}" for i, name in enumerate(_NAMES, 1)}
"""What matplotlib is told for every colour of the page."""

_POINTS = 72 / 96  # of a CSS pixel


def new_figure(width: float, height: float) -> "Figure":
    """A figure of so many CSS pixels, without background."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 96, height / 96), layout="constrained")
    figure.patch.set_visible(False)
    return figure


def ink_map(name: str, colour: str) -> object:
    """A colour map from nothing to a ``#rrggbb`` colour, for pictures that lie on light paper or dark."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    red, green, blue = to_rgb(colour)
    stops = [(red, green, blue, 0.0), (red, green, blue, 0.55), (red, green, blue, 1.0)]
    return LinearSegmentedColormap.from_list(name, stops)


def svg_of(figure: "Figure", name: str, title: str, description: str) -> str:
    """SVG of a figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        Unique on the page: ids of the drawing begin with it.
    title, description : str
        What a screen reader says of it.
    """
    import matplotlib as mpl

    text = StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 12 * _POINTS}
    with mpl.rc_context(settings):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = _with_own_ids(svg, name)
    for colour, stand_in in COLOURS.items():
        svg = svg.replace(stand_in, f"var(--{colour})")
    svg = re.sub(
        r"font(-family)?: ?(\d[\w.]*px )?'[^;\"]*", lambda m: f"font-size: {m[2].strip()}" if m[2] else "", svg
    )
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {box[0]} role="img" '
        f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-text">{escape(description)}</desc>'
    )
    return head + svg[svg.index(">") + 1 :]


def _with_own_ids(svg: str, name: str) -> str:
    """Ids that are referred to begin with the drawing's name; the others go."""
    used = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'href="#([^"]+)"', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{name}-{m[1]})", svg)
    return re.sub(r'href="#([^"]+)"', lambda m: f'href="#{name}-{m[1]}"', svg)
