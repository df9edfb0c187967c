"""What organizers do with the key of a phase: draw it anew before the phase begins, publish it when all is over."""

from __future__ import annotations

from sqlalchemy.orm import Session

from anyshot_platform.audit import service as audit
from anyshot_platform.bundles.columns import draw_seeds
from anyshot_platform.database import now
from anyshot_platform.errors import Conflict
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.service import live_version, status_of
from anyshot_platform.phases.states import PhaseStatus, QueryOrder
from anyshot_platform.sight.logs import is_public
from anyshot_platform.sight.phases import publication_of
from anyshot_starting_kit.protocols.keys import draw_root


class KeyIsPublic(Conflict):
    """Everybody can draw the tasks of this phase: it stays closed."""

    code = "key_is_public"


def redraw_key(session: Session, phase: Phase, actor_id: str) -> None:
    """Draw new secrets for a phase that has not begun: from its beginning on, its commitment is public."""
    if status_of(phase) != PhaseStatus.UPCOMING:
        raise Conflict(
            "This phase has begun, and its commitment is published. Draft a version with a new key."
        )
    version = live_version(session, phase)
    version.train_seeds = draw_seeds(len(version.train_seeds))
    give_new_key(version)
    _record(session, phase, actor_id, "phase.redraw_seeds")


def give_new_key(version: PhaseVersion) -> None:
    """A new key decides tasks, query order and class split, instead of the old one and of seeds."""
    version.root, version.test_seeds, version.query_order = draw_root().hex(), [], QueryOrder.KEY
    version.protocol = {key: value for key, value in version.protocol.items() if key != "split_seed"}


def publish_key(session: Session, phase: Phase, actor_id: str) -> None:
    """Show everybody what the tasks were drawn from, so that they can verify the commitment; cannot be taken back."""
    if status_of(phase) != PhaseStatus.CLOSED:
        raise Conflict("The key shows the tasks of the phase: it can be published once the phase is closed.")
    if publication_of(phase).waits:
        raise Conflict("Publish the results of the phase first.")
    if not is_public(live_version(session, phase).meta_test):
        raise Conflict("The key is of use with the data: publish the meta-test pool first.")
    phase.key_published_at = phase.key_published_at or now()
    _record(session, phase, actor_id, "phase.publish_key")


def require_secret_key(phase: Phase) -> None:
    """Raise `KeyIsPublic` if the phase may not be opened any more."""
    if phase.key_published_at is not None:
        raise KeyIsPublic(
            "The key of this phase is published: everybody can draw its tasks, so it stays closed."
        )


def _record(session: Session, phase: Phase, actor_id: str, action: str) -> None:
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="phase",
        object_id=phase.id,
        competition_id=phase.competition_id,
    )
