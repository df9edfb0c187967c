"""The act of taking a competition to another site, with its secrets and its people."""

from __future__ import annotations

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import Act, ActDone, ActOptions, ActRequest, Findings, Target
from anyshot_platform.competitions.models import Competition
from anyshot_platform.competitions.states import Role
from anyshot_platform.kernel.filters import count
from anyshot_platform.kernel.language import say, say_count
from anyshot_platform.organizers.competitions.organizing import figures
from anyshot_platform.organizers.transfers.claims import TRANSFER as KEY
from anyshot_platform.phases.service import list_phases
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import ENDED


class Baggage(ActOptions):
    """`emails`: people's confirmed addresses travel too, so that each is known by it; for site administrators."""

    emails: bool = Field(default=False)


def _target(session: Session, competition: Competition) -> Target:
    title = f"“{competition.title}”"
    return Target("competition", competition.id, competition.slug, title, (competition.id,))


def _look(session: Session, competition: Competition, request: ActRequest) -> Findings:
    waiting = session.scalar(
        select(func.count(Run.id)).where(
            Run.competition_id == competition.id, Run.state.not_in(ENDED), Run.submission_id.is_not(None)
        )
    )
    counts = figures(session, competition)
    addresses = (
        say("with their confirmed e-mail addresses")
        if request.options.get("emails")
        else say("by name alone")
    )
    phases = ", ".join(phase.name for phase in list_phases(session, competition))
    return Findings(
        refused=[
            say_count(
                waiting,
                "%(num)s run has not ended. Wait for it, or cancel it.",
                "%(num)s runs have not ended. Wait for them, or cancel them.",
            )
        ]
        if waiting
        else [],
        does=[
            say(
                "You get a file with %(members)s (%(addresses)s), %(submissions)s with their code, results and "
                "predictions, all scores, the discussion, and organizers' notes.",
                members=count(counts["members"], "member"),
                addresses=addresses,
                submissions=count(counts["submissions"], "submission"),
            ),
            say(
                "It holds the keys and seeds of %(value)s: anyone who has it can draw the hidden tasks.",
                value=phases or say("no phase"),
            ),
            say(
                "No password, no token and no log travels. Hidden data do not either: upload the pools there."
            ),
            say(
                "From now on each member sees under Account, Your places, a code to be known by on the other site."
            ),
        ],
        warnings=[say("The competition goes on here. If it moves for good, archive it.")],
    )


def _do(session: Session, competition: Competition, request: ActRequest) -> ActDone:
    keys = [phase.slug for phase in list_phases(session, competition)]
    after = {"secrets_of": keys, "emails": bool(request.options.get("emails"))}
    return ActDone(say("The archive was taken."), after=after)


TRANSFER = Act(
    key=KEY,
    title="Take {} to another site",
    target=_target,
    look=_look,
    do=_do,
    undo="It cannot be undone. Draw new keys where a phase has not begun.",
    dangerous=True,
    role=Role.OWNER,
    options=Baggage,
)
