"""People who came with a competition claim their place: by the code of the old site, or a confirmed address."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, exists, select, update
from sqlalchemy.orm import Session, aliased

from anyshot_platform.audit import service as audit
from anyshot_platform.audit.models import AuditEntry
from anyshot_platform.competitions.models import Competition, Membership, Placeholder
from anyshot_platform.competitions.placeholders import retire
from anyshot_platform.competitions.service import find_membership
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import now
from anyshot_platform.entries.models import LeagueAnswer
from anyshot_platform.errors import Conflict, Invalid
from anyshot_platform.kernel.signing import Signer, digest_secret
from anyshot_platform.organizers.entries.acts import ask_again
from anyshot_platform.organizers.teams.joining import go_out
from anyshot_platform.organizers.transfers.travelling import TRAVELLING, attributes_of
from anyshot_platform.submissions.counting import count_uploads
from anyshot_platform.submissions.models import Submission
from anyshot_platform.users.models import User

TRANSFER, CLAIM = "competition.transfer", "competition.claim"
_PURPOSE = "claim of a place"


def claim_code(signer: Signer, competition_id: str, user_id: str) -> str:
    """What a person shows on the other site to be known there: 128 bits that only this site can compute."""
    return signer.sign(_PURPOSE, f"{competition_id} {user_id}")[:32]


@dataclass(frozen=True)
class OwnCode:
    """The code by which somebody is known on the site that a competition was taken to."""

    competition: Competition
    code: str


def own_codes(session: Session, signer: Signer, user_id: str) -> list[OwnCode]:
    """A person's codes, for each competition of theirs of which an archive was taken."""
    left = exists().where(AuditEntry.competition_id == Competition.id, AuditEntry.action == TRANSFER)
    query = (
        select(Competition)
        .join(Membership, Membership.competition_id == Competition.id)
        .where(Membership.user_id == user_id, Competition.deleted_at.is_(None), left)
        .order_by(Competition.created_at)
    )
    return [OwnCode(row, claim_code(signer, row.id, user_id)) for row in session.scalars(query)]


@dataclass(frozen=True)
class Guest:
    """Somebody who came with a competition: the name there, the placeholder's here, and who has claimed the place."""

    name: str
    username: str
    claimed_by: str | None


def list_guests(session: Session, competition: Competition) -> list[Guest]:
    """The people who came with a competition, by their names on the other site."""
    claimer = aliased(User)
    rows = session.execute(
        select(Placeholder.name, User.username, claimer.username)
        .join(User, User.id == Placeholder.user_id)
        .outerjoin(claimer, claimer.id == Placeholder.claimed_by)
        .where(Placeholder.competition_id == competition.id)
        .order_by(Placeholder.name, Placeholder.user_id)
    )
    return [Guest(*row) for row in rows]


def known_places(session: Session, user: User) -> list[tuple[Placeholder, Competition]]:
    """The places of somebody whose confirmed address came along; none for everybody else."""
    if user.email_verified_at is None or not user.email_key:
        return []
    query = (
        select(Placeholder, Competition)
        .join(Competition, Competition.id == Placeholder.competition_id)
        .where(Placeholder.email_key == user.email_key, Placeholder.claimed_at.is_(None))
        .where(Competition.deleted_at.is_(None))
    )
    return [(place, competition) for place, competition in session.execute(query)]


def claim(session: Session, user: User, *, code: str = "", slug: str = "") -> Membership:
    """Give a person the place that a code opens, or with a `slug` the one of their confirmed address.

    Raises:
        Invalid: the code opens no place, or the address has none there.
        Conflict: the place is taken, or the person has submissions of their own in this competition.
    """
    place, by = _by_code(session, code), "code"
    if not code:
        known = [one for one, competition in known_places(session, user) if competition.slug == slug]
        place, by = (known[0] if known else None), "address"
    if place is None:
        raise Invalid(
            (
                "This opens no place here. Copy the code from the other site, where Account, Your "
                "places shows it."
            ),
            field="code",
        )
    session.refresh(place, with_for_update=True)
    if place.claimed_at is not None:
        raise Conflict("Somebody has claimed this place already. Please ask the organizers.")
    competition = session.get_one(Competition, place.competition_id)
    role = _make_room(session, competition, user)
    for travelling in TRAVELLING:
        for name, attribute in attributes_of(travelling.table).items():
            if attribute.refers_to == "users":
                column = getattr(travelling.table, name)
                session.execute(
                    update(travelling.table).where(column == place.user_id).values({name: user.id})
                )
    place.claimed_at, place.claimed_by = now(), user.id
    retire(session, place)
    session.flush()
    session.expire_all()
    membership = find_membership(session, competition.id, user.id)
    if membership is None:
        raise Invalid("Whoever had this place took no part in the competition.")
    if role is not None and role.includes(membership.role):
        membership.role = role
    audit.record(
        session,
        actor_id=user.id,
        action=CLAIM,
        object_type="user",
        object_id=user.id,
        competition_id=competition.id,
        after={"by": by},
    )
    session.flush()
    return membership


def _by_code(session: Session, code: str) -> Placeholder | None:
    """The place that a code opens: of a competition that was taken in twice, one that nobody claimed, the newest."""
    query = (
        select(Placeholder)
        .join(Competition, Competition.id == Placeholder.competition_id)
        .where(Placeholder.claim_digest == digest_secret(code.strip().lower()))
        .where(Competition.deleted_at.is_(None))
        .order_by(Placeholder.claimed_at.is_not(None), Placeholder.created_at.desc(), Placeholder.user_id)
    )
    return session.scalars(query.limit(1)).first()


def _make_room(session: Session, competition: Competition, user: User) -> Role | None:
    """Take back a membership without submissions, which the place replaces; the role that it had.

    Whoever else is in its team stays there, and what was answered to leagues goes: the place brings its own answers.
    """
    known = find_membership(session, competition.id, user.id)
    if known is None:
        return None
    if known.team_id is not None and count_uploads(session, Submission.team_id == known.team_id):
        raise Conflict(
            "You have submissions of your own in this competition: two places cannot become one. "
            "Please ask the organizers."
        )
    left = go_out(session, known)
    role = known.role
    session.execute(delete(LeagueAnswer).where(LeagueAnswer.membership_id == known.id))
    session.delete(known)
    session.flush()
    if left is not None:
        ask_again(session, left.id)
    return role
