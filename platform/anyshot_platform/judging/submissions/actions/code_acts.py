"""Acts on the published code of one team: hiding it, and showing it again."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import Act, ActDone, ActRequest, Danger, Findings, by_name
from anyshot_platform.actions.targets import team_target
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import count
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.published_code import code_is_published, hides_code
from anyshot_platform.people.teams.models import Team


@dataclass(frozen=True)
class TeamCode:
    """A team with the submissions whose code was published; `hidden` where the organizers took that back."""

    team: Team
    hidden: bool
    submissions: tuple[Submission, ...]


def list_teams(session: Session, competition: Competition) -> list[TeamCode]:
    """The teams whose code was published or is hidden, by name."""
    rows = session.scalars(
        select(Submission)
        .join(Phase, Phase.id == Submission.phase_id)
        .where(Submission.competition_id == competition.id, code_is_published())
        .order_by(Phase.position, Submission.number)
    )
    published: dict[str, list[Submission]] = {}
    for submission in rows:
        published.setdefault(submission.team_id, []).append(submission)
    teams = session.scalars(
        select(Team).where(Team.competition_id == competition.id).order_by(Team.name_key, Team.id)
    )
    return [
        TeamCode(team, hides_code(team), tuple(published.get(team.id, ())))
        for team in teams
        if team.id in published or hides_code(team)
    ]


def _published(session: Session, team: Team) -> list[Submission]:
    return list(
        session.scalars(
            select(Submission)
            .join(Phase, Phase.id == Submission.phase_id)
            .where(Submission.team_id == team.id, code_is_published())
        )
    )


def _look_hide(session: Session, team: Team, request: ActRequest) -> Findings:
    if hides_code(team):
        return Findings(done=f"The code of “{team.name}” is hidden already.")
    return Findings(
        does=[
            f"Nobody can download {_count(session, team)} any more.",
            "What is published later of the team stays hidden too. Its places on the boards stay.",
        ],
        warnings=["What was downloaded cannot be called back."] if _published(session, team) else [],
    )


def _count(session: Session, team: Team) -> str:
    submissions = count(len(_published(session, team)), "submission")
    return f"the code of {submissions} of “{team.name}”"


def _hide(session: Session, team: Team, request: ActRequest) -> ActDone:
    codes = [submission.id for submission in _published(session, team)]
    team.code_hidden_at = now()
    return ActDone(
        f"The code of “{team.name}” is hidden.",
        before={"hidden": False},
        after={"hidden": True, "code_of": codes},
    )


def _look_show(session: Session, team: Team, request: ActRequest) -> Findings:
    if not hides_code(team):
        return Findings(done=f"The code of “{team.name}” is not hidden.")
    return Findings(does=[f"Everybody can download {_count(session, team)}."])


def _show(session: Session, team: Team, request: ActRequest) -> ActDone:
    team.code_hidden_at = None
    codes = [submission.id for submission in _published(session, team)]
    return ActDone(
        f"The code of “{team.name}” is no longer hidden.",
        before={"hidden": True},
        after={"hidden": False, "code_of": codes},
    )


HIDE_CODE = Act(
    key="code.hide",
    title="Hide the code of {}",
    target=team_target,
    look=_look_hide,
    do=_hide,
    undo="It can be shown again.",
    danger=Danger.PROOF,
)
SHOW_CODE = Act(
    key="code.show",
    title="Show the code of {} again",
    target=team_target,
    look=_look_show,
    do=_show,
    undo="It can be hidden again.",
    danger=Danger.PROOF,
)
ACTS = by_name(HIDE_CODE, SHOW_CODE)
