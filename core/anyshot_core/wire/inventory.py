"""What a submission finds in a sandbox image, as the image's own bill of materials says."""

from functools import cache
from pathlib import Path

from pydantic import Field

from anyshot_core.wire.message import Message

OURS = frozenset({"api", "anyshot_core", "anyshot_scoring", "anyshot_starting_kit"})  # of every image
SHIPPED = Path(__file__).with_name("inventory.json")  # of the image that this release builds


class SandboxPackage(Message):
    """A Python package of an image."""

    name: str = Field(max_length=100)
    version: str = Field(max_length=100)
    size: int = Field(ge=0, description="bytes on disk")
    imports: list[str] = Field(max_length=100, description="the names that `import` takes")


class Inventory(Message):
    """The Python, the C and C++ compiler (empty: none) and the Python packages of an image."""

    python: str = Field(max_length=100)
    compiler: str = Field(default="", max_length=100)
    packages: list[SandboxPackage] = Field(max_length=2000)

    @property
    def importable(self) -> frozenset[str]:
        """The names that `import` takes, Python's own modules left out."""
        return OURS | {name for package in self.packages for name in package.imports}


@cache
def shipped_inventory() -> Inventory:
    """What the image of this release held when it was made; serves where no worker has told of its own."""
    return Inventory.model_validate_json(SHIPPED.read_bytes())
