"""Who is told of what: the one list of subscribers, in the order in which they are told."""

from __future__ import annotations

from anyshot_platform.announcements.results import tell_result
from anyshot_platform.intake.following import tell_programs, weigh_inspection
from anyshot_platform.judging.further import follow_scores as follow_further
from anyshot_platform.judging.happenings import PartsFinished, RunEnded, ScoresChanged, SubmissionEnded
from anyshot_platform.judging.shards import PartsJoiner
from anyshot_platform.kernel.happenings import Subscribers
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.leaderboards.service import follow_scores
from anyshot_platform.organizers.reports.announcing import announce_report


def list_subscribers(storage: Storage) -> Subscribers:
    """The subscribers of a process; `storage` is where results lie."""
    return {
        RunEnded: (weigh_inspection, announce_report),
        PartsFinished: (PartsJoiner(storage),),
        ScoresChanged: (follow_scores, follow_further),
        SubmissionEnded: (tell_result, tell_programs),
    }
