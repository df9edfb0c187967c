"""Acts and published results: what an act would change there is said first, and written down as a correction."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import ActDone, ActRequest, Target
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.visibility.phases import publication_of, published_phases
from anyshot_platform.standings.results.reading import compute_results
from anyshot_platform.standings.results.records import changes_of, correct, difference


@dataclass(frozen=True)
class _Touched:
    """A phase with public results that an act changes, in words."""

    phase: Phase
    words: tuple[str, ...]


def results_are_public(session: Session, phase: Phase) -> list[str]:
    """A sentence for each phase with public results whose boards follow this phase: it, and those that it feeds."""
    here = (Phase.id == phase.id) | (Phase.gate_phase_id == phase.id)
    query = select(Phase).where(here, Phase.deleted_at.is_(None)).order_by(Phase.position)
    return [
        f"The results of “{one.name}” are public. New scores change its boards; the results stay as they were "
        "published until you correct them."
        for one in session.scalars(query)
        if publication_of(one).published is not None
    ]


def do_on_results(
    session: Session,
    target: Target,
    request: ActRequest,
    do: Callable[[], ActDone],
    require_consent: Callable[[tuple[str, ...]], None],
) -> tuple[ActDone, tuple[str, ...]]:
    """Do an act, and correct the published results that it changes; returns what it changed there, in words.

    `require_consent` gets these sentences, none where nothing public changes, and raises where nobody agreed: then
    nothing was done. Where results are public the act is done before anybody is asked, since only then it is known
    what it changes.
    """
    public = published_phases(session, target.competitions)
    if not public:
        require_consent(())
        return do(), ()
    before = {phase.id: compute_results(session, phase) for phase in public}
    with session.begin_nested():
        done = do()
        session.flush()
        touched = [
            _Touched(phase, tuple(change.words for change in changes))
            for phase in public
            if publication_of(phase).published is not None
            and any(difference(before[phase.id], compute_results(session, phase)))
            and (changes := changes_of(session, phase))
        ]
        told = tuple(_told(one) for one in touched)
        require_consent(told)
        for one in touched:
            correct(session, one.phase, request.reason)
    return done, told


def _told(one: _Touched) -> str:
    return f"The results of “{one.phase.name}” are public, and this changes them: {' '.join(one.words)}"
