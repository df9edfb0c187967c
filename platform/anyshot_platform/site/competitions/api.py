"""Competitions over JSON: list, look, join, answer an invitation."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions import service
from anyshot_platform.contest.competitions.actions.invitations import answer_invitation
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import deadline_rule, list_phases, status_of
from anyshot_platform.judging.runs.secrets import committed
from anyshot_platform.judging.visibility.access import (
    CompetitionAccess,
    find_access,
    find_competition,
    listed_for,
    require_visible,
)
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.competitions.schemas import (
    CompetitionDetail,
    CompetitionOut,
    JoinIn,
    LeagueOut,
    MembershipOut,
    PhaseOut,
    ReplyIn,
)
from anyshot_platform.site.web.access import SlugParam, public, signed_in_as, visible_competition
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.site.web.viewer import ViewerDep

router = APIRouter(prefix="/api/v1/competitions", tags=["competitions"])


@router.get("", dependencies=[Depends(public)])
def list_competitions(
    session: SessionDep,
    viewer: ViewerDep,
    search: Annotated[str, Query(max_length=200)] = "",
    archived: bool = False,
) -> list[CompetitionOut]:
    """The competitions that the viewer may know of."""
    found = service.list_competitions(session, listed=listed_for(viewer), search=search, archived=archived)
    return [CompetitionOut.model_validate(row) for row in found]


@router.get("/{slug}")
def show_competition(
    access: Annotated[CompetitionAccess, Depends(visible_competition)], session: SessionDep
) -> CompetitionDetail:
    """A competition with its phases and leagues, and one's own standing."""
    return show_detail(session, access)


@router.post("/{slug}/join")
def join(
    slug: SlugParam,
    body: JoinIn,
    request: Request,
    viewer: Annotated[Viewer, Depends(signed_in_as(Scope.ACCOUNT))],
    session: SessionDep,
) -> CompetitionDetail:
    """Become a participant."""
    access = find_access(session, viewer, find_competition(session, slug))
    require_visible(access)
    user = session.get_one(User, viewer.id)
    service.join(
        session, access.competition, user, accepts_terms=body.accepts_terms, pseudonym=body.pseudonym
    )
    return show_detail(session, find_access(session, viewer, access.competition))


@router.post("/{slug}/invitation")
def reply_to_invitation(
    slug: SlugParam,
    body: ReplyIn,
    viewer: Annotated[Viewer, Depends(signed_in_as(Scope.ACCOUNT))],
    session: SessionDep,
) -> MembershipOut | None:
    """Accept or decline an invitation; a draft is told of to those who accepted."""
    user = session.get_one(User, viewer.id)
    competition = answer_invitation(session, slug, user, accept=body.accept, accepts_terms=body.accepts_terms)
    return _show_membership(session, find_access(session, viewer, competition).membership)


def show_detail(session: Session, access: CompetitionAccess) -> CompetitionDetail:
    """A competition as its viewer sees it."""
    competition = access.competition
    leagues = session.scalars(
        select(League)
        .where(League.competition_id == competition.id, League.deleted_at.is_(None))
        .order_by(League.position, League.slug)
    )
    return CompetitionDetail(
        **CompetitionOut.model_validate(competition).model_dump(),
        terms=competition.terms,
        terms_version=competition.terms_version,
        registration=competition.registration.value,
        team_size=competition.team_size,
        fact_sheet=competition.fact_sheet,
        phases=[show_phase(session, phase) for phase in list_phases(session, competition)],
        leagues=[LeagueOut.model_validate(league) for league in leagues],
        membership=_show_membership(session, access.membership),
    )


def show_phase(session: Session, phase: Phase) -> PhaseOut:
    """A phase without its secrets."""
    version = session.scalars(
        select(PhaseVersion).where(
            PhaseVersion.phase_id == phase.id, PhaseVersion.number == phase.live_version
        )
    ).one_or_none()
    known = committed(phase, version, status_of(phase)) if version else None
    return PhaseOut(
        slug=phase.slug,
        name=phase.name,
        description=phase.description,
        kind=phase.kind,
        status=status_of(phase),
        starts_at=phase.starts_at,
        ends_at=phase.ends_at,
        time_zone=phase.time_zone,
        deadline_rule=deadline_rule(phase),
        accepts_uploads=phase.accepts_uploads,
        tasks=version.tasks if version else None,
        run_seconds=version.run_seconds if version else None,
        task_seconds=version.task_seconds if version else None,
        hardware_class=version.hardware_class if version else None,
        seeded_runs=version.seeded_runs if version else None,
        ranking=version.rule.name if version else None,
        ranking_words=version.rule.words(version.seeded_runs) if version else None,
        quota_day=phase.quota_day,
        quota_phase=phase.quota_phase,
        quota_concurrent=phase.quota_concurrent,
        commitment=known.commitment if known else None,
        key=known.key if known else None,
        test_seeds=list(known.test_seeds) if known else [],
        split_seed=known.split_seed if known else None,
        protocol=known.protocol if known else None,
        run_settings=known.run_settings if known else None,
    )


def _show_membership(session: Session, membership: Membership | None) -> MembershipOut | None:
    if membership is None:
        return None
    team = session.get(Team, membership.team_id) if membership.team_id else None
    return MembershipOut(
        role=membership.role,
        status=membership.status,
        team=team.name if team else None,
        terms_version=membership.terms_version,
    )
