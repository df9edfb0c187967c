"""What site administrators do to accounts: each act says what it takes from whom, and how it is undone."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActRequest,
    Button,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.contest.competitions.service import owned_alone
from anyshot_platform.foundation.database import now
from anyshot_platform.people.accounts.second_factor import turn_off
from anyshot_platform.people.accounts.service import ONLY_ADMINISTRATOR, is_only_administrator, void_links
from anyshot_platform.people.users.models import ApiToken, LoginSession, User

OTHERS = "others"  # the buttons that stand beside other people's accounts alone


def _target(session: Session, user: User) -> Target:
    return Target("user", user.id, user.username, f"“{user.username}”")


def _open(table: Any, user: User) -> tuple[ColumnElement[bool], ...]:
    return table.user_id == user.id, table.revoked_at.is_(None)


def _ends(session: Session, user: User) -> list[str]:
    """How many ways in an account has, as the sentence that they end; none where it has none."""
    number = sum(
        session.scalar(select(func.count()).select_from(table).where(*_open(table, user))) or 0
        for table in (LoginSession, ApiToken)
    )
    return [f"Sessions and API tokens that end: {number}."] if number else []


def _end_everything(session: Session, user: User) -> None:
    void_links(session, user.id)
    for table in (LoginSession, ApiToken):
        session.execute(update(table).where(*_open(table, user)).values(revoked_at=now()))


def _orphans(session: Session, user: User) -> list[str]:
    found = owned_alone(session, user.id)
    words = (
        f"They are the only owner of {', '.join(f'“{title}”' for title in found[:5])}: "
        "nobody can publish, archive or delete it then."
    )
    return [words] if found else []


def _oneself(user: User, request: ActRequest) -> list[str]:
    return ["You cannot do this to yourself."] if user.id == request.actor_id else []


def _last(session: Session, user: User) -> list[str]:
    return [ONLY_ADMINISTRATOR] if is_only_administrator(session, user) else []


def _look_block(session: Session, user: User, request: ActRequest) -> Findings:
    if user.blocked_at is not None:
        return Findings(done="The account is blocked already.")
    return Findings(
        refused=[*_oneself(user, request), *_last(session, user)],
        does=["Nobody can log in with this account until it is unblocked.", *_ends(session, user)],
        warnings=_orphans(session, user),
    )


def _block(session: Session, user: User, request: ActRequest) -> ActDone:
    user.blocked_at = now()
    _end_everything(session, user)
    return ActDone(f"{user.username} is blocked.")


BLOCK: Act[User] = Act(
    key="user.block",
    title="Block {}",
    target=_target,
    look=_look_block,
    do=_block,
    undo="Unblock the account; its owner logs in again.",
    danger=Danger.NAME,
    button=Button("Block", fits=lambda user: user.blocked_at is None, group=OTHERS, style="btn--small"),
)


def _look_unblock(session: Session, user: User, request: ActRequest) -> Findings:
    if user.blocked_at is None:
        return Findings(done="The account is not blocked.")
    return Findings(does=["Its owner can log in again."])


def _unblock(session: Session, user: User, request: ActRequest) -> ActDone:
    user.blocked_at = None
    return ActDone(f"{user.username} is no longer blocked.")


UNBLOCK: Act[User] = Act(
    key="user.unblock",
    title="Unblock {}",
    target=_target,
    look=_look_unblock,
    do=_unblock,
    undo="Block the account again.",
    button=Button("Unblock", fits=lambda user: user.blocked_at is not None, group=OTHERS, style="btn--small"),
    danger=Danger.PROOF,
)


def _look_promote(session: Session, user: User, request: ActRequest) -> Findings:
    if user.is_site_admin:
        return Findings(done="They are an administrator already.")
    return Findings(
        does=["They see and change everything on this site: competitions, hidden data, accounts, workers."]
    )


def _look_demote(session: Session, user: User, request: ActRequest) -> Findings:
    if not user.is_site_admin:
        return Findings(done="They are not an administrator.")
    return Findings(
        refused=[*_oneself(user, request), *_last(session, user)],
        does=["They see and change only what is their own, and what they organize."],
    )


def _look_let(session: Session, user: User, request: ActRequest) -> Findings:
    if user.may_organize:
        return Findings(done="They may organize already.")
    return Findings(does=["They can create competitions and pools of data on this site."])


def _look_stop(session: Session, user: User, request: ActRequest) -> Findings:
    if not user.may_organize:
        return Findings(done="They may not organize.")
    return Findings(does=["They can create no more competitions or pools; the ones they have go on."])


def _sets(column: str, value: bool, words: str) -> Callable[[Session, User, ActRequest], ActDone]:
    def do(session: Session, user: User, request: ActRequest) -> ActDone:
        setattr(user, column, value)
        return ActDone(words.format(name=user.username), {column: not value}, {column: value})

    return do


PROMOTE: Act[User] = Act(
    key="user.promote",
    title="Make {} an administrator",
    target=_target,
    look=_look_promote,
    do=_sets("is_site_admin", True, "{name} is an administrator."),
    undo="Remove the administrator's rights; what they have seen or changed meanwhile stays so.",
    danger=Danger.NAME,
    button=Button(
        "Make administrator", fits=lambda user: not user.is_site_admin, group=OTHERS, style="btn--small"
    ),
)
DEMOTE: Act[User] = Act(
    key="user.demote",
    title="Remove administrator's rights from {}",
    target=_target,
    look=_look_demote,
    do=_sets("is_site_admin", False, "{name} is no longer an administrator."),
    undo="Make them an administrator again.",
    button=Button(
        "Remove administrator's rights",
        fits=lambda user: user.is_site_admin,
        group=OTHERS,
        style="btn--small",
    ),
    danger=Danger.PROOF,
)
LET_ORGANIZE: Act[User] = Act(
    key="user.let-organize",
    title="Let {} organize",
    target=_target,
    look=_look_let,
    do=_sets("may_organize", True, "{name} may organize."),
    undo="Remove the right to organize.",
    button=Button("Let organize", fits=lambda user: not user.may_organize, style="btn--small"),
    danger=Danger.PROOF,
)
STOP_ORGANIZING: Act[User] = Act(
    key="user.stop-organizing",
    title="Remove the right to organize from {}",
    target=_target,
    look=_look_stop,
    do=_sets("may_organize", False, "{name} may no longer organize."),
    undo="Let them organize again.",
    button=Button("Remove the right to organize", fits=lambda user: user.may_organize, style="btn--small"),
    danger=Danger.PROOF,
)


def _look_factor(session: Session, user: User, request: ActRequest) -> Findings:
    if user.second_factor_since is None:
        return Findings(done="The account has no second factor.")
    return Findings(
        does=[
            "From now on the password alone is enough to log in: be sure who asks.",
            *_ends(session, user),
        ]
    )


def _reset_factor(session: Session, user: User, request: ActRequest) -> ActDone:
    turn_off(session, user)
    _end_everything(session, user)
    return ActDone(f"The second factor of {user.username} is off.")


RESET_FACTOR: Act[User] = Act(
    key="user.reset-second-factor",
    title="Remove the second factor of {}",
    target=_target,
    look=_look_factor,
    do=_reset_factor,
    undo="Only the owner of the account can set up a second factor again.",
    danger=Danger.NAME,
    button=Button(
        "Remove the second factor",
        fits=lambda user: user.second_factor_since is not None,
        style="btn--small",
    ),
)


def _look_sign_out(session: Session, user: User, request: ActRequest) -> Findings:
    ends = _ends(session, user)
    return Findings(does=ends) if ends else Findings(done="It has no session and no API token.")


def _sign_out(session: Session, user: User, request: ActRequest) -> ActDone:
    _end_everything(session, user)
    return ActDone(f"All sessions and API tokens of {user.username} have ended.")


SIGN_OUT: Act[User] = Act(
    key="user.sign-out",
    title="End all sessions and API tokens of {}",
    target=_target,
    look=_look_sign_out,
    do=_sign_out,
    undo="The owner logs in again and creates new tokens.",
    button=Button("End sessions and tokens", style="btn--small"),
    danger=Danger.PROOF,
)
ACTS = by_name(BLOCK, UNBLOCK, PROMOTE, DEMOTE, LET_ORGANIZE, STOP_ORGANIZING, RESET_FACTOR, SIGN_OUT)
