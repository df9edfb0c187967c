"""Who is told of what: the one list of subscribers, in the order in which they are told."""

from __future__ import annotations

from anyshot_platform.announcements.results import tell_result
from anyshot_platform.desk.reports.announcing import announce_report
from anyshot_platform.judging.happenings import RunEnded, ScoresChanged, SubmissionEnded
from anyshot_platform.kernel.happenings import Subscribers
from anyshot_platform.leaderboards.service import follow_scores

SUBSCRIBERS: Subscribers = {
    RunEnded: (announce_report,),
    ScoresChanged: (follow_scores,),
    SubmissionEnded: (tell_result,),
}
