"""Acts on announcements: telling everybody, taking one off the page, putting it back."""

from typing import Annotated

from pydantic import Field, StringConstraints
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.actions.hiding import delete_and_restore
from anyshot_platform.contest.competitions.messages import members_of
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.running.announcements.organizing import announce, list_announcements

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Body = Annotated[str, Field(max_length=100_000)]


class AnnouncementOptions(ActOptions):
    """What all participants are told, on the page and, as each chose, by e-mail; `body` is Markdown."""

    title: Title
    body: Body = ""


def _target_of_all(session: Session, competition: Competition) -> Target:
    name = f"“{competition.title}”"
    return Target("competition", competition.id, competition.slug, name, (competition.id,))


def _target(session: Session, row: Announcement) -> Target:
    return Target("announcement", row.id, row.title, f"“{row.title}”", (row.competition_id,))


def _said_last(session: Session, competition: Competition) -> Announcement | None:
    return next(iter(list_announcements(session, competition, most=1)), None)


def _look_announce(
    session: Session, competition: Competition, request: ActRequest[AnnouncementOptions]
) -> Findings:
    if competition.deleted_at is not None or competition.state == CompetitionState.DRAFT:
        return Findings(refused=["Nobody gets announcements of a draft: publish the competition first."])
    last, wishes = _said_last(session, competition), request.options
    if last is not None and (last.title, last.body) == (wishes.title, wishes.body):
        return Findings(
            done=f"This was announced at {moment_words(last.created_at)}; nobody is told it twice."
        )
    told = len(members_of(session, competition))
    return Findings(
        does=["It stands on the competition's page, and is sent to all who have not declined."],
        told=told,
    )


def _announce(
    session: Session, competition: Competition, request: ActRequest[AnnouncementOptions]
) -> ActDone:
    wishes = request.options
    made = announce(session, competition, wishes.title, wishes.body, request.actor_id)
    return ActDone("Announced on the page and by e-mail.", after={"title": made.title}, result=made)


ADD = Act(
    key="announcement.add",
    title="Announce to all participants of {}",
    target=_target_of_all,
    look=_look_announce,
    do=_announce,
    undo="Take it off the page; messages cannot be called back.",
    options=AnnouncementOptions,
    danger=Danger.PROOF,
)
DELETE, RESTORE = delete_and_restore(
    "announcement",
    _target,
    lambda session, row: ["It is taken off the competition's page; messages cannot be called back."],
    "It is on the competition's page again; nobody gets a message.",
    verbs=("Take {} off the page", "Show {} again"),
)
ACTS = by_name(DELETE, RESTORE)
