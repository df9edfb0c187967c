"""What site administrators do with what is set aside: have it tried again, or give it up."""

from collections.abc import Sequence

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
from anyshot_platform.running.operations.dead_letters import (
    SetAside,
    count_set_aside,
    find_given_up,
    give_up,
    list_set_aside,
    release,
    release_all,
)

_UNDO = "What was sent cannot be called back; what fails again is set aside again."


def _target(session: Session, one: SetAside) -> Target:
    return Target(one.kind[:32], one.id[:64], one.what, f"“{one.what}”")


def _not_set_aside() -> str:
    return "It is not set aside: it is being tried, or it has gone out."


def _no_webhook() -> str:
    return "Its webhook is removed: nothing more is posted to it."


def _look(session: Session, one: SetAside, request: ActRequest) -> Findings:
    found = find_given_up(session, one.kind, one.id)
    if found.removed:
        return Findings(refused=[_no_webhook()])
    if found.since is None and not found.given_up:
        return Findings(done=_not_set_aside())
    return Findings(does=["It is tried again, from its first attempt on."])


def _retry(session: Session, one: SetAside, request: ActRequest) -> ActDone:
    release(session, one.kind, one.id)
    return ActDone("It is tried again.", before={"attempts": one.attempts, "error": one.error})


def _look_give_up(session: Session, one: SetAside, request: ActRequest) -> Findings:
    found = find_given_up(session, one.kind, one.id)
    if found.given_up:
        return Findings(done="It is given up already.")
    if found.since is None:
        return Findings(done=_no_webhook() if found.removed else _not_set_aside())
    return Findings(
        does=["It is not tried again: what it was for stays undone. It no longer counts as set aside."]
    )


def _give_up(session: Session, one: SetAside, request: ActRequest) -> ActDone:
    give_up(session, one.kind, one.id)
    return ActDone("It is given up.", before={"attempts": one.attempts, "error": one.error})


def _target_of_all(session: Session, all_: Sequence[SetAside]) -> Target:
    return Target("set_aside", "", "", "")


def _look_all(session: Session, all_: Sequence[SetAside], request: ActRequest) -> Findings:
    number = count_set_aside(session)
    if not number:
        return Findings(done="Nothing is set aside.")
    return Findings(does=[f"Tried again, each from its first attempt on: {number}."])


def _retry_all(session: Session, all_: Sequence[SetAside], request: ActRequest) -> ActDone:
    number, newest = count_set_aside(session), list_set_aside(session)
    release_all(session)
    return ActDone(
        "All of it is tried again.",
        after={"number": number, "newest": [f"{one.kind} {one.id}" for one in newest]},
        result=number,
    )


RETRY: Act[SetAside] = Act(
    key="set_aside.retry",
    title="Try {} again",
    target=_target,
    look=_look,
    do=_retry,
    undo=_UNDO,
    button=Button("Try again", style="btn--small"),
    danger=Danger.NONE,
)
GIVE_UP: Act[SetAside] = Act(
    key="set_aside.give_up",
    title="Give up {}",
    target=_target,
    look=_look_give_up,
    do=_give_up,
    undo="Have it tried again by its kind and id, which the audit log names: `anyshot admin retry KIND ID`.",
    button=Button("Give up", style="btn--small"),
    danger=Danger.NONE,
)
RETRY_ALL: Act[Sequence[SetAside]] = Act(
    key="set_aside.retry_all",
    title="Try all again that is set aside",
    target=_target_of_all,
    look=_look_all,
    do=_retry_all,
    undo=_UNDO,
    button=Button("Try all again"),
    danger=Danger.NONE,
)
ACTS, OF_ALL = by_name(RETRY, GIVE_UP), by_name(RETRY_ALL)
