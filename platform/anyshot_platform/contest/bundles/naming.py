"""Short keys for addresses, from titles in any language."""

import re
import unicodedata


def key_from(title: str, otherwise: str) -> str:
    """`Éxample: Phase 1` as `example-phase-1`; `otherwise` when nothing of it is left."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].rstrip("-") or otherwise


def unique(key: str, taken: set[str]) -> str:
    """`key`, or the first of `key-2`, `key-3`, ... that is free."""
    number, candidate = 2, key
    while candidate in taken:
        candidate, number = f"{key[:56]}-{number}", number + 1
    return candidate
