"""The act on a winner: organizers note whether they know who a member of a winning team is."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

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
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.standings.results.states import IdentityCheck
from anyshot_platform.standings.results.winners import Winner, WinnerMember, note_check, read_winners

_DOES = {
    IdentityCheck.OPEN: "What was found is erased: the identity waits to be checked.",
    IdentityCheck.VERIFIED: "The person's identity counts as verified.",
    IdentityCheck.REFUSED: (
        "The results are not published while the team wins, unless you "
        "override it. Disqualify the team under Entries, and the teams below "
        "it move up."
    ),
}


class IdentityChoice(ActOptions):
    """What came of the check; the reason says how it was done, or why the identity was refused."""

    identity: IdentityCheck


@dataclass(frozen=True)
class Checked:
    """One member of one winning team of a phase."""

    phase: Phase
    winner: Winner
    member: WinnerMember


def unconfirmed(session: Session, phase: Phase) -> list[str]:
    """A sentence for each winning team whose members are not all verified."""
    return [winner.words for winner in read_winners(session, phase) if not winner.confirmed]


def find_checked(session: Session, phase: Phase, username: str) -> Checked:
    """A member of a winning team, by user name; raises `NotFound` with the names that there are."""
    known = {
        member.username.casefold(): Checked(phase, winner, member)
        for winner in read_winners(session, phase)
        for member in winner.members
    }
    if username.casefold() not in known:
        names = ", ".join(one.member.username for one in known.values()) or "nobody yet"
        raise NotFound(
            f"“{username[:64]}” wins nothing in “{phase.name}”. Members of winning teams: {names}."
        )
    return known[username.casefold()]


def _target(session: Session, checked: Checked) -> Target:
    member, team = checked.member, checked.winner.team
    return Target(
        "user",
        member.user_id,
        member.username,
        f"{member.username} of “{team}”",
        (checked.phase.competition_id,),
    )


def _look(session: Session, checked: Checked, request: ActRequest[IdentityChoice]) -> Findings:
    outcome, member = request.options.identity, checked.member
    if (outcome, request.reason.strip()) == (member.identity, member.reason):
        return Findings(done=f"{member.username} is noted as {status_words(outcome.value)} already.")
    why = "Say in the reason how the identity was checked, or why it was refused."
    return Findings(refused=[] if request.reason.strip() else [why], does=[_DOES[outcome]])


def _check(session: Session, checked: Checked, request: ActRequest[IdentityChoice]) -> ActDone:
    outcome, member = request.options.identity, checked.member
    note_check(session, checked.phase, member.user_id, outcome, request.reason.strip(), request.actor_id)
    return ActDone(
        f"The identity of {member.username} is noted as {status_words(outcome.value)}.",
        before={"identity": member.identity.value},
        after={"identity": outcome.value, "phase": checked.phase.slug, "team": checked.winner.team},
    )


CHECK = Act(
    key="winner.check",
    title="Note the identity of {}",
    target=_target,
    look=_look,
    do=_check,
    undo="Set it back to open, with a reason; the log keeps both.",
    options=IdentityChoice,
    danger=Danger.PROOF,
)
ACTS = by_name(CHECK)
