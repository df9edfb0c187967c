"""What organizers do with the key of a phase: draw it anew before the phase begins, publish it when all is over."""

from sqlalchemy.orm import Session

from anyshot_core.protocols.keys import draw_root
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import draw_seeds
from anyshot_platform.contest.phases.service import is_extended, live_version, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.judging.submissions.counting import count_uploads
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.phases import publication_of

KEY_IS_PUBLIC = "The key of this phase is published: everybody can draw its tasks, so it stays closed."


def redraw_key(session: Session, phase: Phase) -> None:
    """Draw new secrets for a phase that has not begun: from its beginning on, its commitment is public."""
    version = live_version(session, phase)
    version.train_seeds = draw_seeds(len(version.train_seeds))
    give_new_key(version)


def give_new_key(version: PhaseVersion) -> None:
    """A new key decides tasks, query order and class split, instead of the old one and of seeds."""
    version.root, version.test_seeds = draw_root().hex(), []
    version.protocol = {key: value for key, value in version.protocol.items() if key != "split_seed"}


def why_key_stays(session: Session, phase: Phase) -> list[str]:
    """Why no other key can be drawn, or given, for the version that is live."""
    if status_of(phase) != PhaseStatus.UPCOMING:
        return ["This phase has begun, and its commitment is published. Draft a version with a new key."]
    if count_uploads(session, Submission.phase_id == phase.id):
        return [
            (
                "This phase has submissions, of baselines perhaps: their scores are of tasks of the "
                "present key. Draft a version with a new key."
            )
        ]
    return []


def why_key_stays_secret(session: Session, phase: Phase) -> list[str]:
    """Why the key, from which the tasks follow, cannot be shown to everybody yet."""
    if status_of(phase) != PhaseStatus.CLOSED:
        return ["The key shows the tasks of the phase: it can be published once the phase is closed."]
    if is_extended(phase):
        return ["Some teams have more time in this phase: its key can be published when that has passed."]
    if publication_of(phase).waits:
        return ["Publish the results of the phase first."]
    if not is_public(live_version(session, phase).meta_test):
        return ["The key is of use with the data: publish the meta-test pool first."]
    return []
