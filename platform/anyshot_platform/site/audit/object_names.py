"""What the objects of the audit log are called: ids that were made together begin with the same characters."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import String, cast, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, CompetitionPage, Membership
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.webhooks.models import Webhook
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.standings.baselines.models import Baseline

# The query of id and name for each kind of object that has a name.
_NAMES: Mapping[str, Any] = {
    "announcement": select(Announcement.id, Announcement.title),
    "baseline": select(Baseline.id, Baseline.slug),
    "competition": select(Competition.id, Competition.slug),
    "league": select(League.id, League.slug),
    "member": select(Membership.id, User.username).join(Membership.user),
    "page": select(CompetitionPage.id, CompetitionPage.slug),
    "phase": select(Phase.id, Phase.slug),
    "pool": select(Pool.id, Pool.slug),
    "submission": select(Submission.id, "#" + cast(Submission.number, String) + " of " + Team.name).join(
        Team, Team.id == Submission.team_id
    ),
    "team": select(Team.id, Team.name),
    "user": select(User.id, User.username),
    "webhook": select(Webhook.id, Webhook.url),
}


def names_of(session: Session, entries: Sequence[AuditEntry]) -> dict[int, str]:
    """By the entry's id the name of its object today, or the end of the object's id where it has none."""
    found: dict[tuple[str, str], str] = {}
    for kind, query in _NAMES.items():
        ids = {entry.object_id for entry in entries if entry.object_type == kind}
        if ids:
            rows: Any = session.execute(query.where(query.selected_columns[0].in_(ids)))
            found |= {(kind, identity): str(name) for identity, name in rows}
    return {
        entry.id: found.get((entry.object_type, entry.object_id), entry.object_id[-12:]) for entry in entries
    }
