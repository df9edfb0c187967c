"""What has to be known to plan runs of a submission: what they need, how urgent they are, which set they are of."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission


class NotEvaluable(Conflict):
    """The phase version lacks what an evaluation needs."""

    code = "not_evaluable"


@dataclass(frozen=True)
class Urgency:
    """How much a run matters: see `contest.phases.priorities`."""

    priority: int
    bulk: bool = False


def demands(version: PhaseVersion) -> dict[str, Any]:
    """What a run needs of a machine under this version, as fields of `Run`."""
    return {
        "hardware_class": version.hardware_class,
        "image": version.image,
        "image_digest": version.image_digest,
        "memory_bytes": version.memory_bytes,
        "gpus": version.gpus,
    }


def require_evaluable(version: PhaseVersion) -> None:
    """Raise `NotEvaluable` unless the version has data and training seeds, and as many test seeds or none."""
    if version.meta_test_pool_version_id is None:
        raise NotEvaluable("This phase has no meta-test pool yet.")
    if not version.train_seeds or len(version.test_seeds) not in (0, len(version.train_seeds)):
        raise NotEvaluable("This phase has no seeds yet.")


def next_generation(session: Session, submission: Submission, version: PhaseVersion) -> int:
    """The number of the next set of runs of a submission under a version, from 0."""
    last = session.scalar(
        select(func.max(Run.generation)).where(
            Run.submission_id == submission.id, Run.phase_version_id == version.id
        )
    )
    return 0 if last is None else last + 1
