"""What one package offers another is named as the code names it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("scoring", "core", "starting_kit", "analysis", "studies", "worker", "platform")
OF_OTHERS = {"Authorization", "Bearer", "Digest"}  # of HTTP
_CODE = re.compile(r"`([^`\n]+)`")
_CLASS_NAME = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*\b")


def test_every_class_of_the_page_on_boundaries_exists() -> None:
    page = (ROOT / "docs/developers/boundaries.md").read_text()
    named = {name for code in _CODE.findall(page) for name in _CLASS_NAME.findall(code)}
    sources = [path for package in PACKAGES for path in (ROOT / package / f"anyshot_{package}").rglob("*.py")]
    there = {name for path in sources for name in re.findall(r"^class (\w+)", path.read_text(), re.M)}
    assert {"JobOutcome", "PackProblem", "TaskServerJob"} <= named
    assert named - there == OF_OTHERS
