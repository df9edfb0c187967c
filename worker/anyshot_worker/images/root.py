"""The files of a base image, in a folder: Debian's Python, the packages of the contract, nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.inventory import list_packages
from anyshot_worker.images.own_packages import python_path
from anyshot_worker.images.recipe import IMPORTED, PYTHON, UIDS, Recipe
from anyshot_worker.sandbox.interface import SCRATCH_INSIDE, SandboxError

SITE = f"usr/local/lib/python{PYTHON}/dist-packages"
SUPERFLUOUS = (
    *(
        "bin/tar",
        "etc/apt",
        "etc/dpkg",
        "etc/cron.daily",
        "var/cache",
        "var/log",
        "usr/share/doc",
        "usr/share/man",
    ),
    *("usr/share/locale", "usr/share/lintian", "usr/share/bug", "usr/lib/apt", "usr/lib/dpkg", "usr/sbin"),
    *(f"{SITE}/{path}" for path in ("torch/share", "torch/test", "pandas/tests", "pyarrow/tests")),
    *(f"{SITE}/{path}" for path in ("pyarrow/include", "bin")),
)
SBOM_INSIDE = "usr/share/anyshot/sbom.json"


def build_root(recipe: Recipe, folder: Path) -> Path:
    """Fill `folder` (made anew) and return it; it appears under its name only when complete."""
    if (folder / SBOM_INSIDE).exists():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        _lay_out_debian(recipe, unfinished)
        _install_packages(recipe, unfinished / SITE)
        add_users(unfinished / "etc")
        _compile_what_is_imported(unfinished / SITE)
        _write_inventory(recipe, unfinished)
        _strip(unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _lay_out_debian(recipe: Recipe, root: Path) -> None:
    root.mkdir(parents=True)
    archive = root.with_suffix(".tar")
    options = ["--quiet", "--variant=extract", f"--include={','.join(recipe.debian)}"]
    if os.geteuid() != 0:
        options.append("--mode=chrootless")  # nothing is run inside, so that no privilege is needed
    try:
        _run(["mmdebstrap", *options, recipe.suite, str(archive)])
        _run(["tar", "-C", str(root), "--exclude=./dev/*", "-xf", str(archive)])
    finally:
        archive.unlink(missing_ok=True)
    for name in ("proc", "sys", "dev", "tmp", "work", "in/a", "in/b", "etc"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)


def _install_packages(recipe: Recipe, site: Path) -> None:
    links = [argument for link in recipe.find_links for argument in ("--find-links", link)]
    wanted = [recipe.torch, *recipe.pins]
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if uv:
        options = [
            "--target",
            str(site),
            "--python-version",
            PYTHON,
            "--only-binary",
            ":all:",
            "--link-mode",
            "copy",
        ]
        _run([uv, "pip", "install", "--quiet", *options, *links, *wanted])
        return
    options = ["--target", str(site), "--python-version", PYTHON, "--only-binary=:all:", "--no-compile"]
    _run([sys.executable, "-m", "pip", "install", "--quiet", *options, *links, *wanted])


def add_users(folder: Path) -> None:
    """Write `passwd`, `group` and `nsswitch.conf` with a user for every slot."""
    users = [("root", 0, "/"), *((f"box{uid}", uid, f"{SCRATCH_INSIDE}/home") for uid in UIDS)]
    passwd = "".join(f"{name}:x:{uid}:{uid}::{home}:/usr/sbin/nologin\n" for name, uid, home in users)
    (folder / "passwd").write_text(passwd)
    (folder / "group").write_text("".join(f"{name}:x:{uid}:\n" for name, uid, _ in users))
    (folder / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")


def _compile_what_is_imported(site: Path) -> None:
    """Python writes the compiled form of what it imports: exactly the files that save a start two seconds."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" != PYTHON:
        return  # another version's files would be ignored; boxes then start a second slower
    ours = python_path().split(":")
    code = (
        f"import sys; sys.path[:0] = [{str(site)!r}]; sys.path += {ours!r};"
        " from anyshot_starting_kit.runner.vision import define_missing_operators;"
        f" define_missing_operators(); import {IMPORTED}"
    )
    _run([sys.executable, "-I", "-S", "-c", code])


def _write_inventory(recipe: Recipe, root: Path) -> None:
    target = root / SBOM_INSIDE
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(list_packages(root, SITE, recipe.flavour, recipe.key), indent=1))


def _strip(root: Path) -> None:
    for name in SUPERFLUOUS:
        path = root / name
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    for path in (root / "usr/bin").glob("dpkg*"):
        path.unlink()


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except (FileNotFoundError, PermissionError) as error:
        raise SandboxError(f"{command[0]} is not installed", Verdict.IMAGE_MISSING) from error
    if done.returncode:
        words = " ".join(command[:3])
        raise SandboxError(
            f"{words} ... failed: {(done.stderr or done.stdout)[-2000:]}", Verdict.IMAGE_MISSING
        )
