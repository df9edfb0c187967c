"""What is in an image, as a CycloneDX bill of materials.

Standard library only: `base.Dockerfile` runs it inside the image, as `python3 inventory.py FLAVOUR KEY`.
"""

import gzip
import json
import re
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

CHANGELOGS = ("changelog.Debian.gz", "changelog.gz")
FIRST_LINE = re.compile(r"[a-z0-9.+-]+ \((?P<version>[^)]+)\)")


def list_packages(root: Path, site: str, flavour: str, key: str) -> dict[str, Any]:
    """Debian's packages from their changelogs, Python's from their metadata; both sorted, so equal roots agree."""
    components = [*_debian(root / "usr/share/doc"), *list_python(root / site)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "container",
                "name": f"anyshot-sandbox-{flavour}",
                "version": key,
            }
        },
        "components": components,
    }


def _debian(documents: Path) -> list[dict[str, Any]]:
    """Packages that were only extracted are in no status file, but each brings its changelog, or a link to one."""
    found = []
    for folder in sorted(documents.iterdir()) if documents.is_dir() else []:
        changelogs = [path for name in CHANGELOGS if (path := folder / name).exists()]
        match = FIRST_LINE.match(gzip.decompress(changelogs[0].read_bytes()).decode()) if changelogs else None
        if match:
            version = match["version"]
            found.append(_component(folder.name, version, f"pkg:deb/debian/{folder.name}@{version}"))
    return found


def list_python(site: Path) -> list[dict[str, Any]]:
    """Each with its bytes on disk and the names that it is imported by."""
    found = []
    for item in sorted(distributions(path=[str(site)]), key=lambda one: one.name.lower()):
        files = [path for path in item.files or () if path.parts[0] != ".."]
        code = (path.parts for path in files if path.suffix in (".py", ".so"))
        modules = (first if rest else first.partition(".")[0] for first, *rest in code)
        places = (site / path for path in files)
        told = {
            "anyshot:imports": " ".join(
                sorted({name for name in modules if name.isidentifier() and name[0] != "_"})
            ),
            "anyshot:bytes": str(sum(path.stat().st_size for path in places if path.is_file())),
        }
        found.append(
            _component(item.name, item.version, f"pkg:pypi/{item.name.lower()}@{item.version}")
            | {"properties": [{"name": name, "value": value} for name, value in told.items()]}
        )
    return found


def _component(name: str, version: str, purl: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "purl": purl}


if __name__ == "__main__":
    print(
        json.dumps(
            list_packages(Path("/"), "usr/local/lib/python3.11/dist-packages", *sys.argv[1:3]), indent=1
        )
    )
