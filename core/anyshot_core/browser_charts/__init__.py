"""Charts that the browser draws from numbers: the code that draws them, for the site and inside a report's one file.

`FOLDER` is served below /static/ beside the site's own files. A report has no site: `script` and `styles` are the same
library and code as text that stands in the page.
"""

import re
from functools import cache
from pathlib import Path

from markupsafe import Markup

FOLDER = Path(__file__).resolve().parent / "static"
_LIBRARY = FOLDER / "vendor" / "uplot"
_MODULES = ("cells.js", "charts.js")  # in the order in which each needs the one before
_IMPORT = re.compile(r'^import [^;]+ from "\./[^"]+";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


@cache
def script() -> Markup:
    """What draws the charts of a page that nothing is fetched for: the library, and our modules as one."""
    code = "".join((FOLDER / "js" / name).read_text(encoding="utf-8") for name in _MODULES)
    library = (_LIBRARY / "uPlot.iife.min.js").read_text(encoding="utf-8")
    own = _EXPORT.sub("", _IMPORT.sub("", code))
    return Markup('<script>{}</script>\n<script type="module" id="charts-script">\n{}</script>').format(
        Markup(library), Markup(own)
    )


@cache
def styles() -> Markup:
    """The library's own styles."""
    return Markup((_LIBRARY / "uPlot.min.css").read_text(encoding="utf-8"))
