"""Commands of an operator about the sandbox: `anyshot worker image ...`, `doctor`, `janitor`."""

import json
from contextlib import closing
from pathlib import Path
from typing import TextIO

import click

from anyshot_core.wire.requirements import PACKAGES_IMAGE, packages_image, read_requirements
from anyshot_worker.sandbox.interface import Backend, SandboxError
from anyshot_worker.sandbox.settings import SandboxSettings


@click.group()
def image() -> None:
    """Sandbox images: build them, list them, look inside."""


@image.command("build")
@click.option("--flavour", type=click.Choice(["cpu", "gpu"]), default="cpu", show_default=True)
@click.option("--name", default="", help="name that phases use; the flavour if left out")
@click.option("--as-folder", is_flag=True, help="a plain folder for Bubblewrap instead of a Docker image")
@click.option("--base", default="", help="a base image from a registry, instead of one made from nothing")
@click.option(
    "--add",
    type=click.File(),
    help="packages to add, NAME==VERSION a line, with what they need; resolved, installed by hash, and proved",
)
def build(flavour: str, name: str, as_folder: bool, base: str, add: TextIO | None) -> None:
    """Build a sandbox image, from nothing or on a base image, unless it is there."""
    from anyshot_worker.images.build import build_folder, build_image

    settings = SandboxSettings()
    target = settings.images_folder
    with plain_errors():
        if add is not None:
            _build_with(settings, flavour, _read_list(add), as_folder=as_folder, name=name, base=base)
            return
        if as_folder:
            click.echo(build_folder(flavour, target, settings.wheelhouse, say=click.echo))  # type: ignore[arg-type]
            return
        built = build_image(flavour, target, settings.wheelhouse, name, say=click.echo, base=base)  # type: ignore[arg-type]
        click.echo(f"{'built' if built.built else 'already there'}: {built.name} = {built.tag}")


def _read_list(file: TextIO) -> list[str]:
    try:
        return read_requirements(file.read())
    except ValueError as error:
        raise click.ClickException(f"{file.name}, {error}") from error


def _build_with(
    settings: SandboxSettings,
    flavour: str,
    packages: list[str],
    *,
    as_folder: bool,
    name: str = "",
    base: str = "",
) -> None:
    """Build the image or folder with these packages, prove it as any other, and say how it is offered."""
    from anyshot_worker.images.additions import require_imports
    from anyshot_worker.images.build import build_folder, build_image
    from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
    from anyshot_worker.sandbox.docker import DockerBackend
    from anyshot_worker.sandbox.preflight import prove_guarantees

    where = (flavour, settings.images_folder, settings.wheelhouse)
    if as_folder:
        name, backend = packages_image(flavour, packages), BubblewrapBackend(settings)
        build_folder(*where, say=click.echo, add=packages)  # type: ignore[arg-type]
    else:
        name, backend = name or packages_image(flavour, packages), DockerBackend(settings)
        build_image(*where, name, say=click.echo, base=base, add=packages)  # type: ignore[arg-type]
    require_imports(backend, name, packages)
    prove_guarantees(backend, settings, name)
    click.echo(f"proved: {name} is {backend.prepare(name).digest}")
    if name not in settings.offered_images:
        click.echo(f"to offer it: add {name} to ANYSHOT_SANDBOX_IMAGES and start the worker again")


@image.command("asked")
@click.option("--build", "build_them", is_flag=True, help="build those that are not refused, and prove them")
@click.option("--base", default="", help="a base image from a registry, instead of one made from nothing")
def asked(build_them: bool, base: str) -> None:
    """The images that phases ask for by lists of packages: what is in them, for whom, and who has them."""
    from anyshot_worker.cli import read_settings
    from anyshot_worker.client import WorkerApiError, WorkerClient
    from anyshot_worker.sandbox.sandboxes import choose_backend

    settings = read_settings()
    try:
        with closing(WorkerClient(settings.platform_url, settings.worker_token.get_secret_value())) as client:
            found = client.asked_images(settings.hardware_class)
    except WorkerApiError as error:
        raise click.ClickException(str(error)) from error
    failed = False
    for one in found:
        state = (
            f"refused: {one.refused}" if one.refused else f"offered by {', '.join(one.workers) or 'nobody'}"
        )
        click.echo(f"{one.name} for {', '.join(one.phases)}, {state}: {' '.join(one.packages)}")
        match = PACKAGES_IMAGE.fullmatch(one.name)
        if not build_them or one.refused or match is None:
            continue
        try:
            as_folder = choose_backend(settings).images_are_folders
            packages = read_requirements("\n".join(one.packages))
            _build_with(settings, match["flavour"], packages, as_folder=as_folder, base=base)
        except SandboxError as error:
            failed = True
            click.echo(f"not built: {error}", err=True)
            click.echo(f"to tell it: anyshot administer do image.off {one.name} --reason TEXT", err=True)
    if not found:
        click.echo(f"No phase of the class {settings.hardware_class} asks for packages.")
    if failed:
        raise click.exceptions.Exit(1)


@image.command("context")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--flavour", type=click.Choice(["cpu", "gpu"]), default="cpu", show_default=True)
@click.option(
    "--torch-index", default="", help="where wheels of a CPU-only torch lie; otherwise CUDA comes along"
)
def context(folder: Path, flavour: str, torch_index: str) -> None:
    """Write into FOLDER what `docker build` needs to make a base image with a registry."""
    from anyshot_worker.images.build import write_context

    write_context(flavour, folder)  # type: ignore[arg-type]
    index = f"--build-arg TORCH_INDEX={torch_index} " if torch_index else ""
    click.echo(f"docker build --build-arg FLAVOUR={flavour} {index}--tag NAME {folder}")
    click.echo(f"anyshot worker image build --flavour {flavour} --base NAME")


@image.command("list")
def list_images() -> None:
    """The images that phases may name, with digest, flavour and bill of materials."""
    from anyshot_worker.sandbox.sandboxes import choose_backend

    settings = SandboxSettings()
    with plain_errors():
        backend = choose_backend(settings)
        for name in settings.offered_images:
            click.echo(describe_image(backend, name))


@image.command("sbom")
@click.argument("name", default="cpu")
def sbom(name: str) -> None:
    """The bill of materials (CycloneDX JSON) of an image."""
    from anyshot_worker.images.contents import read_sbom
    from anyshot_worker.sandbox.sandboxes import choose_backend

    with plain_errors():
        click.echo(json.dumps(read_sbom(choose_backend(SandboxSettings()), name), indent=1))


@image.command("packages")
@click.argument("name", default="cpu")
def packages(name: str) -> None:
    """What submissions can import in an image, as JSON: names, versions, sizes, and what `import` takes."""
    from anyshot_worker.images.contents import read_inventory, read_sbom
    from anyshot_worker.sandbox.sandboxes import choose_backend

    with plain_errors():
        bill = read_sbom(choose_backend(SandboxSettings()), name)
        click.echo(read_inventory(bill).model_dump_json(indent=1))


@click.command()
@click.option("--image", "image_name", default="", help="image to prove it with; the settings' if left out")
@click.option("--as-json", is_flag=True, help="one JSON object instead of a table")
def doctor(image_name: str, as_json: bool) -> None:
    """Prove every guarantee of the sandbox on this machine, and say what to do about one that fails."""
    from anyshot_worker.sandbox.preflight import check_guarantees
    from anyshot_worker.sandbox.sandboxes import choose_backend

    settings = SandboxSettings()
    with plain_errors():
        backend = choose_backend(settings)
        findings = check_guarantees(
            backend, image_name or settings.sandbox_image, weights=settings.weights_folder is not None
        )
    if as_json:
        click.echo(json.dumps({f.guarantee.name: f.wrong or None for f in findings}))
    else:
        click.echo(f"Sandbox: {backend.name}{' (reduced)' if backend.reduced else ''}")
        for finding in findings:
            item = finding.guarantee
            click.echo(f"{'proved' if finding.holds else 'FAILED':7} {item.promise} ({item.proof_in_words})")
            if not finding.holds:
                click.echo(f"        {finding.wrong}. What to do: {item.remedy}.")
        for name in sorted(backend.not_promised):
            click.echo(f"{'missing':7} {name}: this backend cannot promise it")
    if any(not finding.holds for finding in findings):
        raise click.exceptions.Exit(1)


@click.command()
def janitor() -> None:
    """End what dead workers left on this machine: containers, control groups, folders."""
    from anyshot_worker.sandbox.docker import DockerBackend
    from anyshot_worker.sandbox.janitor import sweep
    from anyshot_worker.sandbox.processes import LocalBackend

    settings = SandboxSettings()
    docker = DockerBackend(settings)
    with plain_errors():
        swept = sweep(settings, docker if docker.answers() else LocalBackend())
    click.echo(f"ended {len(swept.containers)} containers, removed {len(swept.folders)} folders")


def describe_image(backend: Backend, name: str) -> str:
    """One line about an image, or what is wrong with it."""
    try:
        info = backend.prepare(name)
    except SandboxError as error:
        return f"{name}: {error}"
    labels = info.labels
    known = {key: labels.get(f"org.anyshot.{key}") for key in ("flavour", "torch", "sbom")}
    details = ", ".join(f"{key} {value}" for key, value in known.items() if value)
    return f"{name}: {info.digest[:19]} {details}"


class plain_errors:
    """Show a SandboxError as one line and end with status 1."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SandboxError):
            raise click.ClickException(f"{error.verdict}: {error}") from error


COMMANDS = [image, doctor, janitor]
