"""The organizers' table of submissions with its bulk acts."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.wire.verdicts import Cause
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.judging.submissions.actions import organizing
from anyshot_platform.judging.submissions.actions.organizing import SubmissionFilter
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell import many_frame
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.site.shell.many_frame import Sent
from anyshot_platform.site.submissions.menu import BULK, CHOICES
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/submissions", include_in_schema=False)
Word = Annotated[str, Query(max_length=100)]
_FILTERS = ("phase", "status", "cause", "kind", "text", "shown", "sort")


@router.get("")
def show_submissions(
    request: Request,
    access: AsReviewer,
    session: SessionDep,
    phase: Word = "",
    status: Word = "",
    cause: Word = "",
    kind: Word = "",
    q: Word = "",
    shown: Word = "",
    sort: Word = "-created",
    page: PageParam = 1,
) -> Response:
    """One page of the table."""
    wanted = SubmissionFilter(
        phase=phase, status=status, cause=cause, kind=kind, text=q, shown=shown, sort=sort
    )
    rows, place = organizing.find_submissions(session, access.competition, wanted, page)
    return _show(request, session, access, wanted, rows=rows, page=place, sort=sort)


def _show(
    request: Request, session: Session, access: CompetitionAccess, wanted: SubmissionFilter, **context: object
) -> Response:
    return render_manage(
        request,
        session,
        access,
        "submissions.html",
        "submissions",
        heading="Submissions",
        wanted=wanted,
        phases=[(p.slug, p.name) for p in list_phases(session, access.competition)],
        statuses=[word.value for word in SubmissionStatus],
        causes=[word.value for word in Cause],
        kinds=[word.value for word in SubmissionKind],
        acts=list(CHOICES.items()),
        **context,
    )


@router.post("/acts")
def act_on_many(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """One act on the ticked submissions, or on all that the filters show."""
    wanted = SubmissionFilter.model_construct(
        None, **{name: form.text(f"filter_{name}") for name in _FILTERS}
    )

    def pick() -> list[Submission]:
        everything = wanted if form.flag("everything") else None
        return organizing.pick(session, access.competition, form.all("id"), everything)

    return many_frame.act_on_many(Sent(request, session, access, form, BULK, _back(access, form)), pick)


def _back(access: CompetitionAccess, form: SentForm) -> str:
    kept = {name: form.text(f"filter_{name}") for name in _FILTERS if form.text(f"filter_{name}")}
    if "text" in kept:
        kept["q"] = kept.pop("text")
    return manage_path(access, "/submissions") + (f"?{urlencode(kept)}" if kept else "")
