"""The act on a file of the pages: taking it away."""

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
from anyshot_platform.contest.competitions.models import Competition, CompetitionFile


def _target(session: Session, file: CompetitionFile) -> Target:
    return Target("competition", file.competition_id, file.name, file.name, (file.competition_id,))


def _shown_in(session: Session, file: CompetitionFile) -> list[str]:
    """The texts that show or link a file, by their titles."""
    competition, address = session.get_one(Competition, file.competition_id), f"files/{file.name}"
    texts = [(page.title, page.body) for page in competition.pages]
    texts += [("the summary", competition.summary), ("the terms", competition.terms)]
    return [title for title, text in texts if address in text]


def _look(session: Session, file: CompetitionFile, request: ActRequest) -> Findings:
    shown = _shown_in(session, file)
    blocked = [f"It is shown or linked in {', '.join(shown)}: nothing would be there."] if shown else []
    return Findings(does=["It is taken away for good."], blocked=blocked)


def _remove(session: Session, file: CompetitionFile, request: ActRequest) -> ActDone:
    session.delete(file)
    return ActDone(f"{file.name} is gone.", before={"name": file.name, "digest": file.digest})


REMOVE: Act[CompetitionFile] = Act(
    key="file.remove",
    title="Remove {}",
    target=_target,
    look=_look,
    do=_remove,
    undo="Put the file there again; the log has its digest.",
    button=Button("Remove", "trash-2", style="btn--small btn--ghost"),
    danger=Danger.PROOF,
)
ACTS = by_name(REMOVE)
