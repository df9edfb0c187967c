"""Which classes a submission mixes up: a page of its own."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.shell.page_header import Tab
from anyshot_platform.site.submissions.confusion_view import make_view, read_confusions
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)


@router.get("/submissions/{submission_id}/confusion")
def show_confusion(
    request: Request,
    found: Annotated[SubmissionAccess, Depends(submission_reader)],
    session: SessionDep,
    services: ServicesDep,
    dataset: Annotated[int, Query(ge=1, le=10_000)] = 1,
) -> Response:
    """The confusion of one dataset, over all tasks of all runs that count."""
    known = read_confusions(session, services.storage, found)
    chosen = min(dataset, len(known))
    here = f"/submissions/{found.submission.id}"
    return render(
        request,
        "submissions/confusion.html",
        section="submissions",
        title=submission_title(found.submission),
        here=here,
        tabs=[Tab(str(n), one.label, f"{here}/confusion?dataset={n}", "") for n, one in enumerate(known, 1)],
        current=str(chosen),
        view=make_view(known[chosen - 1].confusion, known[chosen - 1].label),
    )
