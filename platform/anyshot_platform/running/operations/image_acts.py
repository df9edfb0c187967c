"""What site administrators do with sandbox images that phases may ask for: offering, describing, switching off."""

from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.requirements import PACKAGES_IMAGE
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
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.states import VersionState
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.slugs import check_slug
from anyshot_platform.judging.workers.models import Image
from anyshot_platform.judging.workers.packages import asked_images


class OfferOptions(ActOptions):
    """What organizers read where they choose it; left out or empty, the description stays as it is."""

    description: Annotated[str | None, Field(max_length=2000)] = None


def find_image(session: Session, name: str) -> Image:
    """The image of this name, or one that is not offered yet; raises `Invalid` for what is no name."""
    if not name:
        raise Invalid("An image needs a name.", field="name")
    check_slug(name)
    found = session.scalars(select(Image).where(Image.name == name)).one_or_none()
    return found or Image(name=name, description="", enabled=False)


def image_fields(image: Image) -> dict[str, Any]:
    """What is said of an image; nothing of one that was never offered."""
    return {"description": image.description, "enabled": image.enabled} if image.id else {}


def _target(session: Session, image: Image) -> Target:
    return Target("image", image.name, image.name, f"“{image.name}”")


def _described(image: Image, request: ActRequest[OfferOptions]) -> str:
    return request.options.description or image.description


def _look_offer(session: Session, image: Image, request: ActRequest[OfferOptions]) -> Findings:
    description = _described(image, request)
    if image.enabled and description == image.description:
        return Findings(done="It is offered so already.")
    does = [] if image.enabled else ["Phases can choose it; workers that have it do their runs."]
    if image.description and description != image.description:
        was = image.description
        does.append(f"Its description is replaced, which was “{was}”.")
    return Findings(does=does or ["It is described."])


def _change(session: Session, image: Image, wanted: dict[str, Any], message: str) -> ActDone:
    before = image_fields(image)
    for field, value in wanted.items():
        setattr(image, field, value)
    session.add(image)
    changed = {field: value for field, value in wanted.items() if before.get(field) != value}
    return ActDone(message, {field: before[field] for field in changed if field in before}, changed)


def _offer(session: Session, image: Image, request: ActRequest[OfferOptions]) -> ActDone:
    wanted = {"description": _described(image, request), "enabled": True}
    return _change(session, image, wanted, f"{image.name} is offered to phases.")


def _look_off(session: Session, image: Image, request: ActRequest) -> Findings:
    if PACKAGES_IMAGE.fullmatch(image.name):
        return _look_refuse(session, image, request)
    if not image.id:
        return Findings(refused=["No image of this name was offered."])
    if not image.enabled:
        return Findings(done="It is switched off already.")
    asking = select(func.count(func.distinct(PhaseVersion.phase_id))).where(
        PhaseVersion.image == image.name, PhaseVersion.state == VersionState.LIVE
    )
    return Findings(
        does=[
            "No phase can choose it any more.",
            f"Phases that ask for it, and keep it: {session.scalar(asking) or 0}.",
        ]
    )


def _look_refuse(session: Session, image: Image, request: ActRequest) -> Findings:
    """Of an image that phases ask for by a list of packages: it is not built, and their organizers read why."""
    asked = next((one for one in asked_images(session) if one.name == image.name), None)
    if asked is None:
        return Findings(refused=["No phase asks for packages under this name."])
    if not request.reason:
        return Findings(refused=["Say why, as the reason: the organizers of the phases read it."])
    if asked.refused == request.reason:
        return Findings(done="It is refused so already.")
    return Findings(
        does=[f"It is not built. The organizers of {join_texts(asked.phases, ', ')} read why; its runs wait."]
    )


def _switch_off(session: Session, image: Image, request: ActRequest) -> ActDone:
    refused = {"description": request.reason} if PACKAGES_IMAGE.fullmatch(image.name) else {}
    return _change(session, image, {"enabled": False, **refused}, f"{image.name} is switched off.")


OFFER = Act(
    key="image.offer",
    title="Offer the image {}",
    target=_target,
    look=_look_offer,
    do=_offer,
    undo="Switch it off; a description is replaced by offering it with another one.",
    options=OfferOptions,
    button=Button[Image]("Offer again", fits=lambda image: not image.enabled, style="btn--small"),
    danger=Danger.PROOF,
)
OFF: Act[Image] = Act(
    key="image.off",
    title="Switch off the image {}",
    target=_target,
    look=_look_off,
    do=_switch_off,
    undo="Offer it again.",
    reason="Reason (of an image that phases ask for by a list of packages, their organizers see it)",
    button=Button("Switch off", fits=lambda image: image.enabled, style="btn--small"),
    danger=Danger.NONE,
)
ACTS = by_name(OFFER, OFF)
