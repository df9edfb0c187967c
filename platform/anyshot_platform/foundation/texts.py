"""Names that people read: what they may hold, and when two look the same."""

import re
import unicodedata

# Letters by their kind that show nothing: a name with one of them looks like another's.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_REFUSED = re.compile("[\x00\ud800-\udfff]")  # no database holds it
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def is_visible(text: str) -> bool:
    """Whether every character shows: no control, nothing of no width, nothing that turns the line around."""
    return text.isprintable() and _BLANK.isdisjoint(text)


def visible(text: str) -> str:
    """One line of text without what does not show, but for what the database refuses with words."""
    return "".join(
        letter for letter in " ".join(text.split()) if is_visible(letter) or _REFUSED.match(letter)
    )


def name_key(name: str) -> str:
    """Equal for names that differ in case or in the width and form of their letters (NFKC)."""
    return unicodedata.normalize("NFKC", name).casefold()[:64]


def for_xml(text: str) -> str:
    """The text without the characters that no XML document can hold."""
    return _NOT_IN_XML.sub("", text)
