"""People over JSON, as others see them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field

from anyshot_platform.site.users.profiles import read_profile
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.site.web.viewer import ViewerDep
from anyshot_platform.standings.leaderboards.standings import TeamStanding

router = APIRouter(prefix="/api/v1/users", tags=["accounts"])


class ParticipationOut(BaseModel):
    """A competition that somebody takes part in, and where their team stands on the boards that the viewer may see."""

    competition: str = Field(description="the competition's short name")
    team_id: str
    team: str
    standings: list[TeamStanding]


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
    participations: list[ParticipationOut]


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
        participations=[
            ParticipationOut(
                competition=one.slug,
                team_id=one.team_id,
                team=one.team,
                standings=list(one.standings),
            )
            for one in profile.participations
        ],
    )
