"""The list of packages that a phase adds to the sandbox image, and the name of the image that such a list makes."""

import hashlib
import re
from collections.abc import Sequence

PACKAGES_IMAGE = re.compile(r"packages-(?P<flavour>cpu|gpu)-[0-9a-f]{12}")
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*==\s*(?P<version>[0-9][A-Za-z0-9.!+_-]*)"
)


def read_requirements(text: str) -> list[str]:
    """The packages of a list, `name==version` each, in the order of their names; comments are left out.

    Raises:
        ValueError: a line is something else, or names a package again; says which, and what to write.
    """
    versions: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        wanted = line.partition("#")[0].strip()
        if not wanted:
            continue
        match = _REQUIREMENT.fullmatch(wanted)
        if match is None:
            raise ValueError(
                f"line {number}, “{wanted[:80]}”, is no package with its version: write a line like einops==0.8.2,"
                " without addresses, paths, options, ranges and extras"
            )
        name = package_key(match["name"])
        if name in versions:
            raise ValueError(f"line {number} names {name} again: write each package once")
        versions[name] = match["version"]
    return [f"{name}=={version}" for name, version in sorted(versions.items())]


def package_key(name: str) -> str:
    """The one spelling of a package's name, by which indexes compare."""
    return re.sub(r"[-_.]+", "-", name).lower()


def packages_image(flavour: str, requirements: Sequence[str]) -> str:
    """The name of the image with these packages: equal lists share one."""
    return f"packages-{flavour}-{hashlib.sha256(chr(10).join(requirements).encode()).hexdigest()[:12]}"
