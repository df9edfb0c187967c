"""From a folder of files to an image: one import for the packages, one small layer for our own code."""

import compileall
import fcntl
import filecmp
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from anyshot_core.data.digests import digest_file
from anyshot_core.wire.requirements import packages_image
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.additions import Addition, resolve
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
    flavour: Flavour,
    folder: Path,
    wheelhouse: str = "",
    name: str = "",
    say: Say = print,
    base: str = "",
    add: Sequence[str] = (),
) -> Built:
    """The Docker image of a flavour, made only if absent; also tagged `anyshot/sandbox:NAME`.

    `base` is a base image from elsewhere, such as a registry; without it one is made from nothing. `add` are packages,
    `name==version`, beside those of the base.
    """
    recipe = choose_recipe(flavour, wheelhouse)
    with building(folder):
        inputs = _fetch(base, say) if base else recipe.key
        base = base or _ensure_base(recipe, folder, say)
        addition = _resolve(add, *_read_base(base), recipe, say) if add else None
        key = layer_key("\n".join((inputs, *(addition.lock if addition else ()))))
        usual = packages_image(flavour, add) if add else flavour
        tag, short = f"{REPOSITORY}:{key}", f"{REPOSITORY}:{name or usual}"
        absent = not _exists(tag)
        if absent:
            say(f"adding what runs a submission: {tag}")
            _build_layer(base, tag, key, recipe, addition)
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


def build_folder(
    flavour: Flavour, folder: Path, wheelhouse: str = "", say: Say = print, add: Sequence[str] = ()
) -> Path:
    """The same files as a plain folder, for backends without a daemon."""
    recipe = choose_recipe(flavour, wheelhouse)
    with building(folder):
        say(f"root of {recipe.key}")
        root = build_root(recipe, folder / f"root-{recipe.key}")
        if add:
            bill = json.loads((root / SBOM_INSIDE).read_text())
            names = [path.name for path in (root / SITE).iterdir()]
            addition = _resolve(add, bill, names, recipe, say)
            root = _extend_root(root, folder / packages_image(flavour, add), recipe.key, addition)
        copy_ours(root / SITE)
    return root


def _resolve(
    add: Sequence[str], bill: dict[str, Any], taken: Sequence[str], recipe: Recipe, say: Say
) -> Addition:
    addition = resolve(add, bill, taken, recipe.find_links)
    for line in addition.lock:
        say(f"adding {line}")
    return addition


def _extend_root(root: Path, target: Path, base: str, addition: Addition) -> Path:
    """The root with the packages, in a folder of its own; files that both have take their space once."""
    key = hashlib.sha256("\n".join((base, *addition.lock)).encode()).hexdigest()[:12]
    bill = target / SBOM_INSIDE
    if bill.exists() and json.loads(bill.read_text())["metadata"]["component"]["version"] == key:
        return target
    with tempfile.TemporaryDirectory(prefix="anyshot-packages-", dir=target.parent) as name:
        site, unfinished = Path(name) / "site", Path(name) / "root"
        told = addition.install(site, key)
        ours = shutil.ignore_patterns("anyshot_*")
        shutil.copytree(root, unfinished, symlinks=True, copy_function=os.link, ignore=ours)
        shutil.copytree(site, unfinished / SITE, dirs_exist_ok=True)
        (unfinished / SBOM_INSIDE).unlink()
        (unfinished / SBOM_INSIDE).write_text(told)
        shutil.rmtree(target, ignore_errors=True)
        unfinished.rename(target)
    return target


def copy_ours(site: Path) -> None:
    """Put scoring, core and what runs a submission into a site folder, compiled where the versions agree.

    A package that is there as it should be is not touched, and another one is replaced at once: boxes start from it.
    """
    site.mkdir(parents=True, exist_ok=True)
    for name, source in package_folders().items():
        files = {path.relative_to(source): path for path in inside_files(name)}
        _write_metadata(site, name)
        if _is_copy(site / name, files):
            continue
        with tempfile.TemporaryDirectory(prefix=".anyshot-", dir=site) as unfinished:
            made = Path(unfinished) / name
            for relative, path in files.items():
                (made / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, made / relative)
            if f"{sys.version_info[0]}.{sys.version_info[1]}" == PYTHON:
                compileall.compile_dir(made, quiet=2, stripdir=unfinished, prependdir=f"/{SITE}")
            if (site / name).exists():
                (site / name).rename(Path(unfinished) / "replaced")
            made.rename(site / name)


def _is_copy(folder: Path, files: Mapping[Path, Path]) -> bool:
    """Whether a folder has just these files, but for what Python compiled of them."""
    there = (
        path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"
    )
    return set(there) == set(files) and all(
        filecmp.cmp(path, folder / relative, shallow=False) for relative, path in files.items()
    )


def _write_metadata(site: Path, module: str) -> None:
    """Name and version, which is all that `importlib.metadata` is asked for inside."""
    version = importlib.metadata.version(module.replace("_", "-"))
    target = site / f"{module}-{version}.dist-info" / "METADATA"
    text = f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n"
    if not target.is_file() or target.read_text() != text:
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)


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


def _read_base(base: str) -> tuple[dict[str, Any], list[str]]:
    """The bill of materials in a base image, and the names in its site folder."""
    code = f"import json, os; print(json.dumps([json.load(open('/{SBOM_INSIDE}')), os.listdir('/{SITE}')]))"
    options = ("--rm", "--network=none", "--entrypoint=/usr/bin/python3")
    bill, names = json.loads(_docker("run", *options, base, "-I", "-c", code))
    return bill, names


def _build_layer(base: str, tag: str, key: str, recipe: Recipe, addition: Addition | None) -> None:
    with tempfile.TemporaryDirectory(prefix="anyshot-image-") as name:
        context = Path(name)
        files = context / "files"
        shutil.copy(_OURS, context / "Dockerfile")
        arguments = {"BASE": base, "KEY": key, "FLAVOUR": recipe.flavour}
        options = [text for pair in arguments.items() for text in ("--build-arg", "=".join(pair))]
        if addition:
            bill = files / SBOM_INSIDE
            bill.parent.mkdir(parents=True)
            bill.write_text(addition.install(files / SITE, key))
            options += ["--label", f"{LABEL}.sbom=sha256:{digest_file(bill)}"]
        copy_ours(files / SITE)
        _docker("build", "--quiet", "--tag", tag, *options, str(context))


def _exists(tag: str) -> bool:
    return _ask_docker("image", "inspect", tag).returncode == 0


def _docker(*arguments: str, stdin: IO[bytes] | None = None) -> str:
    done = _ask_docker(*arguments, stdin=stdin)
    if done.returncode:
        raise SandboxError(f"docker {arguments[0]} failed: {done.stderr[-2000:]}", Verdict.IMAGE_MISSING)
    return done.stdout


def _ask_docker(*arguments: str, stdin: IO[bytes] | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["docker", *arguments], stdin=stdin, capture_output=True, text=True)
    except (FileNotFoundError, PermissionError) as error:
        raise SandboxError(
            "the program docker is not installed here. A worker in a container takes its images from the daemon of"
            " its host: build them there, with anyshot worker image build",
            Verdict.IMAGE_MISSING,
        ) from error
