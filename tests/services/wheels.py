"""Small wheels, made on the spot, for what installs packages."""

import zipfile
from collections.abc import Sequence
from pathlib import Path


def make_wheel(
    folder: Path, name: str, version: str, modules: dict[str, str], requires: Sequence[str] = ()
) -> Path:
    """A pure wheel with these modules, text by path, and requirements."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{info}/RECORD"
    target = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(record, "".join(f"{path},,\n" for path in (*files, record)))
    return target
