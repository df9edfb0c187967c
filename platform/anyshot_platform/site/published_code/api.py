"""The code that teams have published, over JSON."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.published_code import list_published
from anyshot_platform.judging.visibility.standing import standing_of
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/code", tags=["competitions"])


class CodeOut(BaseModel):
    """A submission whose zip can be fetched from `url`, with or without a token."""

    submission: str
    team: str
    phase: str
    score: float | None
    digest: str
    size: int
    published_at: datetime | None
    url: str


@router.get("")
def list_code(
    access: Annotated[CompetitionAccess, Depends(visible_competition)], session: SessionDep
) -> list[CodeOut]:
    """The winners' code, where the organizers have published it."""
    return [
        CodeOut(
            submission=row.submission.id,
            team=row.team,
            phase=row.phase.slug,
            score=row.score,
            digest=row.submission.digest,
            size=row.submission.size,
            published_at=standing_of(row.submission).code_published,
            url=f"/competitions/{access.competition.slug}/code/{row.submission.id}.zip",
        )
        for row in list_published(session, access.competition, access.role)
    ]
