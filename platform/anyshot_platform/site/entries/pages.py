"""The page of leagues for participants: what each asks, my answers, my team's entries and their history."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from anyshot_platform.actions.concurrency import Stale, Written, changes_upon, tag_of
from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.actions.conditions import has_ended
from anyshot_platform.contest.leagues.service import find_league
from anyshot_platform.contest.phases.service import find_phase, list_phases
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.judging.submissions.actions.withdrawing import withdraw_together
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.entries.view import show_entries
from anyshot_platform.site.entries.views import answer_fields, show_leagues
from anyshot_platform.site.shell.act_frame import ask_which
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import competition_role
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.entries import eligibility
from anyshot_platform.standings.entries.actions import acts

router = APIRouter(prefix="/competitions/{slug}/leagues", include_in_schema=False)
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))]
SlugPart = Annotated[str, Path(max_length=64)]


@router.get("")
def show(request: Request, access: Participant, session: SessionDep) -> Response:
    """Leagues, questions, entries."""
    return _show(request, access, session)


def _show(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    problem: PlatformError | None = None,
    **refused: Any,
) -> Response:
    membership = require_participant(access.membership)
    phases = [
        {
            "phase": phase,
            "entries": show_entries(session, phase, membership, access.sight_of(phase)),
        }
        for phase in list_phases(session, access.competition)
    ]
    return render(
        request,
        "competitions/leagues.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="leagues",
        leagues=show_leagues(session, access.competition, membership),
        phases=[row for row in phases if row["entries"]],
        tag_of=tag_of,
        over=has_ended(session, access.competition),
        problem=problem.message if problem else "",
        **refused,
    )


@router.post("/{league_slug}/answers")
def answer(
    request: Request, access: Participant, session: SessionDep, league_slug: SlugPart, form: FormDep
) -> Response:
    """Answer a league's questions."""
    league = find_league(session, access.competition, league_slug)
    names = {one.key: f"{league.slug}_{one.key}" for one in eligibility.questions_of(league)}
    answers = {key: form.text(name, 4000) for key, name in names.items()}
    membership = require_participant(access.membership)
    known = eligibility.answers_of(session, league, membership)
    current = answer_fields(league, known.answers if known else None)
    who = Written(None, membership.user_id, known.answered_at if known else None)
    try:
        answers = {**current, **changes_upon(session, who, form.text("seen"), answers, current)}
        acts.answer(session, access.competition, league, membership, answers)
    except Stale as error:
        session.rollback()
        return ask_which(request, form, error, f"/competitions/{access.competition.slug}/leagues")
    except PlatformError as error:
        session.rollback()
        sent = {"answered": league_slug, "values": form.values()}
        return _show(request, access, session, error, **sent)
    return _back(access, f"Your answers for {league.name} are saved.")


@router.post("/{league_slug}/choose")
def choose(
    request: Request, access: Participant, session: SessionDep, league_slug: SlugPart, form: FormDep
) -> Response:
    """Choose which submission stands; an empty choice goes back to the phase's rule."""
    phase = find_phase(session, access.competition, form.text("phase", 64))
    league = find_league(session, access.competition, league_slug)
    chosen = form.text("submission", 32) or None
    try:
        acts.choose_by_hand(
            session, phase, league, require_participant(access.membership), chosen, form.text("seen")
        )
    except Stale as error:
        session.rollback()
        return ask_which(request, form, error, f"/competitions/{access.competition.slug}/leagues")
    except PlatformError as error:
        session.rollback()
        return _show(request, access, session, error)
    words = "Your choice stands" if chosen else "The rule of the phase decides again"
    return _back(access, f"{words} in {league.name}.")


@router.post("/withdraw")
def withdraw(access: Participant, session: SessionDep, form: FormDep) -> Response:
    """Withdraw submissions, so that an earlier one stands again."""
    phase = find_phase(session, access.competition, form.text("phase", 64))
    membership = require_participant(access.membership)
    gone = withdraw_together(session, phase, membership, form.all("submission"))
    named = ", ".join(f"#{submission.number}" for submission in gone)
    return _back(access, f"Withdrawn: {named}. You can put each back on its page while the phase is open.")


def _back(access: CompetitionAccess, words: str) -> Response:
    return redirect(f"/competitions/{access.competition.slug}/leagues", flash=words)
