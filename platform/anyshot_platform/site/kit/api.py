"""What participants build on, over JSON: the shipped baselines, the sandbox's packages, the offered weights."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from anyshot_core.weights import WeightsFile, list_weights
from anyshot_platform.judging.workers.inventories import ImageInventory, offered_inventories
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.standings.baselines.actions.shipped import list_shipped, pack_shipped

router = APIRouter(prefix="/api/v1", tags=["kit"], dependencies=[Depends(public)])


class ShippedBaselineOut(BaseModel):
    """A submission that ships with Anyshot; its zip is at `/api/v1/baselines/NAME/zip`."""

    name: str
    settings: list[str] = Field(description="names that `?settings=` of the zip takes")


@router.get("/baselines")
def list_of_kit() -> list[ShippedBaselineOut]:
    """The baselines that ship with this site's release."""
    return [ShippedBaselineOut(name=one.name, settings=sorted(one.overlays())) for one in list_shipped()]


@router.get("/baselines/{name}/zip", response_class=Response)
def send_zip(
    name: Annotated[str, Path(max_length=64)], settings: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """A baseline as a submission's zip, its `config.json` with the `settings` of that name."""
    named = name.replace("-", "_")
    headers = {"content-disposition": f'attachment; filename="{named}.zip"'}
    return Response(pack_shipped(name, settings), media_type="application/zip", headers=headers)


@router.get("/sandbox")
def list_sandboxes(session: SessionDep) -> list[ImageInventory]:
    """The packages in each sandbox image, with versions, sizes and the names that `import` takes."""
    return offered_inventories(session)


@router.get("/weights")
def list_offered(services: ServicesDep) -> list[WeightsFile]:
    """The pretrained weights that runs find as `/weights/NAME`; those of leagues that start from scratch find none."""
    return list_weights(services.settings.weights_folder)
