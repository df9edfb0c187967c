"""What administrators do to accounts, workers, workers' tokens and images, over JSON."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, ConfigDict
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.foundation.paging import ListPage, PageParam
from anyshot_platform.judging.workers.models import Image, Worker, WorkerRequest, WorkerToken
from anyshot_platform.judging.workers.requests import find_request
from anyshot_platform.judging.workers.tokens import find_worker_token
from anyshot_platform.people.accounts import administration
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.operations import account_acts, image_acts, overview, worker_acts
from anyshot_platform.site.acts.api import ActOut, show_acts
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/admin", tags=["operations"])
AsAdmin = Annotated[Viewer, Depends(site_admin)]
Named = Annotated[str, Path(max_length=64, description="Its name, where no other has the same, or its id.")]

Code = Annotated[str, Path(max_length=20, description="The code that the machine shows.")]


class AccountOut(BaseModel):
    """An account; what is off is null or false."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    username: str
    email: str | None
    created_at: datetime
    last_login_at: datetime | None
    blocked_at: datetime | None
    deleted_at: datetime | None
    second_factor_since: datetime | None
    is_site_admin: bool
    may_organize: bool


class WorkerOut(BaseModel):
    """A worker that has called."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    hardware_class: str
    last_seen_at: datetime
    paused_at: datetime | None
    stopped_at: datetime | None


class WorkerTokenOut(BaseModel):
    """A token of workers, without its text."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    hardware_class: str | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewTokenOut(WorkerTokenOut):
    """A token with its text, which no other answer has."""

    token: str


class WorkerRequestOut(BaseModel):
    """A machine that asks to become a worker, as it says of itself; `joined` once an administrator let it in."""

    name: str
    hardware_class: str
    release: str
    cores: int
    memory_bytes: int
    gpus: list[str]
    images: list[str]
    sandbox: str
    sandbox_reduced: bool
    analyses: bool
    expires_at: datetime
    joined: bool


class ImageOut(BaseModel):
    """A sandbox image that phases may ask for; those that are switched off cannot be chosen."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    description: str
    enabled: bool


@router.get("/acts")
def list_acts(request: Request, viewer: AsAdmin) -> list[ActOut]:
    """All acts of administrators, by key; an object is named by its name or id."""
    return show_acts(request.app.state.admin_acts)


@router.get("/users")
def list_users(
    viewer: AsAdmin, session: SessionDep, q: str = "", page: PageParam = 1
) -> ListPage[AccountOut]:
    """Accounts by name or e-mail, newest first."""
    users, place = administration.list_users(session, q, page)
    return place.of([AccountOut.model_validate(user) for user in users])


@router.get("/workers")
def list_workers(viewer: AsAdmin, session: SessionDep) -> list[WorkerOut]:
    """Workers seen in the last week, those alive first."""
    return [WorkerOut.model_validate(row.worker) for row in overview.read_workers(session)]


@router.get("/worker-tokens")
def list_worker_tokens(viewer: AsAdmin, session: SessionDep) -> list[WorkerTokenOut]:
    """The tokens of workers, newest first, with those that are revoked."""
    tokens = session.scalars(select(WorkerToken).order_by(WorkerToken.created_at.desc()))
    return [WorkerTokenOut.model_validate(token) for token in tokens]


@router.get("/worker-requests/{code}")
def show_request(viewer: AsAdmin, session: SessionDep, code: Code) -> WorkerRequestOut:
    """The machine that shows this code."""
    return _show_machine(find_request(session, code))


@router.get("/images")
def list_images(viewer: AsAdmin, session: SessionDep) -> list[ImageOut]:
    """The sandbox images that are or were offered, by name."""
    return [ImageOut.model_validate(image) for image in session.scalars(select(Image).order_by(Image.name))]


def _user(session: Session, viewer: Viewer, username: Named) -> User:
    return administration.find_user(session, username)


def _worker(session: Session, viewer: Viewer, worker_name: Named) -> Worker:
    return overview.find_worker(session, worker_name)


def _token(session: Session, viewer: Viewer, token_name: Named) -> WorkerToken:
    return find_worker_token(session, token_name)


def _show_user(session: Session, viewer: Viewer, user: User, outcome: ActOutcome) -> AccountOut:
    return AccountOut.model_validate(user)


def _show_worker(session: Session, viewer: Viewer, worker: Worker, outcome: ActOutcome) -> WorkerOut:
    return WorkerOut.model_validate(worker)


def _show_token(session: Session, viewer: Viewer, token: WorkerToken, outcome: ActOutcome) -> WorkerTokenOut:
    return WorkerTokenOut.model_validate(token)


def _tokens(session: Session, viewer: Viewer) -> worker_acts.Tokens:
    return worker_acts.Tokens()


def _show_new_token(
    session: Session, viewer: Viewer, tokens: worker_acts.Tokens, outcome: ActOutcome
) -> NewTokenOut:
    made: worker_acts.MadeToken = outcome.result
    shown = WorkerTokenOut.model_validate(made.token).model_dump()
    return NewTokenOut(**shown, token=made.text)


def _request(session: Session, viewer: Viewer, code: Code) -> WorkerRequest:
    return find_request(session, code)


def _show_request(
    session: Session, viewer: Viewer, asking: WorkerRequest, outcome: ActOutcome
) -> WorkerRequestOut:
    return _show_machine(asking)


def _show_machine(asking: WorkerRequest) -> WorkerRequestOut:
    shown = WorkerRequestOut.model_fields.keys()
    return WorkerRequestOut(
        **asking.info.model_dump(include=set(shown)),
        expires_at=asking.expires_at,
        joined=asking.token_id is not None,
    )


def _image(session: Session, viewer: Viewer, image_name: Named) -> Image:
    return image_acts.find_image(session, image_name)


def _show_image(session: Session, viewer: Viewer, image: Image, outcome: ActOutcome) -> ImageOut:
    return ImageOut.model_validate(image)


add_acts(router, account_acts.ACTS, _user, _show_user, at="/users/{username}", door=site_admin)
add_acts(router, worker_acts.ACTS, _worker, _show_worker, at="/workers/{worker_name}", door=site_admin)
add_acts(
    router,
    worker_acts.OF_TOKENS,
    _token,
    _show_token,
    at="/worker-tokens/{token_name}",
    door=site_admin,
)
add_acts(router, worker_acts.OF_ALL_TOKENS, _tokens, _show_new_token, at="/worker-tokens", door=site_admin)
add_acts(
    router, worker_acts.OF_REQUESTS, _request, _show_request, at="/worker-requests/{code}", door=site_admin
)
add_acts(router, image_acts.ACTS, _image, _show_image, at="/images/{image_name}", door=site_admin)
