"""The further evaluations of a submission over JSON."""

from typing import Annotated

from fastapi import APIRouter, Depends

from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.evaluations.view import PointOut, points_out
from anyshot_platform.site.submissions.show import find_version
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1", tags=["submissions"])


@router.get("/submissions/{submission_id}/evaluations")
def show_evaluations(
    found: Annotated[SubmissionAccess, Depends(submission_reader)], session: SessionDep
) -> list[PointOut]:
    """What its learner scores on further tasks, point by point; empty where there is nothing that one may see."""
    version = find_version(session, found.submission)
    return points_out(session, found.sight, version)
