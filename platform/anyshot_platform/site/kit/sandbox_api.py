"""What submissions can import in the sandbox."""

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from anyshot_core.wire.inventory import Inventory
from anyshot_platform.judging.workers.inventories import ImageInventory, offered_inventories
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1", tags=["kit"])


class SandboxOut(BaseModel):
    """What a sandbox image holds, as its own inventory says."""

    model_config = ConfigDict(from_attributes=True)

    image: str = Field(
        description="its name; empty for the list of this release, where no worker has told of its own"
    )
    hardware_class: str = Field(description="of the workers that have it; empty for the list of this release")
    inventory: Inventory


@router.get("/sandbox", dependencies=[Depends(public)], response_model=list[SandboxOut])
def list_sandboxes(session: SessionDep) -> list[ImageInventory]:
    """The packages in each sandbox image, with versions, sizes and the names that `import` takes."""
    return offered_inventories(session)
