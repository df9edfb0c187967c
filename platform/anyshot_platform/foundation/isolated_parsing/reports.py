"""Makes the sections of a report inert: headings, tables and drawings stay, and nothing that acts, loads or leads away.

A worker made the page, and somebody else may have made the worker. Runs in a confined process: elements one in another
by the hundred thousand keep a parser busy for hours.
"""

from pathlib import Path

import nh3

from anyshot_core.report import section_of

_ATTRIBUTES_DRAWN = """
aria-labelledby clip-path cx cy d data-width fill fill-opacity font-family font-size height href id opacity
patternUnits points preserveAspectRatio r rx ry stroke stroke-dasharray stroke-dashoffset stroke-linecap
stroke-linejoin stroke-opacity stroke-width text-anchor transform viewBox width x x1 x2 y y1 y2
"""
_DRAWINGS = "circle clipPath defs desc g line path pattern polygon polyline rect svg text title tspan use"
_TEXTS = """
b br caption code dd details div dl dt em figcaption figure h2 h3 li ol p pre section small span strong sub summary
sup table tbody td tfoot th thead tr ul
"""


def inert_section(page: Path) -> str:
    """The sections of a page with known elements and attributes alone; drawings refer to parts of themselves only."""
    kept = {"*": {"aria-label", "class", "role", "tabindex"}, "td": {"colspan"}, "th": {"colspan", "scope"}}
    drawings = _DRAWINGS.split()
    return nh3.clean(
        section_of(page.read_text("utf-8", "replace")),
        tags={*drawings, *_TEXTS.split()},
        attributes=kept | {drawing: set(_ATTRIBUTES_DRAWN.split()) for drawing in drawings},
        attribute_filter=_within_the_page,
        link_rel=None,
        url_relative="pass_through",
    )


def _within_the_page(_: str, attribute: str, value: str) -> str | None:
    """No address but that of a part of the page: of `href`, and of what is drawn with one."""
    if attribute == "href" and not value.startswith("#"):
        return None
    return None if "url(" in value.replace("url(#", "") else value
