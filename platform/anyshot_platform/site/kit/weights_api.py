"""Which pretrained weights the site offers to runs."""

from fastapi import APIRouter, Depends

from anyshot_core.weights import WeightsFile, list_weights
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import ServicesDep

router = APIRouter(prefix="/api/v1", tags=["kit"])


@router.get("/weights", dependencies=[Depends(public)])
def list_offered(services: ServicesDep) -> list[WeightsFile]:
    """The pretrained weights that runs find as `/weights/NAME`; those of leagues that start from scratch find none."""
    return list_weights(services.settings.weights_folder)
