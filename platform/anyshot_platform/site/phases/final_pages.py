"""The organizers' page of phases that make results: preview and launch of a final, look, publish."""

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase, live_version
from anyshot_platform.judging.submissions.actions.code_acts import list_teams
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.phases import result_phases
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.leaderboards.reading import read_board
from anyshot_platform.standings.results.actions import final_acts, finals, repeats, winner_acts
from anyshot_platform.standings.results.records import changes_of
from anyshot_platform.standings.results.winners import read_winners

router = APIRouter(prefix="/competitions/{slug}/manage/final", include_in_schema=False)


@router.get("")
def show_final(request: Request, access: AsReviewer, session: SessionDep, phase: str = "") -> Response:
    """Who enters and why the others do not; the entries' runs; the boards as only organizers see them."""
    listed = result_phases(session, access.competition)
    fed = [row for row in listed if row.gate_phase_id]
    chosen = find_phase(session, access.competition, phase) if phase else next(iter(fed or listed), None)
    context: dict[str, object] = {"finals": listed, "phase": chosen}
    if chosen in listed:
        context |= _results(session, access, chosen) | _entering(session, chosen)
        context["codes"] = list_teams(session, access.competition)
    return render_manage(request, session, access, "final.html", "final", heading="Final phase", **context)


def _results(session: Session, access: CompetitionAccess, phase: Phase) -> dict[str, object]:
    """What any phase has that makes results: boards, winners, whether there is something to publish."""
    version = live_version(session, phase)
    boards = [
        (league, read_board(session, version, league)) for league in list_leagues(session, access.competition)
    ]
    return {
        "version": version,
        "winners": read_winners(session, phase) if access.may(Role.ORGANIZER) else [],
        "boards": [(league, board) for league, board in boards if board.places],
        "changes": [change.words for change in changes_of(session, phase)]
        if access.may(Role.ORGANIZER)
        else [],
        "may_publish": final_acts.may_publish(session, phase),
    }


def _entering(session: Session, phase: Phase) -> dict[str, object]:
    """What a phase has whose entries come from another one; without a source, nobody waits to be launched."""
    source = session.get(Phase, phase.gate_phase_id) if phase.gate_phase_id else None
    entered = select(Submission).where(
        Submission.phase_id == phase.id, Submission.kind == SubmissionKind.FINAL, kept()
    )
    return {
        "source": source,
        "candidates": finals.preview(session, phase) if source else [],
        "seen_meanwhile": finals.seen_meanwhile(phase),
        "entries": list(session.scalars(entered.order_by(Submission.created_at))),
        "failed": repeats.find_failed(session, phase),
    }


@router.post("/{phase_slug}/winners/{username}")
def check_winner(
    request: Request, access: AsOrganizer, session: SessionDep, phase_slug: str, username: str, form: FormDep
) -> Response:
    """Note what came of checking who a winner is."""
    phase = find_phase(session, access.competition, phase_slug)
    checked = winner_acts.find_checked(session, phase, username)
    back = manage_path(access, f"/final?phase={phase.slug}")
    return perform_named(request, session, form, winner_acts.ACTS, "check", checked, access, back)


@router.post("/{phase_slug}/{act}")
def act_on_final(
    request: Request, access: AsOrganizer, session: SessionDep, phase_slug: str, act: str, form: FormDep
) -> Response:
    """Launch, repeat what failed, publish, take a publication back."""
    phase = find_phase(session, access.competition, phase_slug)
    back = manage_path(access, f"/final?phase={phase.slug}")
    return perform_named(request, session, form, final_acts.ACTS, act, phase, access, back)
