"""What submissions can import in the sandbox images, as workers tell it."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.inventory import Inventory, shipped_inventory
from anyshot_platform.judging.workers.models import Worker


@dataclass(frozen=True)
class ImageInventory:
    """What a sandbox image holds, as its own inventory says."""

    image: Annotated[
        str,
        Field(
            description="its name; empty for the list of this release, where no worker has told of its own"
        ),
    ]
    hardware_class: Annotated[
        str, Field(description="of the workers that have it; empty for the list of this release")
    ]
    inventory: Inventory


def offered_inventories(session: Session) -> list[ImageInventory]:
    """Each image of each hardware class, by the worker heard of last; where none has told, the release's own."""
    found: dict[tuple[str, str], Inventory] = {}
    for worker in session.scalars(select(Worker).order_by(Worker.last_seen_at.desc()).limit(200)):
        for name, inventory in worker.info.inventories.items() if worker.info else ():
            found.setdefault((worker.hardware_class, name), inventory)
    if not found:
        return [ImageInventory("", "", shipped_inventory())]
    return [
        ImageInventory(name, kind, inventory)
        for (kind, name), inventory in sorted(found.items(), key=lambda one: one[0])
    ]


def inventory_of(
    session: Session, hardware_class: str, image: str | None, digest: str | None
) -> Inventory | None:
    """What runs on such workers find in an image, by the worker that was heard of last; None where none has told.

    A digest decides where there is one; no name means the image that a worker uses where none is named.
    """
    query = select(Worker).where(Worker.hardware_class == hardware_class)
    for worker in session.scalars(query.order_by(Worker.last_seen_at.desc()).limit(200)):
        if worker.info is None:
            continue
        digests = worker.info.image_digests
        wanted = digest or digests.get(image or "", "")
        for name, inventory in worker.info.inventories.items():
            if name == image if not wanted else digests.get(name) == wanted:
                return inventory
    return None
