"""How a rehearsal goes on: a step whenever the runs of the last one have ended. Called by the sweeper."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.contest.competitions.models import Competition, Rehearsal
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.phases.actions.leaks import evaluates
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.filters import count, decimal, join_texts
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.actions.submitting import Wishes, create_submission
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import ACTIVE, SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.running.rehearsals.copying import make_player
from anyshot_platform.running.rehearsals.diary import tell
from anyshot_platform.standings.baselines.actions.service import fetch_zip, list_baselines, why_not_run
from anyshot_platform.standings.baselines.boards import boards_of, why_on_no_board
from anyshot_platform.standings.results.actions import final_acts, finals, publication


def underway(session: Session) -> Sequence[str]:
    """The ids of the rehearsals that have not ended."""
    return session.scalars(select(Rehearsal.id).where(Rehearsal.ended_at.is_(None))).all()


def go_on(services: Services, rehearsal_id: str) -> int:
    """Take the next step of a rehearsal, if its runs have ended; how many steps were taken."""
    with services.database.writing() as session:
        rehearsal = session.get_one(Rehearsal, rehearsal_id, with_for_update=True)
        if rehearsal.ended_at is not None:
            return 0
        copy = session.get_one(Competition, rehearsal.copy_id)
        if copy.deleted_at is not None:
            return _end(session, rehearsal, copy, "The copy was deleted: the rehearsal ended there.")
        try:
            return _step(session, services, rehearsal, copy)
        except PlatformError as error:
            session.rollback()
            problem = error.message
    with services.database.writing() as session:
        rehearsal = session.get_one(Rehearsal, rehearsal_id, with_for_update=True)
        copy = session.get_one(Competition, rehearsal.copy_id)
        return _end(session, rehearsal, copy, f"It could not go on: {problem}")


def _step(session: Session, services: Services, rehearsal: Rehearsal, copy: Competition) -> int:
    phases = [phase for phase in list_phases(session, copy) if evaluates(phase)]
    open_phases = [phase for phase in phases if phase.closed_at is None]
    if not open_phases:
        return _end(session, rehearsal, copy, "All phases were played.")
    ready = [phase for phase in open_phases if _source_is_over(session, phase)]
    for phase in ready:
        rows = list(session.scalars(select(Submission).where(Submission.phase_id == phase.id)))
        if not rows:
            _begin(session, services, rehearsal, copy, phase)
            return 1
        if all(row.status not in ACTIVE for row in rows):
            _finish(session, rehearsal, phase, rows)
            return 1
    return 0


def _source_is_over(session: Session, phase: Phase) -> bool:
    source = session.get(Phase, phase.gate_phase_id) if phase.gate_phase_id else None
    return source is None or source.closed_at is not None


def _begin(
    session: Session, services: Services, rehearsal: Rehearsal, copy: Competition, phase: Phase
) -> None:
    """Queue what is scored in a phase: the baselines, or who goes on from the phase before."""
    if phase.gate_phase_id is None:
        made = _submit_all(session, services, rehearsal, copy, phase)
        tell(
            rehearsal,
            (
                f"{phase.name}: 1 team submitted."
                if made == 1
                else f"{phase.name}: {decimal(made)} teams submitted."
            ),
        )
        return
    rows = finals.preview(session, phase)
    for row in rows:
        if not row.enters:
            words = f"{phase.name}: {row.team.name} does not enter: {join_texts(row.reasons, by='; ')}."
            tell(rehearsal, words)
    launched = finals.launch(session, phase, rehearsal.actor_id)
    entries = count(len(launched), "entry", "entries")
    tell(rehearsal, f"{phase.name}: launched with {entries}.")
    if not launched:
        phase.closed_at = now()


def _submit_all(
    session: Session, services: Services, rehearsal: Rehearsal, copy: Competition, phase: Phase
) -> int:
    made = 0
    for baseline in list_baselines(session, copy):
        reason = why_not_run(services, baseline) or why_on_no_board(session, baseline)
        if reason:
            tell(rehearsal, reason)
            continue
        own = select(Submission.user_id).where(
            Submission.competition_id == copy.id, Submission.comment == baseline.name
        )
        known = session.scalars(own.limit(1)).first()
        member = find_membership(session, copy.id, known) if known else None
        member = member or make_player(session, copy, baseline)
        create_submission(
            session,
            phase,
            team_id=member.team_id or "",
            user_id=member.user_id,
            archive=fetch_zip(session, services, baseline),
            kind=SubmissionKind.ENTRY,
            wishes=Wishes(baseline.name, tuple(boards_of(session, baseline))),
        )
        made += 1
    return made


def _finish(session: Session, rehearsal: Rehearsal, phase: Phase, rows: Sequence[Submission]) -> None:
    """Close a phase, say how its submissions ended, and publish what is to be published."""
    without = [row for row in rows if row.status != SubmissionStatus.FINISHED]
    words = (
        f"{phase.name}: {len(rows) - len(without)} of 1 submission has a score."
        if len(rows) == 1
        else (f"{phase.name}: {len(rows) - len(without)} of {decimal(len(rows))} submissions have a score.")
    )
    tell(rehearsal, words)
    for row in without:
        tell(rehearsal, f"{phase.name}: {row.team.name} has no score ({status_words(row.status)}).")
    phase.closed_at = now()
    session.flush()
    if publication_of(phase).waits:
        _publish(session, rehearsal, phase)


def _publish(session: Session, rehearsal: Rehearsal, phase: Phase) -> None:
    """Publish the results, and keep what an organizer would have been shown before."""
    found = final_acts.PUBLISH.look(
        session, phase, ActRequest(rehearsal.actor_id, options=final_acts.Winners())
    )
    for words in found.blocked:
        asked = f"{phase.name}: before publishing you would be asked: {words}"
        tell(rehearsal, asked)
    for words in publication.podium(session, phase):
        tell(rehearsal, f"{phase.name}, published: {words}")
    publication.publish(session, phase)


def _end(session: Session, rehearsal: Rehearsal, copy: Competition, words: str) -> int:
    tell(rehearsal, words)
    rehearsal.ended_at = now()
    original = session.get_one(Competition, rehearsal.competition_id)
    url = f"/competitions/{original.slug}/manage/rehearsals"
    title = f"The rehearsal of {original.title} has ended"
    notify(session, [rehearsal.actor_id], kind="report", title=title, body=words, url=url)
    return 1
