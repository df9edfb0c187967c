"""What is kept of people who came with a competition from another site, and when it goes."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Placeholder
from anyshot_platform.database import now
from anyshot_platform.users.models import User


def retire(session: Session, place: Placeholder) -> None:
    """End the account that kept a place, which somebody has claimed: the claimer's name and profile count now."""
    keeper = session.get_one(User, place.user_id)
    keeper.username = keeper.username_key = f"claimed-{keeper.id[-12:]}"
    keeper.display_name = keeper.affiliation = keeper.country = keeper.homepage = ""
    keeper.deleted_at = keeper.deleted_at or now()
    place.email_key = None


def forget_places(session: Session, user: User) -> None:
    """Erase what the places that somebody claimed say of them, with their account; its pseudonym stays."""
    for place in session.scalars(select(Placeholder).where(Placeholder.claimed_by == user.id)):
        place.name = user.username
        retire(session, place)
