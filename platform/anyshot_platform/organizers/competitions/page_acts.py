"""The act on a page of text: removing it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import Act, ActDone, ActRequest, Button, Findings, Target, by_name
from anyshot_platform.competitions.models import Competition, CompetitionPage
from anyshot_platform.competitions.states import CompetitionState
from anyshot_platform.kernel.language import say


def _target(session: Session, page: CompetitionPage) -> Target:
    return Target("competition", page.competition_id, page.title, f"“{page.title}”", (page.competition_id,))


def _look(session: Session, page: CompetitionPage, request: ActRequest) -> Findings:
    competition = session.get_one(Competition, page.competition_id)
    does = [say("Its text is taken off the competition, and stays in the audit log.")]
    return Findings(does=does, asks=competition.state is CompetitionState.PUBLISHED)


def _delete(session: Session, page: CompetitionPage, request: ActRequest) -> ActDone:
    competition = session.get_one(Competition, page.competition_id)
    competition.pages.remove(page)
    return ActDone(
        say("The page is removed; its text is in the audit log."),
        before={"title": page.title, "body": page.body},
    )


DELETE: Act[CompetitionPage] = Act(
    key="page.delete",
    title="Remove the page {}",
    target=_target,
    look=_look,
    do=_delete,
    undo="Add a page with the text that the audit log keeps.",
    dangerous=True,
    also=("DELETE ",),
    button=Button("Remove this page", "trash-2", style="btn--small btn--danger"),
)
ACTS = by_name(DELETE)
