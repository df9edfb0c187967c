"""What a team can do next with a zip that is here already, and what has become of it so far."""

from dataclasses import dataclass
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.service import require_participant, require_terms
from anyshot_platform.contest.phases.service import require_taking
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.submissions.actions.resubmitting import find_uses
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.entries.view import BetterOut, show_entries
from anyshot_platform.site.submissions.quota_view import QuotaView, quota_view
from anyshot_platform.site.submissions.rows import SubmissionRow, make_rows
from anyshot_platform.standings.entries.selection import may_choose


@dataclass(frozen=True)
class NextSteps:
    """For the team's own pages; `refusal` says why the zip cannot be submitted now."""

    action: str  # where the form is sent to
    form_href: str  # the form with leagues and note
    refusal: str
    quota_words: str
    chooses: bool  # whether the team may choose now which submission counts
    better: BetterOut | None  # what could stand again in the place of this submission
    replaces: tuple[str, ...]  # what the zip, naming no league, does to the entries, a sentence a league
    uses: list[SubmissionRow]  # all submissions of this zip, the newest first


def read_next_steps(session: Session, found: SubmissionAccess) -> NextSteps | None:
    """None for those who are not in the team."""
    submission, membership = found.submission, found.access.membership
    if not found.of_team or membership is None:
        return None
    phase = submission.phase
    quota = quota_view(session, phase, submission.team_id)
    refusal = _refusal(found)
    href = f"/competitions/{submission.competition.slug}/phases/{phase.slug}/submit"
    entries = show_entries(session, phase, membership, found.sight.phase)
    uses = find_uses(session, submission.team_id, submission.digest)
    return NextSteps(
        action=href,
        form_href=f"{href}?{urlencode({'again': submission.digest})}",
        refusal=refusal or (quota.exhausted if quota else ""),
        quota_words=_quota_words(quota),
        chooses=may_choose(phase, submission.team_id),
        better=next((row.better for row in entries if row.better and row.submission == submission.id), None),
        replaces=tuple(f"{row.league_name}: {row.words}" for row in entries if row.by_default),
        uses=make_rows(session, found.viewer, uses),
    )


def _refusal(found: SubmissionAccess) -> str:
    competition = found.submission.competition
    try:
        require_terms(competition, require_participant(found.access.membership))
        require_taking(found.submission.phase, team_id=found.submission.team_id)
    except PlatformError as error:
        return error.message
    return ""


def _quota_words(quota: QuotaView | None) -> str:
    """How many submissions are left before this one, by each limit."""
    lines = quota.lines if quota else ()
    left = [f"{label}: {one.left} left" for label, one, _ in lines if one.limit is not None][:2]
    if not left:
        return "Costs one submission; there is no limit."
    return f"Costs one submission. {join_texts(left, by='; ')}."
