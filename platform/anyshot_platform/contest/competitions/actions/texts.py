"""The texts of a competition with the values of its settings in them."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.page_values import fill, has_values, unknown_in, values_of
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.description import describe_league
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import join_texts


def values_now(session: Session, competition: Competition) -> dict[str, str]:
    """The values of a competition as its settings are now."""
    leagues = select(League).where(League.competition_id == competition.id, League.deleted_at.is_(None))
    return values_of(
        [describe_phase(session, phase, "") for phase in list_phases(session, competition)],
        [describe_league(league) for league in session.scalars(leagues.order_by(League.position))],
        title=competition.title,
        contact=competition.contact_email,
        team_size=competition.team_size,
    )


def filled(session: Session, competition: Competition, text: str) -> str:
    """The Markdown of a page with its values; a text without any costs nothing."""
    return fill(text, values_now(session, competition)) if has_values(text) else text


def require_known_values(session: Session, competition: Competition, text: str) -> None:
    """Raise `Invalid` for a name that is no value of this competition."""
    wrong = unknown_in(text, values_now(session, competition)) if has_values(text) else []
    if wrong:
        raise Invalid(join_texts(wrong), field="body")


def require_no_values(terms: str) -> None:
    """Raise `Invalid` for terms with values: what people accept must not change without them."""
    if has_values(terms):
        raise Invalid(
            (
                "Terms hold no values such as {{ quota.per_day }}: what people have accepted must not "
                "change by itself. Write the words, or refer to the pages of the phases."
            ),
            field="terms",
        )
