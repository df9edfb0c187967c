"""What the top of every page of a competition shows, and the cards of the lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from anyshot_core.words import moment_words
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import must_accept
from anyshot_platform.contest.competitions.states import (
    CompetitionState,
    MemberStatus,
    Registration,
    Role,
    Visibility,
)
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases, status_of, takes_late
from anyshot_platform.contest.phases.states import PhaseKind, PhaseStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.published_code import has_code_page
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.people.users.models import User

TONES = {
    PhaseStatus.OPEN: "accent",
    PhaseStatus.UPCOMING: "info",
    PhaseStatus.PAUSED: "warn",
    PhaseStatus.CLOSED: "",
}


@dataclass(frozen=True)
class Tab:
    """One tab of a competition, or of a page."""

    key: str
    label: str
    href: str
    icon: str
    count: int | None = None


@dataclass(frozen=True)
class CompetitionHead:
    """Title, state and what the viewer can do here."""

    slug: str
    title: str
    summary: str
    state: str
    hidden_words: str  # who sees it, where that is not everybody
    logo_href: str | None
    status_text: str
    status_tone: str
    ends_at: datetime | None  # of the phase that the status is about, where it is open
    time_zone: str  # that this end was written in
    begins_at: datetime | None  # of the next phase, where none is open
    may_organize: bool
    join_state: str  # can_join, must_accept, member, closed, invited, pending, rejected, banned
    submit_href: str | None
    tabs: tuple[Tab, ...]


@dataclass(frozen=True)
class CompetitionCard:
    """A competition in a list."""

    slug: str
    title: str
    summary: str
    organizer: str
    logo_href: str | None
    status_text: str
    status_tone: str
    participants: int
    submissions: int
    deadline: datetime | None
    deadline_text: str
    time_zone: str  # that the deadline was written in


def logo_href(competition: Competition) -> str | None:
    """The address of the logo; its digest keeps browsers from showing an old one."""
    if competition.logo_digest is None:
        return None
    return f"/competitions/{competition.slug}/logo?v={competition.logo_digest[:10]}"


def competition_status(competition: Competition, phases: Sequence[Phase]) -> tuple[str, str]:
    """Words and tone: what the competition is doing now; of phases side by side, that which takes uploads says it."""
    if competition.state == CompetitionState.ARCHIVED:
        return "archived", ""
    statuses = {phase.id: status_of(phase) for phase in phases}
    for wanted in (PhaseStatus.OPEN, PhaseStatus.PAUSED, PhaseStatus.UPCOMING):
        for phase in sorted(phases, key=lambda one: not one.accepts_uploads):
            if statuses[phase.id] == wanted:
                words = {"open": "open", "paused": "paused", "upcoming": "starts soon"}
                said = f"{phase.name}: {words[wanted.value]}"
                return said, TONES[wanted]
    return "over" if phases else "no phases yet", ""


def next_dates(competition: Competition, phases: Sequence[Phase]) -> tuple[Phase | None, datetime | None]:
    """The phase that is open now; else when the next one begins. None where there is no such phase or date."""
    if competition.state == CompetitionState.ARCHIVED:
        return None, None
    by_uploads = sorted(phases, key=lambda one: not one.accepts_uploads)
    for phase in by_uploads:
        if status_of(phase) in (PhaseStatus.OPEN, PhaseStatus.PAUSED):
            return phase, None
    coming = [one.starts_at for one in phases if status_of(one) == PhaseStatus.UPCOMING]
    return None, min(coming, default=None)


def open_for_uploads(phases: Sequence[Phase]) -> Phase | None:
    """The phase that a participant would submit to now."""
    for phase in phases:
        if phase.accepts_uploads and status_of(phase) == PhaseStatus.OPEN:
            return phase
    return None


def open_for_team(access: CompetitionAccess, phases: Sequence[Phase]) -> Phase | None:
    """The phase that the viewer's team would submit to now: one that is open, else one in which it has more time."""
    mine = [phase for phase in phases if status_of(phase, team_id=access.team_id) == PhaseStatus.OPEN]
    return open_for_uploads(phases) or next((phase for phase in mine if phase.accepts_uploads), None)


def join_state(access: CompetitionAccess) -> str:
    """Where the viewer stands as a participant."""
    competition, membership = access.competition, access.membership
    if membership is not None and membership.status != MemberStatus.WITHDRAWN:
        if membership.status != MemberStatus.APPROVED:
            return membership.status.value
        if must_accept(competition, membership):
            return "must_accept"
        return "member"
    if not access.viewer.is_signed_in:
        return "signed_out"
    closed = (
        competition.registration == Registration.CLOSED or competition.state != CompetitionState.PUBLISHED
    )
    return "closed" if closed else "can_join"


def read_header(
    session: Session, access: CompetitionAccess, phases: Sequence[Phase] | None = None
) -> CompetitionHead:
    """The head of a competition's pages for this viewer; `phases` are all of its, where they are known."""
    competition = access.competition
    phases = list_phases(session, competition) if phases is None else phases
    status_text, status_tone = competition_status(competition, phases)
    ending, begins_at = next_dates(competition, phases)
    standing = join_state(access)
    late = (one for one in phases if takes_late(one, team_id=access.team_id))
    target = open_for_team(access, phases) or next(late, None)
    submits = standing == "member" and target is not None and competition.state == CompetitionState.PUBLISHED
    base = f"/competitions/{competition.slug}"
    return CompetitionHead(
        slug=competition.slug,
        title=competition.title,
        summary=competition.summary,
        state=competition.state.value,
        hidden_words=_hidden_words(competition),
        logo_href=logo_href(competition),
        status_text=status_text,
        status_tone=status_tone,
        ends_at=ending.ends_at if ending else None,
        time_zone=ending.time_zone if ending else "UTC",
        begins_at=begins_at,
        may_organize=access.may(Role.REVIEWER),
        join_state="can_join" if standing == "signed_out" else standing,
        submit_href=f"{base}/phases/{target.slug}/submit" if submits and target else None,
        tabs=_tabs(
            base,
            board=any(phase.kind != PhaseKind.PUBLIC for phase in phases),
            data=bool(phases),
            member=standing in ("member", "must_accept"),
            team=access.team_id is not None,
            terms=bool(competition.terms),
            code=has_code_page(competition),
            results=any(publication_of(phase).published for phase in phases),
        ),
    )


def _hidden_words(competition: Competition) -> str:
    """Who sees a competition that is not for everybody yet."""
    if competition.opens_at is not None and competition.opens_at > now():
        return f"opens {moment_words(competition.opens_at)}"
    words = {Visibility.UNLISTED: "unlisted", Visibility.PRIVATE: "private: only members see it"}
    return words.get(competition.visibility, "")


def _tabs(
    base: str, *, board: bool, data: bool, member: bool, team: bool, terms: bool, code: bool, results: bool
) -> tuple[Tab, ...]:
    tabs = [Tab("overview", "Overview", base, "book-open")]
    if board:
        tabs.append(Tab("leaderboard", "Leaderboard", f"{base}/leaderboard", "trophy"))
    if data:
        tabs.append(Tab("data", "Data", f"{base}/data", "database"))
    if results:
        tabs.append(Tab("results", "Results", f"{base}/results", "award"))
    if member:
        tabs.append(Tab("submissions", "My submissions", f"{base}/submissions", "layers"))
    if member and team:
        tabs.append(Tab("team", "Team", f"{base}/team", "users"))
        tabs.append(Tab("leagues", "Leagues and entries", f"{base}/leagues", "flag"))
    tabs.append(Tab("announcements", "Announcements", f"{base}/announcements", "megaphone"))
    tabs.append(Tab("discussion", "Discussion", f"{base}/discussion", "message-square"))
    if code:
        tabs.append(Tab("code", "Winners' code", f"{base}/code", "code"))
    if terms:
        tabs.append(Tab("terms", "Terms", f"{base}/join", "file-text"))
    return tuple(tabs)


def read_cards(session: Session, competitions: Sequence[Competition]) -> list[CompetitionCard]:
    """Cards of the competitions, counted with one query a figure."""
    ids = [competition.id for competition in competitions]
    people = _count(session, Membership.competition_id, ids, *_takes_part())
    entries = _count(
        session,
        Submission.competition_id,
        ids,
        Submission.kind == SubmissionKind.ENTRY,
        kept(),
    )
    phases: dict[str, list[Phase]] = {identity: [] for identity in ids}
    found = session.scalars(
        select(Phase)
        .where(Phase.competition_id.in_(ids), Phase.deleted_at.is_(None))
        .order_by(Phase.position)
    )
    for phase in found:
        phases[phase.competition_id].append(phase)
    owners: dict[str, User] = {
        user.id: user
        for user in session.scalars(select(User).where(User.id.in_({c.created_by for c in competitions})))
    }
    return [
        _card(competition, phases[competition.id], owners.get(competition.created_by), people, entries)
        for competition in competitions
    ]


def _takes_part() -> tuple[ColumnElement[bool], ...]:
    """Who is counted as a participant: neither organizers nor those whose account is deleted."""
    gone = select(User.id).where(User.deleted_at.is_not(None))
    return (
        Membership.status == MemberStatus.APPROVED,
        Membership.role == Role.PARTICIPANT,
        Membership.user_id.not_in(gone),
    )


def _count(
    session: Session,
    column: InstrumentedAttribute[str],
    ids: list[str],
    *conditions: ColumnElement[bool],
) -> dict[str, int]:
    query = select(column, func.count()).where(column.in_(ids), *conditions).group_by(column)
    return {row[0]: row[1] for row in session.execute(query)}


def _card(
    competition: Competition,
    phases: Sequence[Phase],
    owner: User | None,
    people: dict[str, int],
    entries: dict[str, int],
) -> CompetitionCard:
    status_text, status_tone = competition_status(competition, phases)
    deadline, text, zone = _next_date(phases)
    return CompetitionCard(
        slug=competition.slug,
        title=competition.title,
        summary=competition.summary,
        organizer=f"by {owner.display_name or owner.username}" if owner else "",
        logo_href=logo_href(competition),
        status_text=status_text,
        status_tone=status_tone,
        participants=people.get(competition.id, 0),
        submissions=entries.get(competition.id, 0),
        deadline=deadline,
        deadline_text=text,
        time_zone=zone,
    )


def _next_date(phases: Sequence[Phase]) -> tuple[datetime | None, str, str]:
    for phase in phases:
        status = status_of(phase)
        if status == PhaseStatus.UPCOMING:
            return phase.starts_at, "opens", phase.time_zone
        if status in (PhaseStatus.OPEN, PhaseStatus.PAUSED):
            return phase.ends_at, "closes", phase.time_zone
    return None, "", "UTC"
