"""A Python of its own for the measurement: the machine's torch, this checkout's packages, and what was carried along.

A machine with a GPU has a torch that fits its driver, and often no network. `python -m benchmarks.gpu.carried FOLDER`
fetches, on a machine with a network, wheels of all else that the measurement imports, for Python 3.11 to 3.13.
"""

import importlib.util
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECTS = ("scoring", "core", "starting_kit", "analysis", "worker")
# Module: its package. Torch, timm and torchvision are the machine's own: they depend on its driver.
NEEDED = {
    "numpy": "numpy",
    "scipy": "scipy",
    "PIL": "pillow",
    "blake3": "blake3",
    "click": "click",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic-core",
    "annotated_types": "annotated-types",
    "typing_inspection": "typing-inspection",
    "typing_extensions": "typing-extensions",
    "pydantic_settings": "pydantic-settings",
    "dotenv": "python-dotenv",
    "docker": "docker",
    "requests": "requests",
    "urllib3": "urllib3",
    "certifi": "certifi",
    "charset_normalizer": "charset-normalizer",
    "idna": "idna",
}
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux2014_x86_64",
    "manylinux_2_17_x86_64",
)


class Missing(Exception):
    """A package that the measurement needs is neither here nor carried along."""


def prepare(folder: Path, carried: Path) -> Path:
    """Make the environment in `folder`; returns its Python. Raises `Missing`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python3.*/site-packages")
    beneath = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    sources = [str(ROOT), *(str(ROOT / project) for project in PROJECTS)]
    (site / "measurement.pth").write_text("\n".join([*sources, *dict.fromkeys(beneath)]) + "\n")
    version = (ROOT / "about/version.txt").read_text().strip()
    for project in PROJECTS:
        name = f"anyshot_{project}"
        (info := site / f"{name}-{version}.dist-info").mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    unpack(missing(), carried, site)
    return folder / "bin/python"


def missing() -> list[str]:
    """Modules that this Python lacks."""
    found = {module: importlib.util.find_spec(module) for module in NEEDED}
    return [module for module, spec in found.items() if spec is None or spec.origin is None]


def unpack(modules: list[str], carried: Path, site: Path) -> None:
    """Put modules into `site` from their carried wheels. Raises `Missing`, which names all that lack."""
    found = {module: wheel_of(NEEDED[module], carried) for module in modules}
    if lacking := [NEEDED[module] for module, wheel in found.items() if wheel is None]:
        raise Missing(
            f"This Python lacks {', '.join(lacking)}, and {carried} has no wheel for it: run `python -m"
            f" benchmarks.gpu.carried {carried.name}` on a machine with a network, and bring the folder along."
        )
    for wheel in filter(None, found.values()):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


def wheel_of(package: str, carried: Path) -> Path | None:
    """The carried wheel of a package that this Python can use."""
    stem, tag = package.replace("-", "_"), f"cp{sys.version_info[0]}{sys.version_info[1]}"
    wheels = sorted(carried.glob(f"{stem}-*.whl"))
    return next((one for one in wheels if f"-{tag}-" in one.name or "-none-any" in one.name), None)


def fetch(folder: Path) -> None:
    """Download the wheels, as pinned, for every Python that may be found."""
    folder.mkdir(parents=True, exist_ok=True)
    for python in ("3.11", "3.12", "3.13"):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        command += ["--python-version", python, "--implementation", "cp", "--dest", str(folder)]
        command += [word for name in PLATFORMS for word in ("--platform", name)]
        subprocess.run([*command, "-c", str(ROOT / "constraints.txt"), *NEEDED.values()], check=True)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
