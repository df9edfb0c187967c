"""What the seven packages say of themselves alike: a hook of their build (hatchling).

`version.txt` beside this file is the one place of the version. Each project links to this folder as `about`, so that
an unpacked sdist has it too. The dependencies stand in each `pyproject.toml`, in `tool.hatch.metadata.hooks.custom`:
there "anyshot-core" means exactly this version, because packages of two releases were never tested together.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

CLASSIFIERS = [
    "Development Status :: 5 - Production/Stable",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3.11",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Typing :: Typed",
]
URLS: dict[str, str] = {}  # the project has no public address yet, and none is invented
_OURS = re.compile(r"(anyshot-[a-z-]+(?:\[[a-z,]+\])?)")


class SharedMetadata(MetadataHookInterface):
    """Adds version, classifiers, and dependencies with our own packages pinned to this version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what `pyproject.toml` declares as dynamic."""
        version = Path(self.root, "about/version.txt").read_text().strip()
        extras = self.config.get("extras", {})
        metadata["version"] = version
        metadata["classifiers"] = [*CLASSIFIERS, *self.config.get("classifiers", [])]
        metadata["dependencies"] = _pinned(self.config["dependencies"], version)
        metadata["optional-dependencies"] = {name: _pinned(asked, version) for name, asked in extras.items()}
        metadata["urls"] = URLS


def _pinned(asked: list[str], version: str) -> list[str]:
    return [f"{one}=={version}" if _OURS.fullmatch(one) else one for one in asked]
