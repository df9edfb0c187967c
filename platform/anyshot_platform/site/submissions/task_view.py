"""Which task of a smoke test is looked at."""

from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.public_tasks import PublicTask, read_public_task
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.submissions.show import find_version, read_runs


def find_task(session: Session, services: Services, found: SubmissionAccess, number: int) -> PublicTask:
    """Hidden tasks have no pictures: of others than smoke tests there is no such page."""
    submission = found.submission
    version = find_version(session, submission)
    if submission.kind != SubmissionKind.SMOKE or version is None:
        raise NotFound("Only the public tasks of smoke tests can be looked at.")
    run = next(
        (one for one in read_runs(session, submission, version) if one.state == RunState.FINISHED), None
    )
    if run is None:
        raise NotFound("This smoke test has no results.")
    return read_public_task(session, services, submission, run, version, number)
