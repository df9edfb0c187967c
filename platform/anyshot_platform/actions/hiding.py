"""The two acts on what is hidden and brought back, never erased: rows with a `deleted_at`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import Act, ActDone, ActRequest, Button, Danger, Findings, Target
from anyshot_platform.foundation.database import now

S = TypeVar("S", bound=Any)


def delete_and_restore(
    kind: str,
    target: Callable[[Session, S], Target],
    hides: Callable[[Session, S], Sequence[str]],
    shows: str,
    *,
    name: str = "delete",
    verbs: tuple[str, str] = ("Delete {}", "Restore {}"),
    asks: Callable[[Session, S], bool] = lambda _, __: False,
    first: Callable[[Session, S, ActRequest], None] = lambda *_: None,
) -> tuple[Act[S], Act[S]]:
    """The acts `<kind>.<name>` and `<kind>.restore`.

    Args:
        hides: what a deletion does to whom, as sentences; `shows` says the same of a restoration.
        verbs: the titles of the two acts; what the buttons say is left without the name.
        asks: whether the name of the object has to be typed before it is hidden.
        first: what is done before it is hidden, like stopping its computation.
    """

    def look_hide(session: Session, row: S, request: ActRequest) -> Findings:
        if row.deleted_at is not None:
            return Findings(done="It is hidden already.")
        return Findings(does=hides(session, row), asks=asks(session, row))

    def hide(session: Session, row: S, request: ActRequest) -> ActDone:
        first(session, row, request)
        row.deleted_at = now()
        title = target(session, row).title
        return ActDone(f"{title} is hidden; it can be brought back.", after={"title": title})

    def look_show(session: Session, row: S, request: ActRequest) -> Findings:
        if row.deleted_at is None:
            return Findings(done="It is there already.")
        return Findings(does=[shows])

    def show(session: Session, row: S, request: ActRequest) -> ActDone:
        row.deleted_at = None
        session.flush()
        title = target(session, row).title
        return ActDone(f"{title} is back.", after={"title": title})

    there, gone = (lambda row: row.deleted_at is None), (lambda row: row.deleted_at is not None)
    return (
        Act(
            f"{kind}.{name}",
            verbs[0],
            target,
            look_hide,
            hide,
            f"{verbs[1].format('it')}: nothing is lost.",
            danger=Danger.NAME,
            button=Button(verbs[0].replace(" {}", ""), "trash-2", there, style="btn--small btn--danger"),
        ),
        Act(
            f"{kind}.restore",
            verbs[1],
            target,
            look_show,
            show,
            f"{verbs[0].format('it')} again.",
            button=Button(verbs[1].replace(" {}", ""), "undo-2", gone, style="btn--small"),
            danger=Danger.NONE,
        ),
    )
