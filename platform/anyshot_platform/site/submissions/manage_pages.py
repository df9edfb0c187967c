"""The organizers' table of submissions with its bulk acts."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.wire.verdicts import Cause
from anyshot_platform.acts.declaration import TEAM_READS
from anyshot_platform.errors import Invalid, PlatformError
from anyshot_platform.kernel.language import say
from anyshot_platform.kernel.paging import PageParam
from anyshot_platform.organizers.submissions import bulk, organizing
from anyshot_platform.organizers.submissions.acts import ACTS
from anyshot_platform.organizers.submissions.bulk import SubmissionAct, SubmissionsOutcome
from anyshot_platform.organizers.submissions.organizing import SubmissionFilter
from anyshot_platform.phases.service import list_phases
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.web.forms import FormDep, SentForm
from anyshot_platform.web.rendering import redirect
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/submissions", include_in_schema=False)
Word = Annotated[str, Query(max_length=100)]
_FILTERS = ("phase", "status", "cause", "kind", "text", "shown", "sort")
WORDS = {
    SubmissionAct.RERUN: say("run again"),
    SubmissionAct.RESCORE: say("score again"),
    SubmissionAct.CANCEL: say("cancel"),
    SubmissionAct.DISQUALIFY: say("disqualify"),
    SubmissionAct.QUALIFY: say("lift the disqualification of"),
    SubmissionAct.REFUND: say("give the quota back for"),
    SubmissionAct.CHARGE: say("count for the quota"),
    SubmissionAct.DELETE: say("delete"),
    SubmissionAct.RESTORE: say("restore"),
}
_MENU = {  # without a number of submissions behind
    **WORDS,
    SubmissionAct.QUALIFY: say("lift the disqualification"),
    SubmissionAct.REFUND: say("give the quota back"),
}


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
    wanted = SubmissionFilter(phase, status, cause, kind, q, shown, sort)
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
        heading=say("Submissions"),
        wanted=wanted,
        phases=[(p.slug, p.name) for p in list_phases(session, access.competition)],
        statuses=[word.value for word in SubmissionStatus],
        causes=[word.value for word in Cause],
        kinds=[word.value for word in SubmissionKind],
        acts=[(act.value, _MENU[act]) for act in SubmissionAct],
        **context,
    )


@router.post("/acts")
def act_on_many(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Say what will happen to how many; then, confirmed, do it, and offer the undo."""
    try:
        return _act(request, access, session, form)
    except PlatformError as error:
        if error.status not in (409, 422):
            raise
        session.rollback()
        return redirect(_back(access, form), flash=error.message, tone="bad")


def _act(request: Request, access: CompetitionAccess, session: Session, form: SentForm) -> Response:
    if form.text("act") not in set(SubmissionAct):
        raise Invalid("Choose what to do.")
    act = form.choice("act", SubmissionAct)
    everything = form.flag("everything")
    wanted = (
        SubmissionFilter(**{name: form.text(f"filter_{name}") for name in _FILTERS}) if everything else None
    )
    chosen = organizing.pick(session, access.competition, form.all("id"), wanted)
    if not chosen:
        raise Invalid("Tick the submissions first.")
    if not form.flag("confirmed"):
        return render_manage(
            request,
            session,
            access,
            "submissions_confirm.html",
            "submissions",
            heading=say("Submissions"),
            act=act,
            words=WORDS[act],
            shown=bulk.preview_many(session, chosen, act, access.viewer.id),
            ids=[submission.id for submission in chosen],
            undo=ACTS[act.value].undo,
            reason=ACTS[act.value].reason,
            back=_back(access, form),
        )
    outcome = bulk.act_on(session, chosen, act, access.viewer.id, form.text("reason"))
    return _done(request, access, session, form, outcome)


def _done(
    request: Request, access: CompetitionAccess, session: Session, form: SentForm, outcome: SubmissionsOutcome
) -> Response:
    undo = bulk.UNDO.get(outcome.act)
    return render_manage(
        request,
        session,
        access,
        "submissions_done.html",
        "submissions",
        heading=say("Submissions"),
        outcome=outcome,
        words=WORDS[outcome.act],
        undo=undo.value if undo and outcome.done else None,
        undo_words=WORDS[undo] if undo else "",
        undo_at_once=undo is not None
        and ACTS[undo.value].reason != TEAM_READS,  # else it asks what the team reads
        back=_back(access, form),
    )


def _back(access: CompetitionAccess, form: SentForm) -> str:
    kept = {name: form.text(f"filter_{name}") for name in _FILTERS if form.text(f"filter_{name}")}
    if "text" in kept:
        kept["q"] = kept.pop("text")
    return manage_path(access, "/submissions") + (f"?{urlencode(kept)}" if kept else "")
