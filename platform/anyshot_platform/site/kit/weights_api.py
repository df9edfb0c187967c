"""Which pretrained weights the site offers to runs."""

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from anyshot_core.weights import WeightsFile, list_weights
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import ServicesDep

router = APIRouter(prefix="/api/v1", tags=["kit"])


class WeightsOut(BaseModel):
    """A file of pretrained weights, which runs find as `/weights/NAME`."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    digest: str = Field(description="sha256 of the file")
    size: int = Field(description="bytes")
    licence: str = Field(description="empty where the operator does not say")
    source: str


@router.get("/weights", dependencies=[Depends(public)], response_model=list[WeightsOut])
def list_offered(services: ServicesDep) -> list[WeightsFile]:
    """The pretrained weights that runs may read, but those of submissions to leagues that start from scratch."""
    return list_weights(services.settings.weights_folder)
