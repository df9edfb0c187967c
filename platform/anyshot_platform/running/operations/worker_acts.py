"""What site administrators do to workers and their tokens, making one, and letting a machine join that asks to."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, StringConstraints
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Button,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.signing import digest_secret
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RUNNING
from anyshot_platform.judging.workers.models import Worker, WorkerRequest, WorkerToken
from anyshot_platform.judging.workers.tokens import DAYS, Reach, create_worker_token


def _target(session: Session, worker: Worker) -> Target:
    return Target("worker", worker.id, worker.name, f"“{worker.name}”")


def _look_pause(session: Session, worker: Worker, request: ActRequest) -> Findings:
    if worker.paused_at is not None:
        return Findings(done="It is paused already.")
    return Findings(does=["It gets nothing new; what it holds it finishes."])


def _pause(session: Session, worker: Worker, request: ActRequest) -> ActDone:
    worker.paused_at = now()
    return ActDone(f"{worker.name} is paused.")


def _look_resume(session: Session, worker: Worker, request: ActRequest) -> Findings:
    if worker.paused_at is None:
        return Findings(done="It is not paused.")
    return Findings(does=["It gets work again."])


def _resume(session: Session, worker: Worker, request: ActRequest) -> ActDone:
    worker.paused_at = None
    return ActDone(f"{worker.name} gets work again.")


PAUSE: Act[Worker] = Act(
    key="worker.pause",
    title="Pause {}",
    target=_target,
    look=_look_pause,
    do=_pause,
    undo="Resume it.",
    button=Button("Pause", fits=lambda worker: worker.paused_at is None, style="btn--small"),
    danger=Danger.NONE,
)
RESUME: Act[Worker] = Act(
    key="worker.resume",
    title="Resume {}",
    target=_target,
    look=_look_resume,
    do=_resume,
    undo="Pause it again.",
    button=Button("Resume", fits=lambda worker: worker.paused_at is not None, style="btn--small"),
    danger=Danger.NONE,
)


def _token_target(session: Session, token: WorkerToken) -> Target:
    return Target("worker_token", token.id, token.name, f"“{token.name}”")


def _look_revoke(session: Session, token: WorkerToken, request: ActRequest) -> Findings:
    if token.revoked_at is not None:
        return Findings(done="The token is revoked already.")
    workers = session.scalar(select(func.count(Worker.id)).where(Worker.token_id == token.id)) or 0
    holding = select(Worker.id).where(Worker.token_id == token.id)
    held = select(func.count(Run.id)).where(Run.state.in_(sorted(RUNNING)), Run.worker_id.in_(holding))
    return Findings(
        does=[
            f"Workers that call with it and are turned away from now on: {workers}.",
            f"Runs that they hold and that go back to the queue: {session.scalar(held) or 0}.",
        ],
        asks=workers > 0,
    )


def _revoke(session: Session, token: WorkerToken, request: ActRequest) -> ActDone:
    token.revoked_at = now()
    return ActDone("The token is revoked; what its workers hold goes back to the queue.")


REVOKE: Act[WorkerToken] = Act(
    key="worker.revoke",
    title="Revoke the token {}",
    target=_token_target,
    look=_look_revoke,
    do=_revoke,
    undo="Create a new token and give it to the machine.",
    danger=Danger.NAME,
    button=Button(
        "Revoke", "ban", fits=lambda token: token.revoked_at is None, style="btn--small btn--danger"
    ),
)


class TokenOptions(ActOptions):
    """`name` is the machine's; `hardware_class` and `competition` (its short name) limit what it gets, for `days`."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    hardware_class: Annotated[str | None, Field(max_length=64)] = None
    competition: Annotated[str | None, Field(max_length=64)] = None
    days: Annotated[int, Field(ge=1, le=3650)] = DAYS


@dataclass(frozen=True)
class Tokens:
    """The tokens of the site: what a new one is added to."""


@dataclass(frozen=True)
class MadeToken:
    """A token, with its text, which is shown once."""

    token: WorkerToken
    text: str


def _is_in_use(session: Session, name: str) -> bool:
    """Whether machines can call with a token of this name."""
    still = or_(WorkerToken.expires_at.is_(None), WorkerToken.expires_at > now())
    query = select(WorkerToken.id).where(WorkerToken.name == name, WorkerToken.revoked_at.is_(None), still)
    return session.scalars(query).first() is not None


def _target_of_tokens(session: Session, tokens: Tokens) -> Target:
    return Target("worker_token", "", "", "")


def _of_competition(session: Session, wishes: TokenOptions) -> Competition | None:
    query = select(Competition).where(Competition.slug == wishes.competition)
    return session.scalars(query).one_or_none() if wishes.competition else None


def _look_token(session: Session, tokens: Tokens, request: ActRequest[TokenOptions]) -> Findings:
    return _token_findings(session, request.options)


def _token_findings(session: Session, wishes: TokenOptions) -> Findings:
    competition = _of_competition(session, wishes)
    if _is_in_use(session, wishes.name):
        words = "A token of this name is in use: revoke it first, or take another name."
        return Findings(refused=[words])
    if wishes.competition and competition is None:
        return Findings(refused=["There is no such competition."])
    hardware = wishes.hardware_class
    return Findings(
        does=[
            ("Whoever has it gets the code of participants and the hidden images of the runs that it does."),
            f"It is for workers of the class {hardware}."
            if hardware
            else "It is for workers of every class.",
            f"It gets runs of {competition.title} alone."
            if competition
            else "It gets runs of every competition.",
            f"It ends after {wishes.days} days.",
        ]
    )


def _make_token(session: Session, tokens: Tokens, request: ActRequest[TokenOptions]) -> ActDone:
    made = _made(session, request.options, request.actor_id)
    return ActDone("The token, shown once", after=_kept(made, request.options), result=made)


def _made(session: Session, wishes: TokenOptions, actor_id: str) -> MadeToken:
    competition = _of_competition(session, wishes)
    reach = Reach(wishes.hardware_class, competition.id if competition else None, wishes.days)
    text = create_worker_token(session, wishes.name, actor_id, reach)
    token = session.scalars(select(WorkerToken).where(WorkerToken.digest == digest_secret(text))).one()
    return MadeToken(token, text)


def _kept(made: MadeToken, wishes: TokenOptions) -> dict[str, Any]:
    return {"id": made.token.id, **wishes.model_dump(exclude_none=True)}


TOKEN = Act(
    key="worker.token",
    title="Create a token for workers",
    target=_target_of_tokens,
    look=_look_token,
    do=_make_token,
    undo="Revoke it.",
    options=TokenOptions,
    danger=Danger.PROOF,
)


class JoinOptions(TokenOptions):
    """`name` is the machine's own if left out; `hardware_class` and `competition` (its short name) limit what it gets,
    for `days`.
    """

    name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = ""


def _target_of_request(session: Session, asking: WorkerRequest) -> Target:
    return Target("worker_request", asking.id, asking.info.name, f"“{asking.info.name}”")


def _wishes(asking: WorkerRequest, request: ActRequest[JoinOptions]) -> JoinOptions:
    return request.options.model_copy(update={"name": request.options.name or asking.info.name[:200]})


def _look_join(session: Session, asking: WorkerRequest, request: ActRequest[JoinOptions]) -> Findings:
    if asking.token_id is not None:
        return Findings(done="The machine was let in already.")
    return _token_findings(session, _wishes(asking, request))


def _join(session: Session, asking: WorkerRequest, request: ActRequest[JoinOptions]) -> ActDone:
    wishes = _wishes(asking, request)
    made = _made(session, wishes, request.actor_id)
    asking.token_id = made.token.id
    return ActDone(
        f"{wishes.name} gets its token within seconds. Start it there: anyshot worker run.",
        after=_kept(made, wishes),
    )


JOIN: Act[WorkerRequest, JoinOptions] = Act(
    key="worker.join",
    title="Let {} join as a worker",
    target=_target_of_request,
    look=_look_join,
    do=_join,
    undo="Revoke its token.",
    options=JoinOptions,
    danger=Danger.PROOF,
)
ACTS = by_name(PAUSE, RESUME)
OF_TOKENS = by_name(REVOKE)
OF_ALL_TOKENS = by_name(TOKEN)
OF_REQUESTS = by_name(JOIN)
