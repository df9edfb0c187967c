"""The act of giving a team another name."""

from pydantic import Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    TEAM_READS,
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    by_name,
)
from anyshot_platform.actions.targets import team_target
from anyshot_platform.contest.competitions.messages import members_of_team, tell_team
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.teams import check_team_name
from anyshot_platform.judging.visibility.phases import published_results
from anyshot_platform.people.teams.actions.joining import give_name, has_submitted, may_have_name
from anyshot_platform.people.teams.models import Team


class NewName(ActOptions):
    """The name that the team gets; of 2 to 64 characters, and no other team's."""

    name: str = Field(max_length=200)


def _look(session: Session, team: Team, request: ActRequest[NewName]) -> Findings:
    name = check_team_name(request.options.name)
    if team.deleted_at is not None:
        return Findings(refused=["Nobody is left in this team: it is dissolved."])
    if name == team.name:
        return Findings(done=f"The team is called “{name}” already.")
    taken = not may_have_name(session, team, name)
    return Findings(
        refused=["Another team has this name."] if taken else [],
        warnings=_published(session, team),
        does=[f"Leaderboards and pages show “{name}” from now on."],
        told=len(members_of_team(session, team.id)),
        asks=has_submitted(session, team.id),
    )


def _published(session: Session, team: Team) -> list[str]:
    competition = session.get_one(Competition, team.competition_id)
    return [
        (
            f"The results of “{phase.name}” are public: tables and certificates that were downloaded "
            "keep the old name."
        )
        for phase in published_results(session, competition)
    ]


def _rename(session: Session, team: Team, request: ActRequest[NewName]) -> ActDone:
    before, name = team.name, check_team_name(request.options.name)
    give_name(session, team, name)
    _tell(session, team, before, request.reason)
    return ActDone(f"The team is called “{name}” now.", {"name": before}, {"name": name})


def _tell(session: Session, team: Team, before: str, reason: str) -> None:
    competition = session.get_one(Competition, team.competition_id)
    tell_team(
        session,
        team.id,
        kind="membership",
        title=f"{competition.title}: the organizers renamed your team from “{before}” to “{team.name}”",
        body=reason,
        url=f"/competitions/{competition.slug}/team",
    )


RENAME = Act(
    "team.rename",
    "Rename {}",
    team_target,
    _look,
    _rename,
    "Give it its name back: its members get a message again.",
    reason=TEAM_READS,
    danger=Danger.NAME,
    options=NewName,
)
ACTS = by_name(RENAME)
