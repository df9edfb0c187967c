"""From a folder of files to an image: one import for the packages, one small layer for our own code."""

import compileall
import fcntl
import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from anyshot_core.data.digests import digest_file
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.own_packages import inside_files, package_folders
from anyshot_worker.images.recipe import (
    PYTHON,
    UIDS,
    Flavour,
    Recipe,
    choose_recipe,
    layer_key,
)
from anyshot_worker.images.root import SBOM_INSIDE, SITE, add_users, build_root
from anyshot_worker.sandbox.interface import SandboxError

BASE_REPOSITORY = "anyshot/sandbox-base"
REPOSITORY = "anyshot/sandbox"
LABEL = "org.anyshot"
_FILES = Path(__file__).parents[1] / "_sandbox"  # package data: in a checkout a link to docker/sandbox/
_OURS, _BASE = _FILES / "Dockerfile", _FILES / "base.Dockerfile"

Say = Callable[[str], object]


@dataclass(frozen=True)
class Built:
    """A finished image: its tag by content, its short name, and whether anything had to be done."""

    tag: str
    name: str
    key: str
    built: bool


def build_image(
    flavour: Flavour, folder: Path, wheelhouse: str = "", name: str = "", say: Say = print, base: str = ""
) -> Built:
    """The Docker image of a flavour, made only if absent; also tagged `anyshot/sandbox:NAME`.

    `base` is a base image from elsewhere, such as a registry; without it one is made from nothing.
    """
    recipe = choose_recipe(flavour, wheelhouse)
    with building(folder):
        inputs = _fetch(base, say) if base else recipe.key
        base = base or _ensure_base(recipe, folder, say)
        key = layer_key(inputs)
        tag, short = f"{REPOSITORY}:{key}", f"{REPOSITORY}:{name or flavour}"
        absent = not _exists(tag)
        if absent:
            say(f"adding what runs a submission: {tag}")
            _build_layer(base, tag, key, recipe)
        _docker("tag", tag, short)
    return Built(tag, short, key, absent)


def write_context(flavour: Flavour, folder: Path) -> None:
    """What `base.Dockerfile` is built from where a registry and a package index can be reached.

    With the list of `make hashes`, where it was made: pip then takes no file that is not in it.
    """
    recipe = choose_recipe(flavour)
    folder.mkdir(parents=True, exist_ok=True)
    torch = recipe.torch.partition("+")[0]  # the index that the build names says which build of it
    hashed, target = _FILES / "requirements.txt", folder / "requirements.txt"
    if hashed.exists():
        shutil.copy(hashed, target)
    else:
        target.write_text("\n".join([torch, *recipe.pins]) + "\n")
    add_users(folder)
    shutil.copy(Path(__file__).with_name("inventory.py"), folder / "inventory.py")
    shutil.copy(_BASE, folder / "Dockerfile")


def build_folder(flavour: Flavour, folder: Path, wheelhouse: str = "", say: Say = print) -> Path:
    """The same files as a plain folder, for backends without a daemon."""
    recipe = choose_recipe(flavour, wheelhouse)
    with building(folder):
        say(f"root of {recipe.key}")
        root = build_root(recipe, folder / f"root-{recipe.key}")
        copy_ours(root / SITE)
    return root


def copy_ours(site: Path) -> None:
    """Put scoring, core and what runs a submission into a site folder, compiled where the versions agree."""
    for name, source in package_folders().items():
        shutil.rmtree(site / name, ignore_errors=True)
        _write_metadata(site, name)
        for path in inside_files(name):
            target = site / name / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
        if f"{sys.version_info[0]}.{sys.version_info[1]}" == PYTHON:
            compileall.compile_dir(site / name, quiet=2, stripdir=str(site), prependdir=f"/{SITE}")


def _write_metadata(site: Path, module: str) -> None:
    """Name and version, which is all that `importlib.metadata` is asked for inside."""
    version = importlib.metadata.version(module.replace("_", "-"))
    folder = site / f"{module}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n")


@contextmanager
def building(folder: Path) -> Iterator[None]:
    """One build at a time on this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(base: str, say: Say) -> str:
    """Pull an image where it is not here yet; returns its digest, which the next layer's key hangs on."""
    if not _exists(base):
        say(f"pulling {base}")
        _docker("pull", "--quiet", base)
    return _ask_docker("image", "inspect", "--format", "{{.Id}}", base).stdout.strip()


def _ensure_base(recipe: Recipe, folder: Path, say: Say) -> str:
    tag = f"{BASE_REPOSITORY}:{recipe.flavour}-{recipe.key}"
    if _exists(tag):
        return tag
    say(f"collecting Debian's Python, {recipe.torch} and the packages of the contract")
    root = build_root(recipe, folder / f"root-{recipe.key}")
    say(f"importing {tag}")
    labels = {
        f"{LABEL}.flavour": recipe.flavour,
        f"{LABEL}.torch": recipe.torch.partition("==")[2],
        f"{LABEL}.sbom": f"sha256:{digest_file(root / SBOM_INSIDE)}",
        f"{LABEL}.uids": f"{UIDS.start}-{UIDS.stop - 1}",
        f"{LABEL}.base": recipe.key,
    }
    changes = [
        argument for name, value in labels.items() for argument in ("--change", f"LABEL {name}={value}")
    ]
    archive = subprocess.Popen(
        ["tar", "-C", str(root), "--numeric-owner", "--owner=0", "--group=0", "-c", "."],
        stdout=subprocess.PIPE,
    )
    with archive:
        _docker("import", *changes, "-", tag, stdin=archive.stdout)
    shutil.rmtree(root, ignore_errors=True)
    return tag


def _build_layer(base: str, tag: str, key: str, recipe: Recipe) -> None:
    with tempfile.TemporaryDirectory(prefix="anyshot-image-") as name:
        context = Path(name)
        shutil.copy(_OURS, context / "Dockerfile")
        copy_ours(context / "ours")
        arguments = {"BASE": base, "KEY": key, "FLAVOUR": recipe.flavour}
        options = [text for pair in arguments.items() for text in ("--build-arg", "=".join(pair))]
        _docker("build", "--quiet", "--tag", tag, *options, str(context))


def _exists(tag: str) -> bool:
    return _ask_docker("image", "inspect", tag).returncode == 0


def _docker(*arguments: str, stdin: IO[bytes] | None = None) -> None:
    done = _ask_docker(*arguments, stdin=stdin)
    if done.returncode:
        raise SandboxError(f"docker {arguments[0]} failed: {done.stderr[-2000:]}", Verdict.IMAGE_MISSING)


def _ask_docker(*arguments: str, stdin: IO[bytes] | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["docker", *arguments], stdin=stdin, capture_output=True, text=True)
    except (FileNotFoundError, PermissionError) as error:
        raise SandboxError(
            "the program docker is not installed here. A worker in a container takes its images from the daemon of"
            " its host: build them there, with anyshot worker image build",
            Verdict.IMAGE_MISSING,
        ) from error
