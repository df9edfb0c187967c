"""Quotas in the words of the pages."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.submissions.quota import (
    Allowance,
    Quota,
    QuotaUsedUp,
    read_quota,
    require_quota,
)
from anyshot_platform.people.teams.models import Team


@dataclass(frozen=True)
class QuotaView:
    """What a team has left; `exhausted` says why it cannot submit now, if it cannot."""

    left: Quota
    exhausted: str

    @property
    def lines(self) -> tuple[tuple[str, Allowance, str], ...]:
        """What each quota is called, what is left of it, and a note."""
        return (
            ("Today", self.left.day, "days begin at 00:00 UTC"),
            ("This phase", self.left.phase, ""),
            ("At a time", self.left.concurrent, "waiting or running"),
        )


def quota_view(session: Session, phase: Phase, team_id: str | None) -> QuotaView | None:
    """The quotas of a team in a phase; None without a team."""
    team = session.get(Team, team_id) if team_id else None
    if team is None:
        return None
    quota, refusal = read_quota(session, team, phase), ""
    try:
        require_quota(quota, smoke=False)
    except QuotaUsedUp as error:
        refusal = error.message
    return QuotaView(quota, refusal)
