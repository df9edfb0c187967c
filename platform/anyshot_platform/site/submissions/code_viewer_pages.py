"""The code of one's own submissions: a viewer with highlighting, and what changed since the zip before."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from markupsafe import Markup
from starlette.responses import Response

from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.submissions.code_view import compare_code, find_other, read_code, zip_before
from anyshot_platform.site.submissions.downloads import note_reading
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/submissions/{submission_id}/code", include_in_schema=False)
Reader = Annotated[SubmissionAccess, Depends(submission_reader)]
Name = Annotated[str, Query(max_length=1024, description="path within the zip")]


@router.get("")
def show_code(
    request: Request, found: Reader, session: SessionDep, services: ServicesDep, file: Name = ""
) -> Response:
    """The files of the zip, and one of them in colour."""
    note_reading(services, found, "code")
    code = read_code(services, found.submission, file)
    return render(
        request,
        "submissions/code.html",
        section="submissions",
        code=code,
        lines=None if code["lines"] is None else [Markup(line) for line in code["lines"]],  # made by Pygments
        before=zip_before(session, found),
        **_head(found),
    )


@router.get("/changes")
def show_changes(
    request: Request,
    found: Reader,
    session: SessionDep,
    services: ServicesDep,
    since: Annotated[int | None, Query(ge=1, lt=2**31, description="number of the other submission")] = None,
) -> Response:
    """What is different from the zip before, or from that of another submission of the team."""
    note_reading(services, found, "code")
    other = find_other(session, found, since)
    return render(
        request,
        "submissions/changes.html",
        section="submissions",
        before=other,
        before_title=submission_title(other) if other else "",
        files=compare_code(services, found.submission, other) if other else [],
        **_head(found),
    )


def _head(found: SubmissionAccess) -> dict[str, Any]:
    submission = found.submission
    return {"sub": submission, "title": submission_title(submission), "competition": submission.competition}
