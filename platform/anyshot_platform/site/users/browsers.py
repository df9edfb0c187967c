"""What a browser calls itself, in words that its owner knows it by."""

import re

# Each says what the ones below it say too: an Edge says Chrome, and both say Safari.
_BROWSERS = (
    (r"Edg(?:e|A|iOS)?/", "Edge"),
    (r"OPR/|Opera", "Opera"),
    (r"Firefox/|FxiOS/", "Firefox"),
    (r"Chrome/|CriOS/|Chromium/", "Chrome"),
    (r"Safari/", "Safari"),
)
_SYSTEMS = (
    (r"iPhone|iPad", "iOS"),
    (r"Android", "Android"),
    (r"Windows", "Windows"),
    (r"CrOS", "ChromeOS"),
    (r"Macintosh|Mac OS X", "macOS"),
    (r"Linux|X11", "Linux"),
)


def browser_words(user_agent: str) -> str:
    """`Firefox on Windows`; as far as it says, else what it calls itself, shortened."""
    browser, system = (
        next((name for pattern, name in known if re.search(pattern, user_agent)), "")
        for known in (_BROWSERS, _SYSTEMS)
    )
    if browser and system:
        return f"{browser} on {system}"
    return browser or user_agent[:60] or "unknown"
