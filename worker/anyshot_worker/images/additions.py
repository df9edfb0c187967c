"""Packages beside those of an image: resolved against what it has, installed by hash, listed, imported."""

import compileall
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from anyshot_core.wire.inventory import OURS, SandboxPackage
from anyshot_core.wire.requirements import package_key
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.contents import read_inventory, read_sbom, run_inside
from anyshot_worker.images.inventory import list_python
from anyshot_worker.images.recipe import PYTHON
from anyshot_worker.images.root import SITE
from anyshot_worker.sandbox.interface import Backend, SandboxError

_FOR_IMAGE = ("--no-input", "--python-version", PYTHON, "--only-binary=:all:")
_MARK = "+image"  # the version of a package that the image has, which no index has
_CONFLICT = "The conflict is caused by:\n"
_IMPORT = """
import importlib, json
from anyshot_starting_kit.runner.vision import define_missing_operators
define_missing_operators()
failed = {{}}
for package, names in json.loads({names!r}).items():
    for name in names:
        try:
            importlib.import_module(name)
            failed.pop(package, None)
            break
        except BaseException as error:
            failed[package] = repr(error)[:500]
print()
print(json.dumps(failed))
"""


@dataclass(frozen=True)
class Addition:
    """What an image with this bill of materials lacks for some packages: lines of pip, each with version and hash."""

    bill: dict[str, Any]
    taken: Collection[str]  # what lies in the image's site folder
    lock: Sequence[str]
    links: Sequence[str]

    def install(self, site: Path, key: str) -> str:
        """Put it into a site folder, which is made; returns the bill of materials of the image with it, named by `key`.

        Raises:
            SandboxError: a file is not the one of its hash, or bears a name that is in the image.
        """
        site.mkdir(parents=True)
        if self.lock:
            listed = site / "lock.txt"
            listed.write_text("\n".join(self.lock))
            by_hash = ("--no-deps", "--require-hashes", "--requirement", str(listed))
            _pip("--no-compile", "--target", str(site), *_find(*self.links), *by_hash)
            listed.unlink()
            shutil.rmtree(site / "bin", ignore_errors=True)
        _require_free_names(self.taken, site)
        if f"{sys.version_info[0]}.{sys.version_info[1]}" == PYTHON:
            compileall.compile_dir(site, quiet=2, stripdir=str(site), prependdir=f"/{SITE}")
        digests = dict(line.split(" --hash=sha256:") for line in self.lock)
        parts = [
            part | {"hashes": [{"alg": "SHA-256", "content": digests[_line_of(part)]}]}
            for part in list_python(site)
        ]
        image = self.bill["metadata"]["component"] | {"version": key}
        components = [*self.bill["components"], *parts]
        told = self.bill | {"metadata": {"component": image}, "components": components}
        return json.dumps(told, indent=1)


def resolve(
    requirements: Sequence[str], bill: dict[str, Any], taken: Collection[str], links: Sequence[str]
) -> Addition:
    """What to add for these packages to an image with this bill of materials, and these names in its site folder.

    `links` are folders or pages with wheels, beside pip's own indexes.

    What the image has keeps its version. For that, pip is offered a wheel without content and without requirements of
    each of the image's packages, under a version that nothing else has, and is held to it.

    Raises:
        SandboxError: no index has wheels of them that fit; says what conflicts, with both versions.
    """
    with tempfile.TemporaryDirectory(prefix="anyshot-packages-") as name:
        folder = Path(name)
        held = [_write_stub(folder, package) for package in read_inventory(bill).packages]
        (folder / "held.txt").write_text("\n".join(held))
        (folder / "wanted.txt").write_text("\n".join(requirements))
        files = ("--constraint", str(folder / "held.txt"), "--requirement", str(folder / "wanted.txt"))
        report = folder / "report.json"
        told = ("--dry-run", "--report", str(report), "--target", str(folder / "none"))
        _pip(*told, *_find(folder, *links), *files)
        chosen = json.loads(report.read_text())["install"]
    missing = [one for one in chosen if not one["metadata"]["version"].endswith(_MARK)]
    return Addition(bill, taken, sorted(map(_lock, missing)), links)


def _write_stub(folder: Path, package: SandboxPackage) -> str:
    version = package.version.partition("+")[0] + _MARK
    stem = f"{re.sub('[-.]+', '_', package.name)}-{version}"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for file, text in files.items():
            wheel.writestr(f"{stem}.dist-info/{file}", text)
    return f"{package.name}=={version}"


def _lock(chosen: dict[str, Any]) -> str:
    told = chosen["metadata"]
    digest = chosen["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
    if digest is None:
        raise SandboxError(f"no index tells a sha-256 of {told['name']}", Verdict.IMAGE_MISSING)
    return f"{package_key(told['name'])}=={told['version']} --hash=sha256:{digest}"


def _line_of(part: dict[str, Any]) -> str:
    return f"{package_key(part['name'])}=={part['version']}"


def _require_free_names(taken: Collection[str], site: Path) -> None:
    """Raise SandboxError where a package would replace, or stand before, something in the image's site folder."""
    held = {name.partition(".")[0] for name in (*taken, *OURS)} - {"__pycache__"}
    for item in distributions(path=[str(site)]):
        clash = sorted({path.parts[0].partition(".")[0] for path in item.files or ()} & held)
        if clash:
            raise SandboxError(
                f"{item.name} {item.version} brings {', '.join(clash)}, which the image has: leave {item.name} out",
                Verdict.IMAGE_MISSING,
            )


def require_imports(backend: Backend, image: str, requirements: Sequence[str]) -> None:
    """Raise SandboxError where one of these packages cannot be imported in a box of the image."""
    wanted = {line.partition("==")[0] for line in requirements}
    packages = read_inventory(read_sbom(backend, image)).packages
    names = {one.name: one.imports for one in packages if package_key(one.name) in wanted}
    told = run_inside(backend, image, _IMPORT.format(names=json.dumps(names)))
    if failed := json.loads(told.splitlines()[-1]):
        words = "; ".join(f"{package}: {error}" for package, error in failed.items())
        raise SandboxError(f"what was added cannot be imported: {words}", Verdict.SANDBOX_START)


def _find(*links: str | Path) -> list[str]:
    return [argument for link in links for argument in ("--find-links", str(link))]


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "install", *_FOR_IMAGE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SandboxError(f"the packages cannot be added: {_problem(done)}", Verdict.IMAGE_MISSING)


def _problem(done: subprocess.CompletedProcess[str]) -> str:
    """What pip says of a conflict, or of something else."""
    _, found, rest = done.stdout.partition(_CONFLICT)
    if not found:
        errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if "WARNING" not in line]
        return "\n".join(errors)[-2000:]
    lines = [line.strip() for line in rest.partition("\n\n")[0].splitlines()]
    held = rf"The user requested \(constraint\) (\S+)==(\S+){re.escape(_MARK)}"
    words = re.sub(held, r"the image has \1 \2", "; ".join(lines))
    return words.replace("The user requested", "the list has") + ". What the image has keeps its version"
