"""For which devices an image is built: compared with what a phase asks for, before its code starts anywhere."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from anyshot_core.wire.requirements import PACKAGES_IMAGE
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.interface import ImageInfo, SandboxError

LABEL = "org.anyshot.flavour"
CPU, GPU = "cpu", "gpu"


def runs_on_gpus(image: ImageInfo) -> bool:
    """Whether its torch can use a GPU; of an image that does not say, somebody else's, it is believed."""
    return image.labels.get(LABEL) != CPU


def require_flavour(image: ImageInfo, gpus: int) -> None:
    """Raise SandboxError (BAD_IMAGE) where a phase asks for GPUs and the image is built for CPUs alone."""
    if gpus and not runs_on_gpus(image):
        raise SandboxError(
            f"the phase asks for {gpus} GPU{'s' * (gpus > 1)}, and the image {image.name} has a torch that is built for"
            " CPUs: choose an image for GPUs in the phase's settings, or ask the operator for one (anyshot worker image"
            " build --flavour gpu)",
            Verdict.BAD_IMAGE,
        )


def command_to_build(name: str) -> str:
    """What an operator types on the machine whose Docker daemon lacks the image of that name."""
    if name == CPU or ":" in name:  # a digest is no name to build under
        return "anyshot worker image build"
    if PACKAGES_IMAGE.fullmatch(name):
        return "anyshot worker image asked --build"
    option = "--flavour gpu" if name == GPU else f"--name {name}"
    return f"anyshot worker image build {option}"


def require_some_for_gpus(images: Iterable[ImageInfo]) -> None:
    """Raise SandboxError where a worker is set up for GPUs and none of its images can use one."""
    known = list(images)
    if known and not any(map(runs_on_gpus, known)):
        names = ", ".join(sorted({image.name for image in known}))
        raise SandboxError(
            f"ANYSHOT_DOCKER_RUNTIME is nvidia, and every image of this worker is built for CPUs ({names}): build one"
            " with anyshot worker image build --flavour gpu, and name it in ANYSHOT_SANDBOX_IMAGE or"
            " ANYSHOT_SANDBOX_IMAGES",
            Verdict.SANDBOX_START,
        )


def labels_of_this_python() -> dict[str, str]:
    """The flavour of the torch that is installed here, as its build says: 2.15.0+cpu is for CPUs."""
    try:
        return {LABEL: CPU} if version("torch").endswith("+cpu") else {}
    except PackageNotFoundError:
        return {LABEL: CPU}
