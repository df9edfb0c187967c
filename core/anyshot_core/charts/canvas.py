"""Drawing one chart: matplotlib set up, locked, and turned into inline SVG with a text alternative."""

import io
import re
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anyshot_core.charts.inline_svg import INK, make_inline
from anyshot_core.words import decimal_words

# Each has a contrast of 3:1 or more against white and against a near-black page.
PALETTE = ("#3b82f6", "#d97706", "#059669", "#db2777", "#8b5cf6", "#0891b2", "#65a30d", "#dc2626")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)))
LABEL_LENGTH = 32
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "anyshot",
    "text.parse_math": False,  # names of people and datasets are not formulas
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.unicode_minus": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.18,
    "grid.linewidth": 0.6,
    "font.size": 10,
    "legend.frameon": False,
}
# matplotlib's settings are global to the process, and pages are drawn in threads.
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Chart:
    """A drawn chart: `svg` is an inline `<svg>` element whose text alternative is `title` and `description`.

    `data` is what it was drawn from, for `redraw`; None for a chart that is not recorded.
    """

    svg: str
    title: str
    description: str
    data: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def file(self) -> str:
        """The content of a stand-alone `.svg` file."""
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{self.svg}\n'


def draw(
    title: str, description: str, paint: Callable[[Axes], None], width: float = 7.0, height: float = 3.4
) -> Chart:
    """Draw one chart of `width` x `height` inches by `paint`, which gets empty axes."""
    title, description = clean(title, 200), clean(description, 100_000)
    with _LOCK, mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # Only the layout uses matplotlib's font: the reader's own font has the glyph.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        paint(axes)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return Chart(make_inline(buffer.getvalue(), title, description), title, description)


def clean(text: str, limit: int = LABEL_LENGTH) -> str:
    """A text that is safe to draw: without control characters, and cut to `limit` characters."""
    plain = re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f]", "\ufffd", text)
    return plain if len(plain) <= limit else plain[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def style(i: int) -> tuple[str, str, str | tuple[int, tuple[int, ...]]]:
    """Colour, marker and dashes of series i: no two of the first 64 are alike."""
    n = len(PALETTE)
    return PALETTE[i % n], MARKERS[(i + i // n) % n], DASHES[(i + i // n) % n]


def empty(axes: Axes, words: str = "Nothing to draw yet") -> None:
    """Say in the middle of the axes why there is nothing."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes)


def interval_words(mean: float, half_width: float | None, intervals: bool = True) -> str:
    """`0.512 ± 0.034`, or the mean and that its interval is undefined; the mean alone in a chart without intervals."""
    places = 3 if abs(mean) < 10 else 1  # shares, or points
    words = str(mean) if isinstance(mean, int) else decimal_words(mean, places)
    if not intervals:
        return words
    if half_width is None or half_width == 0:
        return f"{words} (interval undefined{'' if half_width is None else ': all tasks are equal'})"
    return f"{words} ± {half_width:.{places}f}"


def subject(words: str, intervals: bool) -> str:
    """How a description begins: what is shown, and whether with intervals."""
    return f"{words} with 95 % intervals." if intervals else f"{words}."
