"""What site administrators do to workers and to the tokens with which machines call."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import Act, ActDone, ActRequest, Button, Findings, Target, by_name
from anyshot_platform.database import now
from anyshot_platform.kernel.language import say
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RUNNING
from anyshot_platform.workers.models import Worker, WorkerToken


def _target(session: Session, worker: Worker) -> Target:
    return Target("worker", worker.id, worker.name, f"“{worker.name}”")


def _look_pause(session: Session, worker: Worker, request: ActRequest) -> Findings:
    if worker.paused_at is not None:
        return Findings(done=say("It is paused already."))
    return Findings(does=[say("It gets nothing new; what it holds it finishes.")])


def _pause(session: Session, worker: Worker, request: ActRequest) -> ActDone:
    worker.paused_at = now()
    return ActDone(say("%(name)s is paused.", name=worker.name))


def _look_resume(session: Session, worker: Worker, request: ActRequest) -> Findings:
    if worker.paused_at is None:
        return Findings(done=say("It is not paused."))
    return Findings(does=[say("It gets work again.")])


def _resume(session: Session, worker: Worker, request: ActRequest) -> ActDone:
    worker.paused_at = None
    return ActDone(say("%(name)s gets work again.", name=worker.name))


PAUSE: Act[Worker] = Act(
    key="worker.pause",
    title="Pause {}",
    target=_target,
    look=_look_pause,
    do=_pause,
    undo="Resume it.",
    button=Button("Pause", fits=lambda worker: worker.paused_at is None, style="btn--small"),
)
RESUME: Act[Worker] = Act(
    key="worker.resume",
    title="Resume {}",
    target=_target,
    look=_look_resume,
    do=_resume,
    undo="Pause it again.",
    button=Button("Resume", fits=lambda worker: worker.paused_at is not None, style="btn--small"),
)


def _token_target(session: Session, token: WorkerToken) -> Target:
    return Target("worker_token", token.id, token.name, f"“{token.name}”")


def _look_revoke(session: Session, token: WorkerToken, request: ActRequest) -> Findings:
    if token.revoked_at is not None:
        return Findings(done=say("The token is revoked already."))
    workers = session.scalar(select(func.count(Worker.id)).where(Worker.token_id == token.id)) or 0
    holding = select(Worker.id).where(Worker.token_id == token.id)
    held = select(func.count(Run.id)).where(Run.state.in_(sorted(RUNNING)), Run.worker_id.in_(holding))
    return Findings(
        does=[
            say("Workers that call with it and are turned away from now on: %(number)s.", number=workers),
            say(
                "Runs that they hold and that go back to the queue: %(number)s.",
                number=session.scalar(held) or 0,
            ),
        ],
        asks=workers > 0,
    )


def _revoke(session: Session, token: WorkerToken, request: ActRequest) -> ActDone:
    token.revoked_at = now()
    return ActDone(say("The token is revoked; what its workers hold goes back to the queue."))


REVOKE: Act[WorkerToken] = Act(
    key="worker.revoke",
    title="Revoke the token {}",
    target=_token_target,
    look=_look_revoke,
    do=_revoke,
    undo="Make a new token and give it to the machine.",
    dangerous=True,
    button=Button(
        "Revoke", "ban", fits=lambda token: token.revoked_at is None, style="btn--small btn--danger"
    ),
)
ACTS = by_name(PAUSE, RESUME)
OF_TOKENS = by_name(REVOKE)
