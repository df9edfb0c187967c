"""Short names for addresses, and what they may be made of."""

import re

from anyshot_platform.foundation.errors import Invalid

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


def check_slug(slug: str) -> str:
    """Return a short name for addresses; raise `Invalid` if it breaks the rules."""
    if SLUG.fullmatch(slug) is None:
        raise Invalid("A short name has up to 64 lower-case letters, digits and hyphens.", field="slug")
    return slug
