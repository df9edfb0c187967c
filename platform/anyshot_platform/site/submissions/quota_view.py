"""Quotas in the words of the pages."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.submissions.quota import Allowance, QuotaUsedUp, read_quota, require_quota
from anyshot_platform.people.teams.models import Team


@dataclass(frozen=True)
class QuotaLine:
    """One quota of a team."""

    label: str
    used: int
    limit: int | None
    note: str = ""


@dataclass(frozen=True)
class QuotaView:
    """What a team has left; `exhausted` says why it cannot submit now, if it cannot."""

    lines: tuple[QuotaLine, ...]
    exhausted: str
    smoke_left: int | None
    smoke_exhausted: str


def quota_view(session: Session, phase: Phase, team_id: str | None) -> QuotaView | None:
    """The quotas of a team in a phase; None without a team."""
    team = session.get(Team, team_id) if team_id else None
    if team is None:
        return None
    quota = read_quota(session, team, phase)

    def refusal(*, smoke: bool) -> str:
        try:
            require_quota(quota, smoke=smoke)
        except QuotaUsedUp as error:
            return error.message
        return ""

    return QuotaView(
        lines=(
            _line("Today", quota.day, "days begin at 00:00 UTC"),
            _line("This phase", quota.phase),
            _line("At a time", quota.concurrent, "waiting or running"),
        ),
        exhausted=refusal(smoke=False),
        smoke_left=quota.smoke_day.left,
        smoke_exhausted=refusal(smoke=True),
    )


def _line(label: str, allowance: Allowance, note: str = "") -> QuotaLine:
    return QuotaLine(label, allowance.used, allowance.limit, note)
