"""Who is told of what: the one list of subscribers, in the order in which they are told."""

from anyshot_platform.foundation.domain_events import Subscribers
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.domain_events import PartsFinished, RunEnded, ScoresChanged, SubmissionEnded
from anyshot_platform.judging.execution.further_tests import follow_scores as follow_further
from anyshot_platform.judging.execution.shards import PartsJoiner
from anyshot_platform.judging.receipts.service import ReceiptMaker
from anyshot_platform.judging.reports.actions.announcing import announce_report
from anyshot_platform.judging.submissions.actions.run_end import tell_programs, weigh_inspection
from anyshot_platform.running.announcements.results import tell_result
from anyshot_platform.standings.leaderboards.service import follow_scores


def list_subscribers(storage: Storage, site: str) -> Subscribers:
    """The subscribers of a process; `storage` is where results lie, `site` the address of the site."""
    receipts = ReceiptMaker(site)
    return {
        RunEnded: (weigh_inspection, announce_report, receipts.run_ended),
        PartsFinished: (PartsJoiner(storage), receipts.parts_finished),
        ScoresChanged: (follow_scores, follow_further),
        SubmissionEnded: (tell_result, tell_programs),
    }
