"""What judging tells the rest of the platform: runs and submissions that have ended, and scores that have changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission


@dataclass(frozen=True)
class RunEnded:
    """A run is in a state that it does not leave."""

    run: Run


@dataclass(frozen=True)
class PartsFinished:
    """All parts of a seeded run that count have finished, the first one first: the whole has no score yet."""

    parts: Sequence[Run]


@dataclass(frozen=True)
class ScoresChanged:
    """A team has a score more under a version, or another one; `leaving` is the id of one that is about to go."""

    version: PhaseVersion
    team_id: str
    leaving: str | None = None


@dataclass(frozen=True)
class SubmissionEnded:
    """Nothing of a submission runs any more, and boards have heard of its score; `failure` is the run that decided."""

    submission: Submission
    failure: Run | None
