"""The pages of submissions: lists, one submission, its stream, its files, cancel and withdraw."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.evaluations import PointScore
from anyshot_platform.actions.concurrency import Stale
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.errors import Invalid, PlatformError
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.judging.evaluations.words import said_words
from anyshot_platform.judging.submissions.actions import withdrawing
from anyshot_platform.judging.submissions.actions.notes import annotate
from anyshot_platform.judging.visibility.access import CompetitionAccess, SubmissionAccess
from anyshot_platform.judging.visibility.faults import EvaluationFault
from anyshot_platform.people.notifications.service import has_unread
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.evaluations.view import cards, faults_of_submission, of_submission
from anyshot_platform.site.shell.act_frame import ask_which
from anyshot_platform.site.shell.manage_frame import manage_path
from anyshot_platform.site.shell.many_frame import offered
from anyshot_platform.site.shell.page_header import open_for_team, read_header
from anyshot_platform.site.submissions.answer import read_answer
from anyshot_platform.site.submissions.confusion_view import offers_confusion
from anyshot_platform.site.submissions.failures import FailureView, show_failed_evaluation
from anyshot_platform.site.submissions.filters import SORTS, WantedDep, known_tags, narrow
from anyshot_platform.site.submissions.log_view import read_log
from anyshot_platform.site.submissions.menu import BULK, CHOICES
from anyshot_platform.site.submissions.next_steps import read_next_steps
from anyshot_platform.site.submissions.progress import is_live
from anyshot_platform.site.submissions.quota_view import quota_view
from anyshot_platform.site.submissions.results import read_results_view
from anyshot_platform.site.submissions.rows import own_submissions, page_rows, team_submissions
from anyshot_platform.site.submissions.run_charts import read_running
from anyshot_platform.site.submissions.show import (
    cancel_words,
    find_version,
    read_failure,
    read_runs,
    read_submission,
)
from anyshot_platform.site.submissions.smoke_answer import read_smoke_answer
from anyshot_platform.site.web.access import (
    browser_session,
    competition_role,
    submission_owner,
    submission_reader,
)
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
Reader = Annotated[SubmissionAccess, Depends(submission_reader)]
Owner = Annotated[SubmissionAccess, Depends(submission_owner)]


@router.get("/submissions")
def show_all(
    request: Request,
    session: SessionDep,
    viewer: Annotated[Viewer, Depends(browser_session)],
    wanted: WantedDep,
    page: PageParam = 1,
) -> Response:
    """One's own submissions across competitions."""
    every = own_submissions(viewer.id)
    rows, place = page_rows(session, viewer, narrow(every, wanted), page, sort=wanted.sort)
    return render(
        request,
        "submissions/list.html",
        section="submissions",
        rows=rows,
        page=place,
        wanted=wanted,
        sorts=SORTS,
        tags=known_tags(session, every),
    )


@router.get("/competitions/{slug}/submissions")
def show_mine(
    request: Request,
    access: Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))],
    session: SessionDep,
    wanted: WantedDep,
    page: PageParam = 1,
) -> Response:
    """What one's team handed in to a competition."""
    team_id = access.team_id or ""
    every = team_submissions(team_id, access.competition.id)
    rows, place = page_rows(session, access.viewer, narrow(every, wanted), page, sort=wanted.sort)
    phase = open_for_team(access, list_phases(session, access.competition))
    return render(
        request,
        "submissions/mine.html",
        section="competitions",
        head=read_header(session, access),
        tab="submissions",
        rows=rows,
        page=place,
        wanted=wanted,
        sorts=SORTS,
        tags=known_tags(session, every),
        phase=phase,
        quota=quota_view(session, phase, team_id) if phase else None,
    )


@router.get("/submissions/{submission_id}")
def show_submission(request: Request, found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """One submission: live while it runs, then its results or its failure."""
    submission, sight = found.submission, found.sight
    version = find_version(session, submission)
    runs = read_runs(session, submission, version)
    scores = of_submission(session, sight, version)
    results = None
    if version is not None and sight.scored:
        results = read_results_view(session, services.storage, sight, version, runs)
    return render(
        request,
        "submissions/show.html",
        section="submissions",
        sub=read_submission(session, found, runs),
        answer=read_answer(session, services.storage, found, version) if version is not None else None,
        smoke=read_smoke_answer(session, submission, runs, version),
        manage=manage_path(found.access, "/submissions") if found.access.may(Role.REVIEWER) else "",
        offered=offered(session, BULK, submission, found.viewer.id)
        if found.access.may(Role.ORGANIZER)
        else [],
        choices=CHOICES,
        stern=BULK.stern,
        next=None if is_live(runs) else read_next_steps(session, found),
        failure=read_failure(sight, runs),
        results=results,
        evaluations=cards({"Score": scores}) if scores else (),
        failed_evaluations=_failed_evaluations(session, found, version, scores),
        running=read_running(session, found, runs),
        log=read_log(session, found, runs),
        unread_here=has_unread(session, found.viewer.id, f"/submissions/{submission.id}"),
        confusion_href=f"/submissions/{submission.id}/confusion" if offers_confusion(session, found) else "",
    )


def _failed_evaluations(
    session: Session, found: SubmissionAccess, version: PhaseVersion | None, scores: Sequence[PointScore]
) -> list[tuple[str, FailureView]]:
    """The failures of further evaluations, each once, with the points that it is of."""
    points: dict[EvaluationFault, dict[str, str]] = {}
    for score, _, fault in faults_of_submission(session, found.sight, version, scores):
        words = said_words(score)
        points.setdefault(fault, {})[words] = words
    return [
        (
            join_texts(words.values(), ", "),
            show_failed_evaluation(found.submission, fault, version.gpus if version else 0),
        )
        for fault, words in points.items()
    ]


@router.post("/submissions/{submission_id}/note")
def save_note(request: Request, found: Owner, session: SessionDep, form: FormDep) -> Response:
    """Keep the team's note and tags."""
    target = f"/submissions/{found.submission.id}"
    tags = form.text("tags").replace(",", " ").split()
    try:
        annotate(session, found, form.text("comment"), tags, form.text("seen"))
    except Stale as error:
        return ask_which(request, form, error, target)
    except Invalid as error:
        return redirect(target, flash=error.message, tone="warn")
    return redirect(target, flash="Saved.")


@router.get("/submissions/{submission_id}/cancel")
def ask_cancel(request: Request, found: Owner) -> Response:
    """The question that the page's dialog asks, as a page for browsers without scripts."""
    return _ask(
        request,
        found,
        "Cancel this submission?",
        "cancel",
        "Cancel the submission",
        [
            "It stops within seconds and frees its slot. It will have no score.",
            cancel_words(found.submission),
        ],
    )


@router.post("/submissions/{submission_id}/cancel")
def cancel(found: Owner, session: SessionDep) -> Response:
    """Stop all runs of the submission."""
    target = f"/submissions/{found.submission.id}"
    try:
        withdrawing.cancel(session, found.submission, by=found.viewer.id)
    except PlatformError as error:
        return redirect(target, flash=error.message, tone="warn")
    return redirect(target, flash="Cancelled. What was running stops within seconds.")


@router.get("/submissions/{submission_id}/withdraw")
def ask_withdraw(request: Request, found: Owner, session: SessionDep) -> Response:
    """The same for withdrawing."""
    return _ask(
        request,
        found,
        f"Withdraw #{found.submission.number}?",
        "withdraw",
        "Withdraw",
        [withdrawing.withdrawing_means(session, found.submission, found.sight.phase)],
    )


@router.post("/submissions/{submission_id}/withdraw")
def withdraw(found: Owner, session: SessionDep) -> Response:
    """Take the submission off the boards."""
    withdrawing.withdraw(session, found.submission)
    return redirect(f"/submissions/{found.submission.id}", flash="The submission is withdrawn.")


@router.post("/submissions/{submission_id}/restore")
def restore(found: Owner, session: SessionDep) -> Response:
    """Put a withdrawn submission back on its boards."""
    withdrawing.reinstate(session, found.submission)
    return redirect(f"/submissions/{found.submission.id}", flash="It is back on the leaderboard.")


def _ask(
    request: Request, found: SubmissionAccess, title: str, act: str, verb: str, texts: list[str]
) -> Response:
    here = f"/submissions/{found.submission.id}"
    return render(
        request,
        "submissions/confirm.html",
        section="submissions",
        title=title,
        action=f"{here}/{act}",
        verb=verb,
        texts=texts,
        cancel_href=here,
    )
