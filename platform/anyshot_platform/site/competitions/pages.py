"""The pages of competitions that participants see: list, overview, texts, terms."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from sqlalchemy import select
from starlette.responses import Response

from anyshot_platform.contest.competitions import service
from anyshot_platform.contest.competitions.actions.texts import filled
from anyshot_platform.contest.competitions.models import CompetitionPage
from anyshot_platform.contest.competitions.states import MemberStatus, Registration, Role
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.service import list_phases, status_of
from anyshot_platform.foundation.errors import NotFound, PlatformError
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.judging.visibility.access import CompetitionAccess, find_access
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.announcements.organizing import list_announcements
from anyshot_platform.site.competitions.calendar import MEDIA_TYPE, as_calendar
from anyshot_platform.site.competitions.first_steps import read_first_steps
from anyshot_platform.site.competitions.listing import Filter, find_competitions
from anyshot_platform.site.shell.page_header import (
    TONES,
    join_state,
    open_for_team,
    read_cards,
    read_header,
)
from anyshot_platform.site.submissions.outlook import read_outlook
from anyshot_platform.site.submissions.rows import recent_rows
from anyshot_platform.site.web.access import browser_session, public, visible_competition
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep, site_address
from anyshot_platform.site.web.viewer import ViewerDep
from anyshot_platform.standings.results.awards import prizes_of

router = APIRouter(include_in_schema=False)
Visible = Annotated[CompetitionAccess, Depends(visible_competition)]
ADMISSION_WORDS = {
    Admission.ALL: "open to all",
    Admission.DECLARED: "declared with the submission",
    Admission.APPROVAL: "organizers approve",
    Admission.FROM_SCRATCH: "no pretrained weights",
}
_FIELDS = {
    "accepts_terms": "accept",
    "pseudonym": "team_name",
    "name": "team_name",
}  # service's words → the form's
_REFUSALS = {
    "pending": "The organizers have your request; you get a message when they have answered.",
    "banned": "The organizers have closed this competition to you.",
    "rejected": "The organizers declined your registration. Only they can admit you.",
    "invited": "The organizers invite you. Accept or decline under Account, Competitions and teams.",
    "closed": "This competition takes no new participants.",
}


@router.get("/", dependencies=[Depends(public)])
def show_home(request: Request, session: SessionDep, viewer: ViewerDep) -> Response:
    """What is open, and what is the viewer's own."""
    mine, _ = find_competitions(session, viewer, which="mine", size=6) if viewer.is_signed_in else ([], None)
    own = {competition.id for competition in mine}
    found, _ = find_competitions(session, viewer, which="open", size=12)
    return render(
        request,
        "home.html",
        mine=read_cards(session, mine),
        open=read_cards(session, [competition for competition in found if competition.id not in own]),
        recent=recent_rows(session, viewer, 5) if viewer.is_signed_in else [],
    )


@router.get("/competitions", dependencies=[Depends(public)])
def show_competitions(
    request: Request,
    session: SessionDep,
    viewer: ViewerDep,
    q: Annotated[str, Query(max_length=200)] = "",
    state: Filter = "",
    page: PageParam = 1,
) -> Response:
    """The list, searched and filtered."""
    found, place = find_competitions(session, viewer, which=state, text=q, number=page)
    return render(
        request,
        "competitions/list.html",
        section="competitions",
        cards=read_cards(session, found),
        query=q,
        state=state,
        page=place,
    )


@router.get("/competitions/{slug}")
def show_overview(request: Request, access: Visible, session: SessionDep) -> Response:
    """The first page of a competition, with phases, leagues and the latest announcements."""
    pages = access.competition.pages
    first = pages[0] if pages else None
    latest = list_announcements(session, access.competition, most=2)
    return _show_text(request, access, session, first, announcements=latest)


@router.get("/competitions/{slug}/pages/{page_slug}")
def show_page(request: Request, access: Visible, session: SessionDep, page_slug: str) -> Response:
    """Another page of text."""
    for page in access.competition.pages:
        if page.slug == page_slug:
            return _show_text(request, access, session, page, announcements=[])
    raise NotFound("This competition has no such page.")


def _show_text(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    page: CompetitionPage | None,
    *,
    announcements: Sequence[Any],
) -> Response:
    competition, membership = access.competition, access.membership
    every = list_phases(session, competition)
    first = page in (None, *competition.pages[:1])
    open_phase = open_for_team(access, every) if first and access.team_id else None
    phases = [
        {
            "slug": phase.slug,
            "name": phase.name,
            "status": (status := status_of(phase)).value,
            "tone": TONES[status],
            "starts_at": phase.starts_at,
            "ends_at": phase.ends_at,
            "time_zone": phase.time_zone,
        }
        for phase in every
    ]
    return render(
        request,
        "competitions/overview.html",
        section="competitions",
        head=read_header(session, access, every),
        tab="overview",
        announcements=announcements,
        pages=competition.pages,
        page_slug=page.slug if page else "",
        body=filled(session, competition, page.body) if page else "",
        edit_href=f"/competitions/{competition.slug}/manage/pages/{page.id if page else 'new'}"
        if access.may(Role.ORGANIZER)
        else "",
        leagues=_leagues(session, competition.id) if first else (),
        outlook=read_outlook(session, open_phase, membership, access.sight_of(open_phase))
        if open_phase and membership and not access.viewer.cohort
        else None,
        phases=phases,
        facts=_facts(access),
        first_steps=[]
        if access.viewer.cohort
        else read_first_steps(session, access, every, site_address(request)),
    )


def _facts(access: CompetitionAccess) -> list[tuple[str, Any]]:
    competition = access.competition
    ways = {
        Registration.OPEN: "open to everyone",
        Registration.APPROVAL: "organizers approve",
        Registration.CLOSED: "closed",
    }
    facts: list[tuple[str, Any]] = [
        ("Registration", ways[competition.registration]),
        (
            "Teams",
            "single participants" if competition.team_size < 2 else f"up to {competition.team_size} people",
        ),
    ]
    if competition.prizes:
        facts.append(("Prizes", competition.prizes))
    if competition.contact_email:
        facts.append(("Contact", competition.contact_email))
    return facts


def _leagues(session: SessionDep, competition_id: str) -> list[dict[str, Any]]:
    leagues = session.scalars(
        select(League)
        .where(League.competition_id == competition_id, League.deleted_at.is_(None))
        .order_by(League.position)
    )
    return [
        {
            "name": league.name,
            "description": league.description,
            "prizes": prizes_of(league),
            "admission_words": ADMISSION_WORDS[league.admission],
        }
        for league in leagues
    ]


@router.get("/competitions/{slug}/calendar.ics")
def send_calendar(access: Visible, session: SessionDep, services: ServicesDep) -> Response:
    """When each phase opens and closes, for calendar programs."""
    phases = list_phases(session, access.competition)
    content = as_calendar(access.competition, phases, services.settings.base_url)
    return Response(content, media_type=MEDIA_TYPE)


@router.get("/competitions/{slug}/join")
def show_join(request: Request, access: Visible, session: SessionDep) -> Response:
    """The terms, and the form that accepts them."""
    return _show_join(request, access, session)


def _show_join(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    problem: PlatformError | None = None,
    **values: str,
) -> Response:
    membership = access.membership
    standing = join_state(access)
    return render(
        request,
        "competitions/join.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="terms",
        terms=access.competition.terms,
        terms_version=access.competition.terms_version if access.competition.terms else "",
        accepted_version=membership.terms_version if membership else None,
        accepted_at=membership.terms_accepted_at if membership else None,
        join_refusal=_REFUSALS.get(standing),
        errors={_FIELDS.get(problem.details.get("field", ""), ""): problem.message} if problem else {},
        values=values,
    )


@router.post("/competitions/{slug}/join")
def join(
    request: Request,
    access: Visible,
    session: SessionDep,
    viewer: Annotated[Viewer, Depends(browser_session)],
    accept: Annotated[str, Form(max_length=8)] = "",
    team_name: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Accept the terms and become a participant."""
    user = session.get_one(User, viewer.id)
    try:
        with session.begin_nested():
            membership = service.join(
                session,
                access.competition,
                user,
                accepts_terms=bool(accept),
                pseudonym=team_name.strip() or None,
            )
    except PlatformError as error:
        return _show_join(request, access, session, error, team_name=team_name)
    if membership.status != MemberStatus.APPROVED:
        words = "The organizers will answer your request."
    else:
        joined = find_access(session, access.viewer, access.competition)
        phases = list_phases(session, access.competition)
        steps = read_first_steps(session, joined, phases, site_address(request))
        words = "You have joined. The first steps below tick themselves off." if steps else "You have joined."
    return redirect(f"/competitions/{access.competition.slug}", flash=words)
