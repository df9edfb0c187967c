"""What submissions can import in the sandbox."""

from fastapi import APIRouter, Depends

from anyshot_platform.judging.workers.inventories import ImageInventory, offered_inventories
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1", tags=["kit"])


@router.get("/sandbox", dependencies=[Depends(public)])
def list_sandboxes(session: SessionDep) -> list[ImageInventory]:
    """The packages in each sandbox image, with versions, sizes and the names that `import` takes."""
    return offered_inventories(session)
