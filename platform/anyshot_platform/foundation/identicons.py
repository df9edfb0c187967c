"""Pictures of people and teams, drawn from a digest of who they are: the same name has the same picture everywhere."""

import hashlib
from functools import lru_cache

from markupsafe import Markup

_SIDE, _HALF = 5, 3  # cells of the square; the columns that are drawn, the others mirror them


@lru_cache(maxsize=4096)
def identicon(key: str, style: str = "") -> Markup:
    """An inline SVG of 5 x 5 cells, symmetric, in one of 24 hues; `key` says what and who: `user:NAME`, `team:ID`."""
    digest = hashlib.sha256(key.encode()).digest()
    bits = int.from_bytes(digest[:2]) | 1 << 12  # the middle is never empty
    path = "".join(
        f"M{x} {row}h1v1h-1z"
        for column in range(_HALF)
        for row in range(_SIDE)
        if bits >> (column * _SIDE + row) & 1
        for x in sorted({column, _SIDE - 1 - column})
    )
    hue = digest[2] % 24 * 15
    return Markup(
        '<svg class="avatar avatar--drawn {}" viewBox="-1 -1 7 7" aria-hidden="true" shape-rendering="crispEdges">'
        '<path fill="hsl({} 48% 52%)" d="{}"/></svg>'
    ).format(style, hue, path)
