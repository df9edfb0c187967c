"""A task of a smoke test to look at: its pictures, what was predicted, which classes were mixed up."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from anyshot_core.data.picture import EXPLAINED
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.submissions.task_view import find_task
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/submissions/{submission_id}/tasks", include_in_schema=False)
Reader = Annotated[SubmissionAccess, Depends(submission_reader)]
Number = Annotated[int, Path(ge=1, le=1_000_000)]


@router.get("/{number}")
def show_task(
    request: Request, found: Reader, session: SessionDep, services: ServicesDep, number: Number
) -> Response:
    """The page of a task, counted from 1."""
    task = find_task(session, services, found, number)
    here = f"/submissions/{found.submission.id}"
    return render(
        request,
        "submissions/task.html",
        section="submissions",
        title=submission_title(found.submission),
        here=here,
        task=task,
        explained=EXPLAINED,
        before=f"{here}/tasks/{number - 1}" if number > 1 else "",
        after=f"{here}/tasks/{number + 1}" if number < task.tasks else "",
    )


@router.get("/{number}/picture.jpg")
def show_picture(found: Reader, session: SessionDep, services: ServicesDep, number: Number) -> Response:
    """The picture of a task."""
    task = find_task(session, services, found, number)
    return Response(task.picture, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})
