"""The data of a competition over JSON, and downloads of what is public: `anyshot data get`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.data import PoolShown, data_of, find_public_pack, suggested_split
from anyshot_platform.people.users.viewer import Scope
from anyshot_platform.site.pools.data_downloads import note_data_taken
from anyshot_platform.site.web.access import signed_in_as, visible_competition
from anyshot_platform.site.web.files import send_stored
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/data", tags=["data"])
Visible = Annotated[CompetitionAccess, Depends(visible_competition)]


class DatasetOut(BaseModel):
    """A public dataset; download it from `data/DIGEST/pack`."""

    name: str
    domain: str
    description: str
    licence: str
    source: str
    images: int
    classes: int
    size: int = Field(description="bytes of the pack")
    digest: str = Field(description="sha-256 of the pack")


class PoolDataOut(BaseModel):
    """A version of a pool that phases use. A hidden one has no name and lists no datasets."""

    name: str
    version: int
    public: bool
    used_for: list[str]
    number_of_datasets: int
    datasets: list[DatasetOut]


class DataOut(BaseModel):
    """The data of a competition, and how its public datasets are split for trying things at home."""

    pools: list[PoolDataOut]
    split: dict[str, list[str]] = Field(description="names to `meta-train` and to `meta-test` on")


@router.get("")
def show_data(access: Visible, session: SessionDep) -> DataOut:
    """What data a competition uses: public datasets in full, hidden ones by their number."""
    pools = [_show(pool) for pool in data_of(session, access.competition)]
    return DataOut(pools=pools, split=suggested_split(session, access.competition))


@router.get("/{digest}/pack", dependencies=[Depends(signed_in_as(Scope.READ))])
def download_pack(
    access: Visible,
    session: SessionDep,
    services: ServicesDep,
    digest: Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")],
) -> Response:
    """A public dataset as a pack; `Range` goes on with a download that broke off."""
    pack = find_public_pack(session, access.competition, digest)
    note_data_taken(session, services.database, access)
    return send_stored(services, digest, f"{pack.name}.anyshot-pack")


def _show(pool: PoolShown) -> PoolDataOut:
    return PoolDataOut(
        name=pool.version.pool.slug if pool.public else "",
        version=pool.version.number,
        public=pool.public,
        used_for=[f"{role} in {phase}" for role, phase in pool.roles],
        number_of_datasets=pool.datasets,
        datasets=[_show_pack(pack) for pack in pool.packs],
    )


def _show_pack(pack: Pack) -> DatasetOut:
    details = pack.details
    return DatasetOut(
        name=pack.name,
        domain=pack.domain,
        description=str(details.get("description", "")),
        licence=str(details.get("licence", "")),
        source=str(details.get("source", "")),
        images=pack.images,
        classes=pack.classes,
        size=pack.size,
        digest=pack.digest,
    )
