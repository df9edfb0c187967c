"""What site administrators do with what background work was given up: have it tried again."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import Act, ActDone, ActRequest, Button, Findings, Target, by_name
from anyshot_platform.kernel.language import say
from anyshot_platform.operations.set_aside import SetAside, find_given_up, list_set_aside, release

_UNDO = "What was sent cannot be called back; what fails again is set aside again."


def _target(session: Session, one: SetAside) -> Target:
    return Target(one.kind[:32], one.id[:64], one.what, f"“{one.what}”")


def _look(session: Session, one: SetAside, request: ActRequest) -> Findings:
    if find_given_up(session, one.kind, one.id).since is None:
        return Findings(done=say("It is not set aside: it is being tried, or it has gone out."))
    return Findings(does=[say("It is tried again, from its first attempt on.")])


def _retry(session: Session, one: SetAside, request: ActRequest) -> ActDone:
    release(session, one.kind, one.id)
    return ActDone(say("It is tried again."), before={"attempts": one.attempts, "error": one.error})


def _target_of_all(session: Session, all_: Sequence[SetAside]) -> Target:
    return Target("set_aside", "", "", "")


def _look_all(session: Session, all_: Sequence[SetAside], request: ActRequest) -> Findings:
    found = list_set_aside(session)
    if not found:
        return Findings(done=say("Nothing is set aside."))
    return Findings(does=[say("Tried again, each from its first attempt on: %(number)s.", number=len(found))])


def _retry_all(session: Session, all_: Sequence[SetAside], request: ActRequest) -> ActDone:
    found = list_set_aside(session)
    for one in found:
        release(session, one.kind, one.id)
    return ActDone(
        say("All of it is tried again."),
        after={"tried_again": [f"{one.kind} {one.id}" for one in found]},
        result=len(found),
    )


RETRY: Act[SetAside] = Act(
    key="set_aside.retry",
    title="Try {} again",
    target=_target,
    look=_look,
    do=_retry,
    undo=_UNDO,
    also=("POST /retry",),
    button=Button("Try again", style="btn--small"),
)
RETRY_ALL: Act[Sequence[SetAside]] = Act(
    key="set_aside.retry_all",
    title="Try all again that is set aside",
    target=_target_of_all,
    look=_look_all,
    do=_retry_all,
    undo=_UNDO,
    button=Button("Try all again"),
)
ACTS, OF_ALL = by_name(RETRY), by_name(RETRY_ALL)
