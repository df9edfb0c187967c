"""People over JSON, as others see them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel

from anyshot_platform.site.users.profiles import Participation, read_profile
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.site.web.viewer import ViewerDep

router = APIRouter(prefix="/api/v1/users", tags=["accounts"])


class ProfileOut(BaseModel):
    """A person; where `shown` is false they keep their profile to themselves, and all else is empty."""

    username: str
    shown: bool
    display_name: str
    affiliation: str
    country: str
    homepage: str
    about: str
    created_at: datetime | None
    participations: list[Participation]


@router.get("/{username}", dependencies=[Depends(public)])
def show_profile(
    viewer: ViewerDep, session: SessionDep, username: Annotated[str, Path(max_length=64)]
) -> ProfileOut:
    """Somebody's profile."""
    profile = read_profile(session, viewer, username)
    user, shown = profile.user, profile.shown
    return ProfileOut(
        username=user.username,
        shown=shown,
        display_name=user.display_name if shown else "",
        affiliation=user.affiliation if shown else "",
        country=user.country if shown else "",
        homepage=user.homepage if shown else "",
        about=user.about if shown else "",
        created_at=user.created_at if shown else None,
        participations=list(profile.participations),
    )
