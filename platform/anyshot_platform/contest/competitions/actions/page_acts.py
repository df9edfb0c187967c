"""Acts on a page of text: moving it among the others, removing it."""

from typing import Annotated

from pydantic import Field
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
from anyshot_platform.contest.competitions.models import Competition, CompetitionPage
from anyshot_platform.contest.competitions.states import CompetitionState


def _target(session: Session, page: CompetitionPage) -> Target:
    return Target("competition", page.competition_id, page.title, f"“{page.title}”", (page.competition_id,))


def _look(session: Session, page: CompetitionPage, request: ActRequest) -> Findings:
    competition = session.get_one(Competition, page.competition_id)
    does = ["Its text is taken off the competition, and stays in the audit log."]
    return Findings(does=does, asks=competition.state is CompetitionState.PUBLISHED)


def _delete(session: Session, page: CompetitionPage, request: ActRequest) -> ActDone:
    competition = session.get_one(Competition, page.competition_id)
    competition.pages.remove(page)
    return ActDone(
        "The page is removed; its text is in the audit log.",
        before={"title": page.title, "body": page.body},
    )


DELETE = Act(
    key="page.delete",
    title="Remove the page {}",
    target=_target,
    look=_look,
    do=_delete,
    undo="Add a page with the text that the audit log keeps.",
    danger=Danger.NAME,
    button=Button("Remove this page", "trash-2", style="btn--small btn--danger"),
)


class MoveOptions(ActOptions):
    """The page's place among the others, from 0; a place behind the last is the last."""

    place: Annotated[int, Field(ge=0, le=10_000)]


def _wanted(pages: list[CompetitionPage], request: ActRequest[MoveOptions]) -> int:
    return min(request.options.place, len(pages) - 1)


def _look_move(session: Session, page: CompetitionPage, request: ActRequest[MoveOptions]) -> Findings:
    pages = session.get_one(Competition, page.competition_id).pages
    place = _wanted(pages, request)
    if pages.index(page) == place:
        return Findings(done="It stands there already.")
    return Findings(does=[f"It becomes page {place + 1} of {len(pages)}."])


def _move(session: Session, page: CompetitionPage, request: ActRequest[MoveOptions]) -> ActDone:
    pages = session.get_one(Competition, page.competition_id).pages
    before, place = pages.index(page), _wanted(pages, request)
    others = [one for one in pages if one is not page]
    for position, one in enumerate([*others[:place], page, *others[place:]]):
        one.position = position
    pages.sort(key=lambda one: one.position)
    words = f"{page.title} is page {place + 1} now."
    return ActDone(words, {"place": before}, {"title": page.title, "place": place})


MOVE = Act(
    key="page.move",
    title="Move the page {}",
    target=_target,
    look=_look_move,
    do=_move,
    undo="Move it back.",
    options=MoveOptions,
    danger=Danger.NONE,
)
ACTS = by_name(MOVE, DELETE)
